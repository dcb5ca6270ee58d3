"""Processor time, alone and of programs that are started."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, LONG = 5, 2.0
"""How often a short call is repeated at most, and after how many seconds in all no more."""


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returned."""
    gc.collect()
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def repeated(run: Callable[[], Any]) -> float:
    """The least processor seconds of several calls; of one call alone where that takes long."""
    taken = [seconds(run)[0]]
    while len(taken) < ROUNDS and sum(taken) < LONG:
        taken.append(seconds(run)[0])
    return min(taken)


def alternately(run: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float]:
    """The least processor seconds of a call and of its peer, in turn: what else the machine does then falls on both."""
    ours, theirs = [], []
    while not ours or (len(ours) < ROUNDS and sum(ours) + sum(theirs) < 2 * LONG):
        theirs.append(seconds(peer)[0])
        ours.append(seconds(run)[0])
    return min(ours), min(theirs)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True)
class Ended:
    """A program that ran: its exit code, what it wrote, and what it took."""

    code: int
    output: str
    errors: str
    clock: float
    processor: float

    @property
    def out_of_time(self) -> bool:
        """The kernel ended it at its limit of processor time."""
        return self.code in (-9, -24)


def python(*arguments: str, limit: int = 0, environment: Mapping[str, str] | None = None) -> Ended:
    """A run of Python on the CPU in the project's folder, ended after `limit` seconds of processor time (0: never)."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    with_project = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **(environment or {})}
    before, start = _of_children(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=with_project,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        preexec_fn=limited if limit else None,
    )
    return Ended(done.returncode, done.stdout, done.stderr, time.perf_counter() - start, _of_children() - before)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
