"""How long tests take: processor seconds of each, those of the programs that it starts among them.

`make test PYTEST_ARGS='-n 2 --record-durations durations.json'` writes them, and `python -m tests.durations
durations.json` shows the slowest tenth, and files in which most time is spent. The file is as pytest-split reads it: a
number for the name of each test. What was recorded of others stays.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SHOWN = 25
"""Lines of a table at most."""
_NAME = "processor seconds"


def processor() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class Durations:
    """A plugin of pytest. Workers of pytest-xdist hand their seconds to the process that started them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = processor()
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.began = processor()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        if call.when == "teardown":
            item.user_properties.append((_NAME, processor() - self.began))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.seconds[report.nodeid] = round(dict(report.user_properties)[_NAME], 2)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            known = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
            merged = dict(sorted((known | self.seconds).items()))
            self.path.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", "utf-8")


def table(durations: Mapping[str, float]) -> Iterator[str]:
    """The slowest tenth of the tests with what they take of all, then the files."""
    total = sum(durations.values())
    ordered = sorted(durations, key=lambda name: -durations[name])
    tenth = ordered[: len(ordered) // 10 + 1]
    share = sum(durations[name] for name in tenth) / total if total else 1.0
    yield f"{len(ordered)} tests take {total:.0f} s; the slowest tenth, {len(tenth)}, {share:.0%} of it"
    yield from (f"{durations[name]:8.2f} s  {name}" for name in tenth[:SHOWN])
    files: Counter[str] = Counter()
    for name, seconds in durations.items():
        files[name.partition("::")[0]] += seconds
    yield ""
    yield from (f"{seconds:8.1f} s {seconds / total:6.1%}  {name}" for name, seconds in files.most_common(SHOWN))


def main() -> None:
    """Print the table of a recorded file."""
    parser = argparse.ArgumentParser(prog="python -m tests.durations", description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=Path)
    try:
        durations = json.loads(parser.parse_args().file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"no durations: {error}")
    print("\n".join(table(durations)))


if __name__ == "__main__":
    main()
