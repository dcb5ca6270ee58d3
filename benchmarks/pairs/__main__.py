"""Audits pairs, one at a time, each rule within a limit, and writes `reports/pairs.json` and `reports/pairs.md`."""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.pairs import CLASSES
from benchmarks.pairs.page import CLOSED, page

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "pairs.json", REPORTS / "pairs.md"


def audit(name: str, which: str, side: int) -> dict[str, object]:
    """What `certgrad.check` says of one rule."""
    import certgrad

    pair = next(one for one in importlib.import_module(f"benchmarks.pairs.{name}").PAIRS if one.name == which)
    start = time.perf_counter()
    try:
        rule = pair.make()[side]
        report = certgrad.check(rule, pair.signature, name=pair.name, **pair.options)
        verdict = str(report.verdict)
        reason = next((case.reason for claim in report.claims for case in claim.cases if case.reason), "")
    except Exception as error:
        verdict, reason = f"raised {type(error).__name__}", str(error)
    reason = " ".join(reason.split())[:200] if verdict not in CLOSED else ""
    return {"verdict": verdict, "reason": reason, "seconds": round(time.perf_counter() - start, 1)}


def serve(line: Connection) -> None:
    import certgrad  # noqa: F401, the import is not counted

    line.send("ready")
    while True:
        line.send(audit(*line.recv()))


class Worker:
    """A process that audits; it is started again after it was stopped."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.line.recv()

    def ask(self, job: tuple[str, str, int], limit: float) -> dict[str, object]:
        self.line.send(job)
        try:
            if self.line.poll(limit):
                return self.line.recv()
            said: dict[str, object] = {"verdict": "out of time", "reason": "", "seconds": limit}
        except EOFError:
            said = {"verdict": "crashed", "reason": "", "seconds": 0.0}
        self.process.kill()
        self.process.join()
        self.start()
        return said


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
