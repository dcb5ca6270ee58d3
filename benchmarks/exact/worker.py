"""A process that checks entries: as `benchmarks.corpus.worker`, by exact evaluation."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.corpus.entries import Entry, Record
from benchmarks.corpus.worker import serve


def _load() -> Callable[[Entry], Record]:
    from benchmarks.exact.subjects import checked, recorded

    recorded()
    return checked


if __name__ == "__main__":
    serve(_load)
