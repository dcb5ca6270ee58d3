"""The library as a Markdown table, and an audit's findings as Markdown."""

from collections.abc import Iterable, Sequence

from certgrad.obligations.certificate import Certificate, not_for_all, stated
from certgrad.report.audited import conditions, conventions, findings_of, signatures, summary
from certgrad.report.text import block, obligations

_HEADER = ("op", "signature", "obligations", "verdict", "hypotheses", "convention")


def render(certificates: Sequence[Certificate], missing: int = 0) -> str:
    """An audit: the summary, the table, the findings. `missing` rules were found and not audited."""
    parts = [summary(certificates, missing) + ".", table(certificates)]
    found = findings_of(certificates)
    limited = [f"`{c.op}`: {why}" for c in certificates if (why := not_for_all(c))]
    if limited:
        parts += ["## At sizes", "\n".join(f"- {' '.join(line.split())}" for line in limited)]
    if found:
        parts += ["## Findings", *(f"```text\n{block(finding)}\n```" for finding in found)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def table(certificates: Sequence[Certificate], link: str = "") -> str:
    """One row an op. `link` is a format string for the address of an op's certificate: `certificates/{op}.json`."""
    rows = [
        (
            _linked(certificate.op, link),
            _cases(certificate),
            obligations(certificate),
            stated(certificate),
            ", ".join(map(code, conditions(certificate))),
            ", ".join(map(code, conventions(certificate))),
        )
        for certificate in certificates
    ]
    return tabulated(_HEADER, rows) + "\n"


def _linked(op: str, link: str) -> str:
    return f"[`{op}`]({link.format(op=op)})" if link else f"`{op}`"


def _cases(certificate: Certificate) -> str:
    lines = signatures(certificate)
    return "<br>".join(line if line.startswith("and ") else code(line) for line in lines)


def code(text: str) -> str:
    """A code span that is safe in a table cell: bars escaped, backticks fenced."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def tabulated(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join([row(header), row(["---"] * len(header)), *map(row, rows)])
