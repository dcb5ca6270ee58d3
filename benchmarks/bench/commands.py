"""Whole commands, in processes of their own: an audit of undeclared rules, and of the library with a warm cache."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator

from benchmarks.bench._clock import Ended, python
from benchmarks.bench._figure import Figure, ratio
from benchmarks.bench._warm import IMPORTS, TRACING

UNDECLARED = "benchmarks/bench/undeclared.py"
FEW = [f"benchmarks.bench.undeclared:{name}" for name in ("swish", "rms_norm")]
BY_THE_CLOCK, WARM = 25.0, 1.2


def figures(short: bool) -> Iterator[Figure]:
    """Of the short form the few rules alone."""
    yield _undeclared(short)
    if not short:
        yield _warm()


def _undeclared(short: bool) -> Figure:
    """`certgrad audit FILE`: two processes for all rules, by the clock; one for a few, in processor time."""
    targets = ("--jobs", "1", *FEW) if short else ("--jobs", "2", UNDECLARED)
    with tempfile.TemporaryDirectory() as folder:
        done = python("-m", "certgrad", "audit", *targets, "--cache-dir", folder)
    beside = python("-c", IMPORTS)
    if done.code:
        raise RuntimeError(done.errors[-400:])
    counted = re.search(r"^\d+ rules?: .*refuted", done.output, re.MULTILINE)
    note = counted[0] if counted else ""
    if short:
        return Figure(
            "audit a file of 2 undeclared rules, cold", done.processor, "s", beside.processor, "the imports", note=note
        )
    name = "audit a file of 25 undeclared rules, cold"
    return Figure(name, done.clock, "s by the clock", beside.clock, "the imports", BY_THE_CLOCK, note)


def _warm() -> Figure:
    """A warm `certgrad audit` without its imports, over every trace that it asks for: the least of two runs."""
    imports, warm, tracing = [], [], []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            audit = ("-m", "certgrad", "audit", "--cache-dir", folder)
            _done(python(*audit))
            imports.append(_done(python("-c", IMPORTS)).processor)
            warm.append(_done(python(*audit)).processor)
            tracing.append(json.loads(_done(python("-c", TRACING, folder)).output)["seconds"])
    return ratio("a warm audit of the library", min(warm) - min(imports), min(tracing), "its tracing alone", WARM)


def _done(ended: Ended) -> Ended:
    if ended.code:
        raise RuntimeError(ended.errors[-400:])
    return ended
