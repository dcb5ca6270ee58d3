"""Audits the corpus and prints what differs from its records; exit code 1 where something is worse, 2 for bad input.

python -m benchmarks.corpus                        everything
python -m benchmarks.corpus --sample               a fixed sample
python -m benchmarks.corpus pairs cases/r02        what begins so
python -m benchmarks.corpus --root DIR             the same entries, with the certgrad of another checkout
python -m benchmarks.corpus --against DIR          compared with what was found with that checkout, not the records
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.corpus.entries import CORPUS, ROOT, CorpusError, Entry, Record, entries, records, write
from benchmarks.corpus.run import LIMIT, Results, can_run, run, sample
from certgrad.errors import UsageError

SCRATCH = ROOT / ".certgrad_cache" / "corpus"
REPORTS = ROOT / "reports"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.corpus", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", help="only the entries whose ids begin with one of these")
    parser.add_argument("--sample", action="store_true", help="a fixed sample, under ten minutes on two processors")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--dask", default="", metavar="ADDRESS", help="on dask's workers: of a scheduler, or 'local'")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of processor time for an entry")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout whose certgrad is asked")
    parser.add_argument("--against", type=Path, help="a checkout whose results, found before, stand for the records")
    parser.add_argument("--results", type=Path, default=SCRATCH, help="the folder of what was found")
    parser.add_argument("--accept", action="store_true", help="write what was found as the records, and the pages")
    parser.add_argument("--known", action="store_true", help="run nothing: compare, or accept, what was found before")
    parser.add_argument("--page", action="store_true", help="write the pages of the records as they are")
    parser.add_argument("--collect", action="store_true", help="write a row for each rule of this checkout without one")
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except (CorpusError, UsageError) as error:
        print(error, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    if options.collect:
        from benchmarks.corpus.collect import collect

        print(*(f"new: {entry.id}" for entry in collect()), sep="\n")
    every, recorded = entries(), records()
    if options.page or options.collect:
        _write(every, recorded)
        return 0
    chosen = [e for e in every.values() if not options.ids or e.id.startswith(tuple(options.ids))]
    if not chosen:
        raise CorpusError(f"no entry begins with {' or '.join(options.ids)}")
    possible = [entry for entry in chosen if can_run(entry)]
    picked = sample(possible, recorded) if options.sample else possible
    results = Results(options.results, options.root.resolve())
    if options.known:
        now = {entry.id: record for entry in picked if (record := results.get(entry)) is not None}
    else:
        now = run(picked, results, options.jobs, options.limit, _tell, dask=options.dask)
    before = recorded
    if options.against is not None:
        other = Results(options.results, options.against.resolve())
        before = {entry.id: record for entry in picked if (record := other.get(entry)) is not None}
    failed = _report(every, before, now, len(chosen) - len(now))
    if options.accept:
        _write(every, {**recorded, **now})
        return 0
    return int(failed)


def _tell(entry: Entry, record: Record) -> None:
    print(f"{entry.id}: {record.verdict} ({record.seconds:.1f} s)", flush=True)


def _report(every: Mapping[str, Entry], before: Mapping[str, Record], now: Mapping[str, Record], not_run: int) -> bool:
    """Print what came of the run. Whether something is worse."""
    from benchmarks.corpus.compare import compared

    changes = compared(every, before, now)
    print("\n".join(map(str, changes)))
    verdicts = Counter(record.verdict for record in now.values())
    print(f"{len(now)} run: {', '.join(f'{n} {verdict}' for verdict, n in verdicts.most_common())}")
    print(f"{not_run} not run; {sum(id not in before for id in now)} with nothing to compare with")
    failed = [change for change in changes if change.fails]
    print(f"{len(failed)} worse" if failed else "nothing is worse")
    return bool(failed)


def _write(every: Mapping[str, Entry], found: Mapping[str, Record]) -> None:
    kept = {id: found[id] for id in every if id in found}
    write(CORPUS / "records", kept.values())
    for name, text in pages(every, kept).items():
        (REPORTS / name).write_text(text, "utf-8")


def pages(every: Mapping[str, Entry], found: Mapping[str, Record]) -> dict[str, str]:
    """The pages of the records, by the names of their files in `reports/`."""
    from benchmarks.corpus.page import page
    from benchmarks.corpus.views import views

    return {"corpus.md": page(every, found), **views(every, found)}


if __name__ == "__main__":
    sys.exit(main())
