"""Checks rules of the corpus by exact evaluation, and prints what did not come out as it should.

python -m benchmarks.exact                         all sources that hold rules
python -m benchmarks.exact pairs cases/r02         what begins so
python -m benchmarks.exact --write                 and `reports/exact.md`, of these
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.corpus.entries import ROOT, CorpusError, Entry, Record, entries, records
from benchmarks.corpus.run import Results, can_run, run
from benchmarks.corpus.worker import Worker
from benchmarks.exact.page import good, page

SCRATCH = ROOT / ".certgrad_cache" / "exact"
PAGE = ROOT / "reports" / "exact.md"
SOURCES = ("pairs", "ordinary", "cases", "library", "examples", "wrong_ops")
"""Those that the page is about; others are run where they are named."""
LIMIT = 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.exact", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", default=SOURCES, help="only the entries whose ids begin with one of these")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE, help="write the page")
    options = parser.parse_args(arguments)
    starts = tuple(one if "/" in one else f"{one}/" for one in options.ids)
    chosen = [e for e in entries().values() if e.id.startswith(starts) and can_run(e) and not e.outside]
    if not chosen:
        print(CorpusError(f"no entry begins with {' or '.join(options.ids)}"), file=sys.stderr)
        return 2
    worker = partial(Worker, program=("-m", "benchmarks.exact.worker"))
    found = run(chosen, Results(SCRATCH), options.jobs, LIMIT, _tell, worker=worker)
    if options.write is not None:
        options.write.write_text(page(chosen, found, records()), "utf-8")
    return 0


def _tell(entry: Entry, record: Record) -> None:
    if not good(entry, record):
        shown = f"{record.verdict}: {record.reason}" if record.reason else record.verdict
        print(f"{entry.id} ({record.seconds:.1f} s): {shown}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
