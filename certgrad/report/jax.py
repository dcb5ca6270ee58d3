"""The audit of the installed JAX as text and as Markdown: a table of primitives and functions, then what is open.

Refuted rules are printed in full, like any finding; unproved rules in one line for each reason.
"""

import re
from collections.abc import Mapping, Sequence

from certgrad.obligations.certificate import AT_SIZES, ORDER, Certificate
from certgrad.report.audited import Audit, conditions, conventions, count, open_cases
from certgrad.report.markdown import code, row, tabulated
from certgrad.report.table import Row, grid
from certgrad.report.text import block
from certgrad.report.wording import duration, fill

_LEGEND = (
    "Each row is proved for the declared configurations, which `--format json` lists one by one: jax.jvp of the "
    "program is its derivative, and jax.vjp is the adjoint of that, for all shapes. The verdict is the worst of the "
    "configurations'. In the last column stands what JAX returns where it may have a kink."
)
_SELDOM = ("proved up to rounding", AT_SIZES, "surrogate")
_GROUPS = {"primitives": False, "functions": True}


def summary(certificates: Sequence[Certificate]) -> str:
    """Return a line for each group: `209 primitives: 60 proved, 50 proved under hypotheses, 2 refuted, 97 unproved`."""
    lines = []
    for group, functions in _GROUPS.items():
        members = [c for c in certificates if _is_function(c) == functions]
        if members:
            counts = count(members)
            shown = [v for v in ORDER if v not in _SELDOM or counts[v]]
            parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in shown)
            lines.append(f"{len(members)} {group if len(members) > 1 else group[:-1]}: {parts}")
    return "\n".join(lines)


def render(audit: Audit, *, quiet: bool = False, width: int | None = None, colour: bool = False) -> str:
    """Return the text report; with `quiet`, without the table."""
    certificates = audit.certificates
    parts: list[str] = []
    if not quiet:
        definite = [(one, c) for one, c in audit.certified if c.verdict != "unproved"]
        rows = [Row((*_row(c), duration(one.seconds))) for one, c in definite]
        header = ("rule", "configurations", "verdict", "hypotheses", "what JAX returns", "time")
        parts += [grid(header, rows, width, colour=colour)] if rows else []
        parts += [fill(_LEGEND, width), ""]
    for claim, case in open_cases([c for c in certificates if c.verdict == "refuted"]):
        if case.verdict == "refuted":
            parts += [block(claim, case, width), ""]
    unproved = _reasons(certificates)
    if unproved:
        lines = [fill(f"{reason}: {', '.join(members)}", width, "  ", "    ") for reason, members in unproved.items()]
        parts += ["unproved:", *lines, ""]
    return "\n".join([*parts, f"{summary(certificates)} ({duration(audit.seconds)})"]) + "\n"


def markdown(certificates: Sequence[Certificate], without: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the report as a page; `without` are the primitives that have no derivative, by the reason."""
    definite = [c for c in certificates if c.verdict != "unproved"]
    parts = [summary(certificates).replace("\n", ".\n\n") + "."]
    for group, functions in _GROUPS.items():
        rows = [c for c in definite if _is_function(c) == functions]
        if rows:
            header = ("rule", "configurations", "verdict", "hypotheses", "what JAX returns")
            parts += [f"## {group.capitalize()}", "\n".join([tabulated(header, ()), *map(line, rows)])]
    refuted = [pair for pair in open_cases(definite) if pair[1].verdict == "refuted"]
    if refuted:
        parts += ["## Findings", *(f"```text\n{block(*pair)}\n```" for pair in refuted)]
    reasons = _reasons(certificates)
    if reasons:
        lines = [f"- {reason}: {', '.join(map(code, members))}" for reason, members in reasons.items()]
        parts += ["## Unproved, and why", "\n".join(lines)]
    if without:
        lines = [f"- {reason}: {', '.join(map(code, members))}" for reason, members in without.items()]
        parts += ["## Not differentiated", "\n".join(lines)]
    parts += ["## Configurations", *(_configurations(c) for c in definite)]
    return "\n\n".join(parts) + "\n"


FILE = "jax.md"
"""The name of the page in the directory of the report."""
_STATED = re.compile(r"installed jax ([^ ,]+)")


def page(certificates: Sequence[Certificate], without: Mapping[str, Sequence[str]]) -> str:
    """Return the committed page: the version of JAX that it is about, then the report."""
    jax = certificates[0].versions["jax"]
    return (
        "# The derivative rules of JAX\n\n"
        f"What `certgrad audit --jax` says of the installed jax {jax}, written by `certgrad report --jax`. "
        "[How to read it](../docs/jax.md), and what its findings mean.\n\n"
    ) + markdown(certificates, without)


def stated_version(text: str) -> str:
    """Return the version of JAX that a page is about; "" if it does not say."""
    match = _STATED.search(text)
    return match[1] if match else ""


def _row(certificate: Certificate) -> tuple[str, str, str, str, str]:
    return (
        certificate.op,
        str(len(certificate.signature)),
        certificate.verdict,
        ", ".join(_hypotheses_and_idealisations(certificate)),
        "; ".join(conventions(certificate)),
    )


def _hypotheses_and_idealisations(certificate: Certificate) -> list[str]:
    """Return the hypotheses and idealisations of a certificate, without those on single literals."""
    literals = {f"{one.literal} is read as {one.text}" for one in certificate.literals}
    idealisations = dict.fromkeys(text for claim in certificate.claims for text in claim.idealisations)
    return [*conditions(certificate), *(text for text in idealisations if text not in literals)]


def line(certificate: Certificate) -> str:
    """Return the row of a rule in the page."""
    name, configurations, verdict, _, _ = _row(certificate)
    hypotheses, returned = (
        ", ".join(map(code, texts(certificate))) for texts in (_hypotheses_and_idealisations, conventions)
    )
    return row((code(name), configurations, verdict, hypotheses, returned))


def _configurations(certificate: Certificate) -> str:
    """Return the section on one rule: its configurations, with the verdict on those that are refuted or unproved."""
    verdicts: dict[str, list[str]] = {}
    for claim in certificate.claims:
        for text, case in zip(certificate.signature, claim.cases, strict=False):
            verdicts.setdefault(text, []).append(case.verdict)
    lines = []
    for text in certificate.signature:
        case_verdicts = verdicts.get(text, [])
        worst = next((v for v in ("refuted", "unproved") if v in case_verdicts), "")
        lines.append(f"- {code(text or '(scalar)')}" + (f": {worst}" if worst else ""))
    return "\n".join([f"### {certificate.op}", "", *lines])


def _reasons(certificates: Sequence[Certificate]) -> dict[str, list[str]]:
    """Return the unproved rules by their first reason; reasons of most rules come first."""
    by_reason: dict[str, list[str]] = {}
    for certificate in certificates:
        if certificate.verdict == "unproved":
            cases = [case for claim in certificate.claims for case in claim.cases if case.verdict == "unproved"]
            reason = next((case.reason for case in cases if case.reason), "").replace(f"'{certificate.op}'", "it")
            by_reason.setdefault(reason, []).append(certificate.op)
    return dict(sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])))


def _is_function(certificate: Certificate) -> bool:
    return certificate.op.startswith("jax.")
