"""`reports/bench.md`: the figures of now beside the committed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.bench._compare import FACTOR, OF_CALLS, shown
from benchmarks.bench._figure import Figure

TITLES = {
    "rules": "Right rules",
    "calls": "Counted",
    "refutations": "Wrong rules",
    "verification": "The second check",
    "slow": "The slowest",
    "graphs": "Graphs",
    "library_models": "Models of libraries",
    "commands": "Commands",
    "ops": "Running the library",
    "training": "Training",
}
HEADER = ("figure", "now", "last committed", "aim", "of what")

INTRODUCTION = f"""# What it costs

Made by `make bench`: each figure is of the public call with its defaults, in processor time where its unit does not
say otherwise, and beside its peer in the same run. A figure without a unit is the ratio of both. The command fails
where, in each of two measurements, one is above {FACTOR} times its last committed value, over its peer where it has
one: another machine has other seconds. Calls of Python functions are counted, and say what the code does whatever
else the machine does; they may grow by {round(100 * (OF_CALLS - 1))} %. `make bench SHORT=1` is the sample that runs
before a change is merged; `make bench ARGS=--accept` commits new values (`reports/bench.json`)."""


def page(now: Mapping[str, Sequence[Figure]], last: Mapping[str, Sequence[Figure]]) -> str:
    """The whole page."""
    return "\n\n".join([INTRODUCTION, *_sections(now, last)]) + "\n"


def _sections(now: Mapping[str, Sequence[Figure]], last: Mapping[str, Sequence[Figure]]) -> Iterator[str]:
    for group, title in TITLES.items():
        if group in now:
            committed = {one.name: one for one in last.get(group, ())}
            rows = [_row(one, committed.get(one.name)) for one in now[group]]
            yield f"## {title}\n\n" + "\n".join([_line(HEADER), _line(["---"] * len(HEADER)), *rows])


def _row(figure: Figure, before: Figure | None) -> str:
    aim = "" if figure.at_most is None else f"{figure.at_most:g} {figure.unit}".strip()
    committed = "new" if before is None else shown(before)
    return _line((figure.name, shown(figure), committed, aim, figure.note))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
