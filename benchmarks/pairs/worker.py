"""A process that audits pairs, one rule at a time, and is started again where one takes too long."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from multiprocessing.connection import Connection

from benchmarks.pairs.page import CLOSED


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
