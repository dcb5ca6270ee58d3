"""Pages on graphs alone, from the same records: what each is proved under, and why others are not proved."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.corpus.entries import Entry, Record
from benchmarks.corpus.page import table
from benchmarks.libraries import LIBRARIES, NO_ENTRY, REFUSED
from certgrad.obligations.certificate import PROOFS

MODELS = """# Models

Made by `make corpus ACCEPT=1` from the records of `corpus/`: each model of `examples/models` in float64. Hypotheses
that the graph discharges are not among those that are left. `tests/graph/test_models.py` compares each executed sweep
with `jax.grad`; `make bench` measures what certifying costs."""
LIBRARY_MODELS = """# Models of libraries

Made by `make corpus ACCEPT=1` from the records of `corpus/`. Libraries are as installed, models as they are written, in
training mode and in their own dtypes; parameters, state, keys and inputs are arguments, at numbers.
`tests/benchmarks/test_library_models.py` compares each executed sweep with `jax.grad` in the model's dtypes;
`make bench` measures what certifying costs."""
PARTS = """# Libraries, part by part

Made by `make corpus ACCEPT=1` from the records of `corpus/`. A part is every public name that is a layer, loss,
optimiser or log-probability of its library, called as it stands in the installed version. Of each the function of its
inputs, parameters and state is certified, at named sizes where it traces at them, else at numbers. A base class and
what computes nothing of its own is listed but not counted; a part that nobody has written an entry for counts as not
certified. Seconds are of the processor, in a process that keeps its lemmas from part to part."""
KINDS = {
    REFUSED: REFUSED,
    "out of time": "out of time",
    "did not end": "out of time",
    "ended the process": "it ended the process",
    "vacuous": "no point found that satisfies all hypotheses",
    "points were tried": "no point found that satisfies all hypotheses",
    "undefined at every input": "undefined at every input: an infinity, or a division by 0, in what is not taken",
    "undefined whatever": "undefined at every input: an infinity, or a division by 0, in what is not taken",
    "what runs is not what was traced": "what runs is not what was traced",
    "stop_gradient": "stop_gradient hides a part of the derivative, on purpose",
}
"""Reasons in short, by what occurs in them."""


class Row(NamedTuple):
    """An entry with what came of it."""

    entry: Entry
    record: Record

    @property
    def name(self) -> str:
        return self.entry.where.rpartition(":")[2]

    @property
    def is_proved(self) -> bool:
        return self.record.verdict in PROOFS

    @property
    def is_part(self) -> bool:
        """It is no name that computes nothing."""
        return self.record.verdict != "not tried" or self.record.reason == NO_ENTRY


def views(entries: Mapping[str, Entry], records: Mapping[str, Record]) -> dict[str, str]:
    """Pages by the name of their file, as Markdown."""
    rows = [Row(entry, records[id]) for id, entry in entries.items() if id in records]
    of = {source: [row for row in rows if row.entry.source == source] for source in ("models", "library_models")}
    return {
        "libraries.md": _parts([row for row in rows if row.entry.source == "libraries"]),
        "library_models.md": _models(LIBRARY_MODELS, of["library_models"]),
        "models.md": _models(MODELS, of["models"]),
    }


# --- models


def _models(introduction: str, rows: Sequence[Row]) -> str:
    counted = f"{sum(row.is_proved for row in rows)} of {len(rows)} models are proved."
    header = ("model", "verdict", "hypotheses")
    lines = [(f"`{row.name}`", row.record.verdict, str(len(row.record.asks))) for row in rows]
    details = [
        "\n".join([f"### `{row.name}`", "", *(f"- {text}" for text in _told(row))]) for row in rows if _told(row)
    ]
    return "\n\n".join([introduction, counted, table(header, lines), "## What is left to ask", *details]) + "\n"


def _told(row: Row) -> list[str]:
    return [*row.record.asks, *([row.record.reason] if row.record.reason else [])]


# --- parts of libraries


def _parts(rows: Sequence[Row]) -> str:
    of: dict[str, list[Row]] = {title: [] for title in LIBRARIES}
    titles = {f"benchmarks.libraries.{module}": title for title, module in LIBRARIES.items()}
    for row in rows:
        of[titles[row.entry.where.partition(":")[0]]].append(row)
    sections = [PARTS, _summary(of), _reasons(of)]
    for title, parts in of.items():
        sections += [f"## {title} {_version(parts)}".rstrip(), _table(parts), "\n".join(_left(parts))]
    return "\n\n".join(section for section in sections if section) + "\n"


def _version(rows: Iterable[Row]) -> str:
    return ", ".join(sorted({row.record.version for row in rows} - {""}))


def _summary(of: Mapping[str, Sequence[Row]]) -> str:
    numbers = ("parts", "certified", "of these, under hypotheses", "at names", "not", "share", "median seconds")
    every = [row for rows in of.values() for row in rows]
    lines = []
    for title, version, rows in (
        *((title, _version(rows), rows) for title, rows in of.items()),
        ("**all**", "", every),
    ):
        parts = [row for row in rows if row.is_part]
        proved = [row for row in parts if row.is_proved]
        under = sum(bool(row.record.asks) for row in proved)
        named = sum(any(scope.startswith("all ") for scope in row.record.scope) for row in proved)
        share = f"{100 * len(proved) / len(parts):.0f} %" if parts else ""
        median = f"{statistics.median(row.record.seconds for row in parts):.2f}" if parts else ""
        counts = map(str, (len(parts), len(proved), under, named, len(parts) - len(proved)))
        lines.append((title, version, *counts, share, median))
    return table(("library", "version", *numbers), lines)


def _reasons(of: Mapping[str, Sequence[Row]]) -> str:
    """How often each kind of reason stands behind a part that is not certified."""
    found: dict[str, list[str]] = {}
    for title, rows in of.items():
        for row in rows:
            if row.is_part and not row.is_proved:
                found.setdefault(_kind(row.record), []).append(f"{title} `{row.name}`")
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [(reason, str(len(parts)), ", ".join(parts)) for reason, parts in ordered]
    return "## Why not\n\n" + table(("reason", "parts", "which"), lines) if lines else ""


def _kind(record: Record) -> str:
    """The reason in short: a known kind, or the finding without its place."""
    decisive = _decisive(record)
    text = f"{record.verdict}: {decisive}"
    for mark, kind in KINDS.items():
        if mark in text:
            return kind
    return _cut(decisive.rsplit("jvp_is_derivative: ", 1)[-1], 110)


def _decisive(record: Record) -> str:
    """The finding that the verdict rests on: others say what is proved up to rounding."""
    findings = record.reason.split("; ")
    marks = (f"is {record.verdict}", f"is a {record.verdict}", "points were tried")
    return next((text for text in findings if any(mark in text for mark in marks)), findings[0])


def _table(rows: Iterable[Row]) -> str:
    lines = []
    for row in rows:
        if not row.is_part:
            continue
        cells = [f"`{row.name}`", row.record.verdict, "", "", f"{row.record.seconds:.1f}", ""]
        if row.is_proved:
            shown = [f"`{_cut(text.replace('`', ''), 110)}`" for text in row.record.asks]
            more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
            cells[2:4] = "; ".join(shown[:3]) + more, "; ".join(row.record.scope)
        else:
            findings = [_decisive(row.record), *row.record.reason.split("; ")]
            cells[5] = _cut("; ".join(dict.fromkeys(findings)), 300)
        lines.append(tuple(cells))
    return table(("part", "verdict", "under", "claimed for", "seconds", "why not"), lines)


def _left(rows: Iterable[Row]) -> Iterator[str]:
    """What is no part, and of what is certified but not for all sizes, why not for more."""
    for row in rows:
        if not row.is_part:
            yield f"- `{row.name}` is no part: {row.record.reason}"
        elif row.is_proved and row.record.reason:
            claimed, _, why = row.record.reason.partition(": ")
            yield f"- `{row.name}` is not certified for {claimed}: {_cut(why, 240)}"


def _cut(text: str, size: int) -> str:
    text = " ".join(text.split()).replace("](", "] (")  # which is a link otherwise
    return text if len(text) <= size else f"{text[:size].rstrip()} …"
