"""The rules that took longest where the corpus was run last: right ones that are proved, and what ends unproved."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench._figure import Figure
from benchmarks.corpus.entries import Entry, entries, records
from benchmarks.corpus.run import can_run
from benchmarks.corpus.worker import Worker
from certgrad.obligations.certificate import PROOFS

PROVED, UNPROVED = 3, 2
"""Of how many rules each figure is the slowest."""
SECONDS = 20.0
LIMIT = 400.0
"""Seconds of processor time after which a rule's process is ended."""
NAMES = ("the slowest right rule that is proved", "the slowest unproved")


def figures(short: bool) -> Iterator[Figure]:
    """Each rule in a process of its own, with its imports warm; nothing of it in the short form."""
    if short:
        return
    taken: dict[str, dict[str, float]] = {"proved": {}, "unproved": {}}
    for entry in _slowest():
        worker = Worker()
        try:
            record = worker.ask(entry, LIMIT)
        finally:
            worker.close()
        if record.verdict == "crashed":
            raise RuntimeError(f"{entry.id}: {record.reason}")
        if record.verdict != "refuted":
            taken["proved" if record.verdict in PROOFS else "unproved"][entry.id] = record.seconds
    for title, of in zip(NAMES, taken.values(), strict=True):
        slowest = max(of, key=of.__getitem__, default="")
        note = f"{slowest}, of {len(of)}" if slowest else "none of the list"
        yield Figure(title, of.get(slowest), "s", at_most=SECONDS, note=note, optional=not slowest)


def _slowest() -> list[Entry]:
    """The right rules whose last records took longest, of those that were proved and of those that were not."""
    right = {name: e for name, e in entries().items() if e.expected == "right" and can_run(e)}
    last = sorted((r for r in records().values() if r.id in right), key=lambda r: (-r.seconds, r.id))
    proved = [r for r in last if r.verdict in PROOFS]
    unproved = [r for r in last if r.verdict == "unproved"]
    return [right[r.id] for r in (*proved[:PROVED], *unproved[:UNPROVED])]
