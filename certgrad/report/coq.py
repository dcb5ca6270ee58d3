"""The page on Coq: for every obligation of the library, whether Coq's kernel accepts it, and why not."""

from collections import Counter
from collections.abc import Sequence

from certgrad.coq import Result

_KINDS = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward", "forward_equals_reference")


def page(results: Sequence[Result], limit: int) -> str:
    """Markdown, the same for the same results."""
    judged = [j for r in results for j in r.judged if j.stated]
    accepted = sum(j.accepted for j in judged)
    lines = [
        "# Accepted by Coq",
        "",
        "Made by `certgrad report --coq`. Each obligation of each case of an op is printed as a theorem of Coq from",
        "the specification's reading of the traced programs, under the hypotheses of the certificate. It is accepted",
        "where Coq's kernel checks the proof that a tactic found, on the four axioms of classical reals and no other.",
        "What is not accepted is not refuted by that. Where a rule has no forward of its own nothing is to be proved.",
        f"A proof may take {limit} s. What was accepted once is remembered by what it says; later tactics do not undo it.",
        "",
        f"**{accepted} of {len(judged)} obligations accepted.** In a theorem star groups are one axis, and operands",
        "that broadcast have one shape. It says nothing of where programs are defined: division, logarithm and root",
        "are total in Coq.",
        "",
        "| obligation | accepted | of |",
        "| --- | ---: | ---: |",
    ]
    for kind in _KINDS:
        of = [j for j in judged if j.kind == kind]
        if of:
            lines.append(f"| `{kind}` | {sum(j.accepted for j in of)} | {len(of)} |")
    why = Counter(_short(j.reason) for j in judged if not j.accepted)
    lines += ["", "## Why not", "", "| reason | obligations |", "| --- | ---: |"]
    lines += [f"| {reason} | {count} |" for reason, count in sorted(why.items(), key=lambda x: (-x[1], x[0]))]
    lines += ["", "## By op", "", "| op | accepted | not accepted |", "| --- | ---: | --- |"]
    for result in sorted(results, key=lambda r: r.subject):
        of = [j for j in result.judged if j.stated]
        left = [f"`{j.name}`: {_short(j.reason)}" for j in of if not j.accepted]
        lines.append(f"| {result.subject} | {sum(j.accepted for j in of)} of {len(of)} | {'; '.join(left)} |")
    return "\n".join(lines) + "\n"


def _short(reason: str) -> str:
    """The reason without what Coq said of it."""
    return "no proof was found" if reason.startswith("no proof was found:") else reason
