"""Tables no wider than the page: cells that do not fit into a row stand below it, whole and labelled.

The columns are a name, a word, the verdict, two that may be long, and a time; a column without a header is left out.
There are four layouts, of which the first that fits is taken: all columns; the long ones below the row; also without
the word; the name on a line of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from certgrad.report.wording import PAGE_WIDTH, fill

_STYLES = {
    "proved": "green",
    "proved under hypotheses": "cyan",
    "proved up to rounding": "cyan",
    "proved at sizes": "blue",
    "surrogate": "magenta",
    "unproved": "yellow",
    "refuted": "bold red",
}
_GAP = "  "
_INDENT = 4
_VERDICT, _LONG, _TIME = 2, (3, 4), 5


@dataclass(frozen=True)
class Row:
    """The cells of a row, and labelled texts below it: `below` breaks at commas, `sentences` at words."""

    cells: tuple[str, str, str, str, str, str]
    below: tuple[tuple[str, str], ...] = ()
    sentences: tuple[tuple[str, str], ...] = ()


def grid(header: Sequence[str], rows: Sequence[Row], width: int | None = None, *, colour: bool = False) -> str:
    """Return the table, at most `width` characters wide if names and verdicts allow it."""
    page = width or PAGE_WIDTH
    every = tuple(k for k, name in enumerate(header) if name)
    short = tuple(k for k in every if k not in _LONG)
    for columns in (every, short, (0, _VERDICT, _TIME)):
        widths = _widths(header, rows, columns)
        if sum(widths.values()) + len(_GAP) * (len(columns) - 1) <= page:
            return _print(_lines(header, rows, widths, page), colour)
    return _print(_blocks(header, rows, page), colour)


def _widths(header: Sequence[str], rows: Sequence[Row], columns: Sequence[int]) -> dict[int, int]:
    return {k: max(cell_len(cells[k]) for cells in (header, *(row.cells for row in rows))) for k in columns}


def _lines(header: Sequence[str], rows: Sequence[Row], widths: dict[int, int], page: int) -> list[Text]:
    """Return the header and a line for each row, with the long values below it that have no column."""
    lines = [_line(header, widths, "bold")]
    for row in rows:
        lines.append(_line(row.cells, widths))
        lines += _below(header, row, [k for k in _LONG if k not in widths], page)
    return lines


def _blocks(header: Sequence[str], rows: Sequence[Row], page: int) -> list[Text]:
    """Return several lines for each row: the name, then verdict and time, then the rest."""
    lines = []
    for row in rows:
        lines.append(Text(row.cells[0], style="bold"))
        cells = {k: row.cells[k] for k in (_VERDICT, _TIME) if row.cells[k]}
        parts = [Text(cell, style=_style(cell) if k == _VERDICT else "") for k, cell in cells.items()]
        lines.append(Text(" " * _INDENT).append_text(Text(_GAP).join(parts)))
        lines += _below(header, row, _LONG, page)
    return lines


def _line(cells: Sequence[str], widths: dict[int, int], style: str = "") -> Text:
    """Return a line with the cells that have a column; times are aligned to the right."""
    parts = []
    for k, width in widths.items():
        room = " " * (width - cell_len(cells[k]))
        cell_style = style or (_style(cells[k]) if k == _VERDICT else "")
        part = Text(cells[k], style=cell_style)
        parts.append(Text(room).append_text(part) if k == _TIME else part.append(room))
    return Text(_GAP).join(parts)


def _below(header: Sequence[str], row: Row, columns: Sequence[int], page: int) -> list[Text]:
    """Return the labelled lines below a row: its cells in `columns`, then the texts that always stand there."""
    values = [*((header[k], row.cells[k]) for k in columns if row.cells[k]), *row.below]
    column = max((cell_len(label) for label, _ in (*values, *row.sentences)), default=0)

    def first(label: str) -> str:
        return " " * _INDENT + label.ljust(column) + _GAP

    lines = [line for label, value in values for line in _wrapped(value, page, first(label))]
    lines += [line for label, value in row.sentences for line in _filled(first(label) + value, page, first(""))]
    return list(map(Text, lines))


def _wrapped(value: str, page: int, first: str) -> list[str]:
    """Return a value in lines that are broken after commas if possible, so that formulas stay whole."""
    rest = " " * len(first)
    lines, line = [], first
    for part in _split_at_commas(value):
        begun = line not in (first, rest)
        joined = f"{line} {part}" if begun else line + part
        if begun and cell_len(joined) > page:
            lines.append(line)
            joined = rest + part
        line = joined
    wrapped = [*lines, line]
    return [
        short
        for long_line in wrapped
        for short in ([long_line] if cell_len(long_line) <= page else _filled(long_line, page, rest))
    ]


def _filled(line: str, page: int, rest: str) -> list[str]:
    """Return a line that is too long as several ones, broken at words; `rest` is the indent of further lines."""
    return fill(line[len(rest) :], page, line[: len(rest)], rest).splitlines()


def _split_at_commas(value: str) -> list[str]:
    """Return the parts of a value, split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for k, character in enumerate(value):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if character == "," and depth <= 0 and value[k + 1 : k + 2] == " ":
            parts.append(value[start : k + 1])
            start = k + 2
    return [*parts, value[start:]]


def _style(verdict: str) -> str:
    """Return the style of the verdict that a cell begins with; "" if it begins with none."""
    verdict_name = max((v for v in _STYLES if verdict.startswith(v)), key=len, default="")
    return _STYLES.get(verdict_name, "")


def _print(lines: Sequence[Text], colour: bool) -> str:
    buffer = StringIO()
    console = Console(
        file=buffer,
        force_terminal=colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        legacy_windows=False,
    )
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False)
    return buffer.getvalue()
