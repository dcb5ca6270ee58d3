"""Markdown of an audit, with its parts: tables, code spans and fenced blocks."""

import re
from collections.abc import Iterable, Sequence

from certgrad.obligations.certificate import Certificate, not_for_all, verdict_text
from certgrad.report.audited import Audit, Place, RuleResult, conditions, conventions, open_cases, signatures, summary
from certgrad.report.problems import remarks, told_each
from certgrad.report.text import blocks, obligations

_HEADER = ("op", "signature", "obligations", "verdict", "hypotheses", "convention")


_MOST = 1_000_000
"""The largest number of bytes of a page: GitHub refuses a job summary of more than a mebibyte."""


def render(audit: Audit) -> str:
    """Return an audit as Markdown: the summary, the table, the findings, the remarks.

    The text is also used as a job summary of GitHub Actions, which limits its length.
    """
    certificates = audit.certificates
    parts = [summary(certificates, audit.missing) + "."]
    parts += [table(certificates, said=[result.stated for result, _ in audit.certified])] if certificates else []
    limited = [f"`{c.op}`: {why}" for c in certificates if (why := not_for_all(c))]
    if limited:
        parts += ["## At sizes", "\n".join(f"- {' '.join(line.split())}" for line in limited)]
    findings = [part for pair in audit.certified for part in _findings(*pair)]
    if findings:
        parts += ["## Findings", *_fitting(findings, _MOST - sum(len(part.encode()) for part in parts))]
    of_rules = remarks(audit)
    single_remarks, count_lines = told_each([remark for remark in of_rules if not remark.covered])
    shown = [
        f"- {remark.code} {code(remark.rule)}{_place_suffix(remark.place)}: {_escaped_line(remark.text)}"
        for remark in single_remarks
    ]
    if shown or count_lines:
        parts += ["## Remarks", "\n".join([*(f"- {line}" for line in count_lines), *shown])]
    if audit.problems:
        parts += ["## Not complete", "\n".join(f"- {_escaped_line(problem)}" for problem in audit.problems)]
    covered = sum(len(result.covered or ()) for result, _ in audit.certified) + sum(
        remark.covered for remark in of_rules
    )
    if covered:
        parts.append(f"{covered} {'finding is' if covered == 1 else 'findings are'} in the baseline and not shown.")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _findings(one: RuleResult, certificate: Certificate) -> list[str]:
    """Return the findings of a rule that the baseline does not list, and a script if one is a refutation."""
    shown = [pair for pair in open_cases([certificate]) if pair[0].code not in (one.covered or ())]
    parts = list(map(fenced, blocks(one, shown)))
    if one.reproduction and any(case.verdict == "refuted" for _, case in shown):
        script = fenced(one.reproduction, "python")
        parts.append(f"<details><summary>To reproduce {code(certificate.op)}</summary>\n\n{script}\n\n</details>")
    return parts


def _fitting(parts: Sequence[str], room: int) -> list[str]:
    """Return the first parts that fit into `room` bytes together, and a line on how many were left out."""
    kept, size = 0, 0
    while kept < len(parts) and (size := size + len(parts[kept].encode()) + 2) <= room:
        kept += 1
    left = len(parts) - kept
    return [*parts[:kept], *([f"{left} more are left out: they would be too long for this page."] if left else [])]


def _place_suffix(place: Place) -> str:
    return f" ({place.shown})" if place.shown else ""


def _escaped_line(text: str) -> str:
    """Return a text in one line, with the characters escaped that have a meaning in Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def fenced(text: str, language: str = "text") -> str:
    """Return a code block, with a fence that is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def table(certificates: Sequence[Certificate], link: str = "", said: Sequence[str] = ()) -> str:
    """Return a table with a row for each certificate.

    Args:
        certificates: the certificates.
        link: a format string for the address of a certificate (`certificates/{op}.json`); "" for no links.
        said: the texts of the verdicts, in the same order; by default the plain ones.
    """
    rows = [
        (
            _linked(certificate.op, link),
            _cases(certificate),
            obligations(certificate),
            verdict,
            ", ".join(map(code, conditions(certificate))),
            ", ".join(map(code, conventions(certificate))),
        )
        for certificate, verdict in zip(certificates, said or map(verdict_text, certificates), strict=True)
    ]
    return tabulated(_HEADER, rows) + "\n"


def _linked(op: str, link: str) -> str:
    return f"[`{op}`]({link.format(op=op)})" if link else f"`{op}`"


def _cases(certificate: Certificate) -> str:
    lines = signatures(certificate)
    return "<br>".join(line if line.startswith("and ") else code(line) for line in lines)


def code(text: str) -> str:
    """Return a code span that is safe in a table cell: bars escaped, backticks fenced."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def row(cells: Sequence[str]) -> str:
    """Return the cells as a line of a table."""
    return "| " + " | ".join(cells) + " |"


def tabulated(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a header."""
    return "\n".join([row(header), row(["---"] * len(header)), *map(row, rows)])
