"""A warm `certgrad audit` beside what it cannot do without: the imports, and tracing.

Four things, each in a process of its own, in turn, several times over: the imports alone; every trace that the audit
asks for, and nothing else; a cold audit (an empty cache); a warm one (the cache that the cold one filled). Tracing is
timed inside its process, after the imports; the others from start to end. The least time of each counts: on a busy
machine it is the one that was disturbed least. Seconds of the wall clock, and of the processor.

Run from anywhere: `python benchmarks/warm_audit.py [--rounds 5]`
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
BAR = 1.2

IMPORTS = """
from certgrad.cli import _console, _library, _output, _run, _select
_library.names()
import certgrad.obligations.auditing.audit, certgrad.report.text, rich.progress
import atexit, gc, typer._adapters  # the last: what reading the command line imports
atexit.register(gc.freeze)  # as the command does
"""

TRACING = """
import gc, json, sys, time
from pathlib import Path
from certgrad.cli import _library
_library.names()
gc.disable()  # as the command does
import certgrad.obligations.auditing.audit
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.cache import Cache, Folder
from certgrad.obligations.verify import _programs
from certgrad.ops import Composed, registry
_programs.case_digest = lambda *programs: ""  # of a composed op the programs alone
cache = Cache(Folder(Path(sys.argv[1])))
plans = {op.name: cache.specs(op) for op in registry}
wall, processor = time.perf_counter(), time.process_time()
for op in registry:
    if isinstance(op, Composed):
        for case in op.cases:
            _programs.digest(op, case)
        continue
    traces = Traces(op)
    for spec in plans[op.name]:
        traces.make(spec)
wall, processor = time.perf_counter() - wall, time.process_time() - processor
print(json.dumps([wall, processor, sum(map(len, plans.values())), len(plans)]))
"""


class Least:
    """The least wall and processor seconds of several runs."""

    def __init__(self) -> None:
        self.wall = self.processor = float("inf")

    def add(self, wall: float, processor: float) -> None:
        self.wall, self.processor = min(self.wall, wall), min(self.processor, processor)


def main() -> None:
    """Measure, and print the table and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is run (default: 5)")
    rounds = parser.parse_args().rounds
    imports, tracing, cold, warm = Least(), Least(), Least(), Least()
    traces = ops = 0
    print(f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            audit = ["-m", "certgrad", "audit", "--cache-dir", folder]
            cold.add(*process(*audit)[:2])
            imports.add(*process("-c", IMPORTS)[:2])
            warm.add(*process(*audit)[:2])
            wall, processor, traces, ops = json.loads(process("-c", TRACING, folder)[2])
            tracing.add(wall, processor)
    print(f"load at the end: {os.getloadavg()[0]:.1f}; least of {rounds} runs; {ops} ops, {traces} families traced\n")
    print(f"{'':28}{'wall s':>9}{'processor s':>13}")
    rows = {"imports": imports, "tracing alone": tracing, "cold audit": cold, "warm audit": warm}
    for name, least in rows.items():
        print(f"{name:28}{least.wall:9.2f}{least.processor:13.2f}")
    ratios = [
        (getattr(warm, clock) - getattr(imports, clock)) / getattr(tracing, clock) for clock in ("wall", "processor")
    ]
    print(f"{'(warm - imports) / tracing':28}{ratios[0]:9.2f}{ratios[1]:13.2f}  (at most {BAR})")


def process(*arguments: str) -> tuple[float, float, str]:
    """Wall and processor seconds of a run of Python, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    before, start = _processor(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, cwd=ROOT)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)[:80]} failed:\n{done.stderr}")
    return seconds, _processor() - before, done.stdout


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
