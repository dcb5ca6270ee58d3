"""Measures, compares with the committed figures, and writes the page: `make bench`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.bench._clock import ROOT, python
from benchmarks.bench._compare import FACTOR, OF_A_SAMPLE, BadData, Figures, better, read, shown, worse, write
from benchmarks.bench._figure import Figure
from benchmarks.bench._page import TITLES, page

DATA, PAGE = ROOT / "reports" / "bench.json", ROOT / "reports" / "bench.md"
GROUPS = tuple(TITLES)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 where a figure is worse or a group failed, 2 for a data file that cannot be read."""
    options = _options(arguments)
    if options.one:
        _printed(options.one, options.short)
        return 0
    form = "short" if options.short else "full"
    try:
        last = read(options.data, form)
        most = OF_A_SAMPLE if options.short else FACTOR
        now, failures = _measured(options.only or GROUPS, options.short)
        if again := [group for group in now if worse(last, {group: now[group]}, most)]:
            print(f"what is worse is measured once more: {', '.join(again)}")
            twice, failures_twice = _measured(again, options.short)
            now = {group: better(figures, twice.get(group, ())) for group, figures in now.items()}
            failures = [*failures, *failures_twice]
        lines = [*failures, *worse(last, now, most)]
        if options.accept and not failures:
            write(options.data, form, now)
            last = read(options.data, form)
            now = {group: last[group] for group in now}
    except BadData as error:
        print(error, file=sys.stderr)
        return 2
    if not options.short:
        options.page.write_text(page(last | now, last), "utf-8")
    for line in lines:
        print(f"worse: {line}", file=sys.stderr)
    return 1 if failures or (lines and not options.accept) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a sample, in at most 90 s of processor time")
    parser.add_argument("--accept", action="store_true", help="write the figures as those to compare with from now on")
    parser.add_argument("--only", type=_groups, default=(), help=f"of {', '.join(GROUPS)}, separated by commas")
    parser.add_argument("--data", type=Path, default=DATA, help=argparse.SUPPRESS)
    parser.add_argument("--page", type=Path, default=PAGE, help=argparse.SUPPRESS)
    parser.add_argument("--one", choices=GROUPS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _groups(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in GROUPS]:
        raise argparse.ArgumentTypeError(f"no group is called {', '.join(unknown)}")
    return names


def _printed(group: str, short: bool) -> None:
    """The figures of a group, in this process: one in a line, as soon as it is there."""
    for figure in importlib.import_module(f"benchmarks.bench.{group}").figures(short):
        print(json.dumps(asdict(figure)), flush=True)


def _measured(groups: Sequence[str], short: bool) -> tuple[Figures, list[str]]:
    """The figures of each group, measured in a process of its own, and what failed."""
    now: Figures = {}
    failures = []
    for group in groups:
        done = python("-m", "benchmarks.bench", "--one", group, *(["--short"] if short else []))
        figures = [Figure(**json.loads(line)) for line in done.output.splitlines() if line.startswith('{"name"')]
        for figure in figures:
            print(f"{figure.name}: {shown(figure)}  {figure.note}", flush=True)
        if figures:
            now[group] = figures
        if done.code:
            failures.append(f"{group} failed: {' '.join(done.errors[-600:].split())}")
        print(f"  ({group}: {done.processor:.0f} s of processor time)", flush=True)
    return now, failures


if __name__ == "__main__":
    sys.exit(main())
