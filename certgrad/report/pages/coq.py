"""The page on Coq: which obligations of the library Coq's kernel accepts, and why not the others."""

from collections import Counter
from collections.abc import Mapping, Sequence

from certgrad.coq import CAN_HOLD_KIND, DEFINED_SUFFIX, UNTRIED, Judged, Obligation, Result

_KINDS = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward", "forward_equals_reference")


def page(results: Sequence[Result], limit: int, classes: Mapping[str, str]) -> str:
    """Return the page as Markdown; equal results give equal pages.

    Args:
        results: Coq's judgement of each op.
        limit: the seconds that a proof may take.
        classes: by op, its class, such as `elementwise`.
    """
    stated = [j for r in results for j in r.judged if j.stated]
    judged = [obligation for r in results for obligation in r.obligations]
    laws = [obligation.law for obligation in judged]
    defined = [j for j in stated if j.kind.endswith(DEFINED_SUFFIX)]
    satisfiable = [j for j in stated if j.kind == CAN_HOLD_KIND]
    untried = sum(j.reason == UNTRIED for j in stated)
    lines = [
        "# Accepted by Coq",
        "",
        "Made by `certgrad report --coq`. Each obligation of each case of an op is printed as a theorem of Coq from",
        "the specification's reading of the traced programs, under the hypotheses of the certificate. It is accepted",
        "where Coq's kernel checks the proof that a tactic found, on the four axioms of classical reals and no other.",
        "What is not accepted is not refuted by that. Where a rule has no forward of its own nothing is to be proved.",
        f"A proof may take {limit} s. What was accepted is remembered by what it says: other tactics do not undo it.",
        "",
        f"**{_count_accepted(judged)} of {len(judged)} obligations accepted.** Star groups are one axis in a theorem, "
        "and",
        "operands that broadcast have one shape.",
        "",
        "Division, logarithm and root are total in Coq. So an obligation counts as accepted only together with the",
        "theorem that its programs are defined wherever its hypotheses hold. Taken alone, "
        f"{_count_accepted(laws)} of {len(laws)}",
        f"laws are accepted, and {_count_accepted(defined)} of {len(defined)} theorems that programs are defined.",
        "",
        "That there are sizes and inputs at which all hypotheses of a case hold is another:",
        f"**{_count_accepted(satisfiable)} of {len(satisfiable)} accepted.**",
        "",
    ]
    if untried:
        lines += [f"This page is of part of the library: {untried} theorems have not been tried yet.", ""]
    lines += ["| obligation | accepted | of | the law alone | its programs are defined | of |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in _KINDS:
        of_kind = [j for j in laws if j.kind == kind]
        its_defined = [j for j in defined if j.kind == f"{kind}{DEFINED_SUFFIX}"]
        both = _count_accepted([obligation for obligation in judged if obligation.law.kind == kind])
        if of_kind:
            counts = f"{_count_accepted(of_kind)} | {_count_accepted(its_defined)} | {len(its_defined)}"
            lines.append(f"| `{kind}` | {both} | {len(of_kind)} | {counts} |")
    lines += ["", "| class of ops | derivative | of | all obligations | of |", "| --- | ---: | ---: | ---: | ---: |"]
    for name in sorted(set(classes.values())):
        of_class = [obligation for r in results if classes.get(r.subject) == name for obligation in r.obligations]
        derivatives = [obligation for obligation in of_class if obligation.law.kind == "jvp_is_derivative"]
        counts = f"{_count_accepted(derivatives)} | {len(derivatives)} | {_count_accepted(of_class)} | {len(of_class)}"
        lines.append(f"| {name} | {counts} |")
    parts = (("Why not", laws), ("Why no program was shown to be defined", defined))
    for title, theorems in (*parts, ("Why hypotheses were not shown to hold together", satisfiable)):
        why = Counter(j.why for j in theorems if not j.accepted)
        lines += ["", f"## {title}", "", "| reason | theorems |", "| --- | ---: |"]
        lines += [f"| {reason} | {count} |" for reason, count in sorted(why.items(), key=lambda x: (-x[1], x[0]))]
    lines += ["", "## By op", "", "| op | accepted | defined | not accepted |", "| --- | ---: | ---: | --- |"]
    for result in sorted(results, key=lambda r: r.subject):
        of_op = [*result.obligations]
        its_defined = [j for j in result.judged if j.stated and j.kind.endswith(DEFINED_SUFFIX)]
        not_accepted = [f"`{obligation.law.name}`: {obligation.why}" for obligation in of_op if not obligation.accepted]
        counts = f"{_count_accepted(of_op)} of {len(of_op)} | {_count_accepted(its_defined)} of {len(its_defined)}"
        lines.append(f"| {result.subject} | {counts} | {'; '.join(not_accepted)} |")
    return "\n".join(lines) + "\n"


def _count_accepted(judged: Sequence[Judged] | Sequence[Obligation]) -> int:
    return sum(j.accepted for j in judged)
