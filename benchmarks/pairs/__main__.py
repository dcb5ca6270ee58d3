"""Audits pairs, one at a time, each rule within a limit, and writes `reports/pairs.json` and `reports/pairs.md`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.pairs import CLASSES
from benchmarks.pairs.page import page
from benchmarks.pairs.worker import Worker

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "pairs.json", REPORTS / "pairs.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CLASSES), help="classes, or class:word")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one rule")
    parser.add_argument("--render", action="store_true", help="write the page of the results that are there")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.render:
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"  # of the processes that audit
        worker = Worker()
        for name in options.names:
            name, _, only = name.partition(":")
            for pair in importlib.import_module(f"benchmarks.pairs.{name}").PAIRS:
                if only not in pair.name:
                    continue
                row: dict[str, Any] = {"phrase": pair.phrase}
                for side, which in enumerate(("right", "wrong")):
                    said = row[which] = worker.ask((name, pair.name, side), options.limit)
                    print(f"{name}:{pair.name} {which}: {said['verdict']} ({said['seconds']} s)", flush=True)
                results.setdefault(name, {})[pair.name] = row
                write(results)
        worker.process.kill()
    write(results)


def write(results: Mapping[str, Any]) -> None:
    """The results by class and name, and the page."""
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
