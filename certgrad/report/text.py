"""The audit as text for a terminal or a log: a table, a block for each finding, a summary line."""

import textwrap
from collections.abc import Sequence
from io import StringIO
from textwrap import indent
from typing import TYPE_CHECKING

from certgrad.obligations.certificate import Ball, Certificate, Witness, not_for_all, stated
from certgrad.report.audited import (
    SHORT_NAMES,
    Audited,
    Finding,
    case_name,
    conditions,
    conventions,
    findings_of,
    summary,
)

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {
    "proved": "green",
    "proved under hypotheses": "cyan",
    "proved up to rounding": "cyan",
    "proved at sizes": "blue",
    "surrogate": "magenta",
    "unproved": "yellow",
    "refuted": "bold red",
}
_LEGEND = (
    "jvp: the JVP is the derivative of the forward. vjp: the VJP is the adjoint of the JVP. fwd: the rule returns the "
    "forward's value. Proved means for all shapes and all real inputs that the hypotheses allow; floats are another "
    "matter. A convention is what the rule returns where nothing is claimed. `certgrad explain` says more."
)
_DIGITS = 24
_LONGEST_CELL = 90
COVERED = " (baseline)"


def render(
    audited: Sequence[Audited], seconds: float, *, quiet: bool = False, width: int | None = None, missing: int = 0
) -> str:
    """The whole text report. `width` is the terminal's, and colours it; None gives plain text, as wide as it needs.
    `missing` rules were found and not audited.
    """
    certificates = [entry.certificate for entry in audited]
    parts = [] if quiet else [table(audited, width), fill(_LEGEND, width), ""]
    for entry in audited:
        shown = [f for f in findings_of([entry.certificate]) if f.claim.code not in entry.covered]
        for finding in shown:
            parts += [block(finding, width, entry.where), ""]
        if why := not_for_all(entry.certificate):
            parts += [*fields([(entry.certificate.op, why)], width, ""), ""]
        if entry.reproduction and any(f.case.verdict == "refuted" for f in shown):
            parts += [f"to reproduce {entry.certificate.op}:", indent(entry.reproduction, "  ")]
    return "\n".join([*parts, f"{summary(certificates, missing)} ({duration(seconds)})"]) + "\n"


def table(audited: Sequence[Audited], width: int | None = None) -> str:
    """One row an op: obligations, verdict, hypotheses, convention, time."""
    rows = [
        (
            entry.certificate.op,
            obligations(entry.certificate),
            stated(entry.certificate) + (COVERED if entry.covered else ""),
            _first(conditions(entry.certificate)),
            ", ".join(conventions(entry.certificate)),
            duration(entry.seconds),
        )
        for entry in audited
    ]
    return grid(("op", "obligations", "verdict", "hypotheses", "convention", "time"), rows, width)


def _first(conditions: Sequence[str]) -> str:
    """The conditions that fit into a cell, at least one, and how many more there are."""
    shown = [*conditions[:1]]
    for condition in conditions[1:]:
        if len(", ".join([*shown, condition])) > _LONGEST_CELL:
            break
        shown.append(condition)
    more = len(conditions) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """A table whose columns are: a name, a word, the verdict, the hypotheses, conventions, and a time."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in header[:3]:
        table.add_column(name, no_wrap=True)
    for name in header[3:5]:
        table.add_column(name, overflow="fold")
    table.add_column(header[5], justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style=_style(cell) if k == 2 else "") for k, cell in enumerate(row)))
    return _print(table, width)


def _style(verdict: str) -> str:
    """Of the verdict that a cell begins with."""
    found = max((v for v in _STYLES if verdict.startswith(v)), key=len, default="")
    return _STYLES.get(found, "")


def _print(table: "Table", width: int | None) -> str:
    from rich.console import Console

    buffer = StringIO()
    coloured = width is not None
    console = Console(
        file=buffer,
        width=width or 10_000,
        force_terminal=coloured,
        color_system="auto" if coloured else None,
        legacy_windows=False,
    )
    console.print(table)
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines())


def obligations(certificate: Certificate) -> str:
    """The short names of the certificate's obligations: `jvp vjp fwd`."""
    return " ".join(SHORT_NAMES[claim.kind] for claim in certificate.claims)


def block(finding: Finding, width: int | None = None, where: str = "") -> str:
    """A finding: its code and op, the claim, the case, the reason, the residual, the witness."""
    claim, case = finding.claim, finding.case
    rows = [("claim", claim.statement), ("case", case_name(case)), ("reason", case.reason), ("residual", case.residual)]
    if case.witness is not None:
        rows += witness_rows(case.witness)
    place = f" ({where})" if where else ""
    return "\n".join([f"{claim.code} {claim.id}: {case.verdict}{place}", *fields(rows, width)])


def witness_rows(witness: Witness) -> list[tuple[str, str]]:
    """A witness as labelled values: the shape, the inputs, and both sides."""
    assigned: list[tuple[str, object]] = [*witness.dims.items(), *witness.statics.items()]
    tangents = [(f"d{name}", value) for name, value in witness.tangents.items()]
    seeds = [("seed" if len(witness.seeds) == 1 else f"seed{k}", v) for k, v in enumerate(witness.seeds.values())]
    values = [*witness.inputs.items(), *tangents, *seeds]
    lines = [", ".join(f"{name} = {value}" for name, value in assigned)] if assigned else []
    lines += [f"{name} = {array(value)}" for name, value in values]
    rows = [("witness" if position == 0 else "", line) for position, line in enumerate(lines)]
    rows += [("at", witness.where), ("left side", ball(witness.lhs)), ("right side", ball(witness.rhs))]
    return [*rows, ("gap", f"{witness.relative_gap} (relative)")]


def array(value: list | str) -> str:
    """A nested list of rationals as text: `[[1/2, 3], [0, 1]]`."""
    return value if isinstance(value, str) else "[" + ", ".join(array(entry) for entry in value) + "]"


def ball(value: Ball) -> str:
    """A ball as `midpoint ± radius`; a midpoint with very many digits is cut, and shows that it is."""
    mantissa, mark, exponent = value.midpoint.partition("e")
    if len(mantissa) > _DIGITS:
        mantissa = mantissa[:_DIGITS] + "…"
    return f"{mantissa}{mark}{exponent} ± {value.radius}"


def fields(rows: Sequence[tuple[str, str]], width: int | None = None, indent: str = "  ") -> list[str]:
    """Labelled lines, aligned and wrapped; rows without a value are left out."""
    rows = [(label, value) for label, value in rows if value]
    column = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, value in rows:
        first = f"{indent}{label:<{column}}  "
        for line in value.splitlines():
            lines.append(fill(line, width, first, " " * len(first)))
            first = " " * len(first)
    return lines


def fill(text: str, width: int | None = None, first: str = "", rest: str | None = None) -> str:
    """Text wrapped at the terminal's width (at 100 columns where there is none), with hanging indents."""
    return textwrap.fill(
        text,
        max(width or 100, 40),
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def duration(seconds: float) -> str:
    """A time to two or three figures: `12 ms`, `7.2 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
