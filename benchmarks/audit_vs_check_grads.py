"""certgrad's audit of the op library against `jax.test_util.check_grads` on the same ops, cold, in one process.

The audit proves both laws of every op for all shapes. check_grads compares derivatives with finite differences at one
small shape and one point (order 1, forward and reverse mode, float64, its own default tolerances). Both run once, op by
op, who goes first alternating. Imports are in neither time, and JAX is warmed up on an unrelated function first; all
that an audit or a check computes or compiles for the first time is in its time.

The table is in seconds that pass. The last lines also give the seconds of CPU, which other programs on the machine
change less, and what the first case of each op alone takes check_grads.

Run from anywhere: `python benchmarks/audit_vs_check_grads.py [--ops relu,softmax] [--cases first]`
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

from certgrad import audit
from certgrad.ops import Case, Op, registry
from tests.ops.sampling import draw

NOTE = """\
Included on both sides: tracing, compiling, running; nothing is cached from an earlier run.
Excluded on both sides: imports, and JAX's own start (one unrelated function is compiled and differentiated first).
audit: all three obligations of every case of the op, for all shapes. check_grads: {cases}, one point of a small shape,
order 1, modes fwd and rev, float64, default tolerances."""


@dataclass
class Timing:
    """Seconds of both sides for one op, and what they concluded."""

    name: str
    audit: float = 0.0
    checks: float = 0.0
    audit_cpu: float = 0.0
    checks_cpu: float = 0.0
    first: float = 0.0
    """check_grads of the first case alone."""
    verdict: str = ""
    failed: list[str] = field(default_factory=list)


def main() -> None:
    """Time the ops and print the table."""
    options = _options()
    names = options.ops.split(",") if options.ops else registry.names()
    warm_up()
    timings = [timed(k, registry.get(name), options.cases == "all") for k, name in enumerate(names)]
    report(timings, options.cases)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument(
        "--cases",
        choices=("first", "all"),
        default="all",
        help="what check_grads checks: each case of an op, as the audit always does (default), or the first alone",
    )
    return parser.parse_args()


def warm_up() -> None:
    """JAX's start-up, on a function that is no op."""
    importlib.import_module("certgrad.obligations.auditing.audit")  # the first audit would import it
    x = jnp.arange(12.0).reshape(3, 4)
    jax.block_until_ready(jax.jit(jax.grad(lambda x: jnp.sum(jnp.tril(x) @ x.T)))(x))
    with jax.enable_x64(True):
        check_grads(lambda x: jnp.sort(x), (jnp.arange(3.0),), order=1)


def timed(k: int, op: Op, every_case: bool) -> Timing:
    """Both sides of one op; the first one to run alternates from op to op."""
    timing = Timing(op.name)
    sides = [lambda: run_audit(op, timing), lambda: run_checks(op, op.cases if every_case else op.cases[:1], timing)]
    for side in sides if k % 2 == 0 else reversed(sides):
        side()
    return timing


def run_audit(op: Op, timing: Timing) -> None:
    """The audit of one op."""
    start, cpu = time.perf_counter(), time.process_time()
    timing.verdict = audit(op).verdict
    timing.audit, timing.audit_cpu = time.perf_counter() - start, time.process_time() - cpu


def run_checks(op: Op, cases: tuple[Case, ...], timing: Timing) -> None:
    """check_grads of the op as it is called, rules included, at one point of its domain."""
    with jax.enable_x64(True):
        for case in cases:
            call = draw(op, case, zlib.crc32(op.name.encode()))
            _check(call.run, tuple(call.floats), timing)
            timing.first = timing.first or timing.checks


def _check(run: Callable[..., Any], args: tuple[Any, ...], timing: Timing) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    try:
        check_grads(run, args, order=1, modes=("fwd", "rev"))
    except AssertionError as error:
        timing.failed.append(str(error).strip().splitlines()[0])
    timing.checks += time.perf_counter() - start
    timing.checks_cpu += time.process_time() - cpu


def report(timings: list[Timing], cases: str) -> None:
    """The table, and the totals in the last line."""
    audits, checks = sum(t.audit for t in timings), sum(t.checks for t in timings)
    cpu = sum(t.audit_cpu for t in timings), sum(t.checks_cpu for t in timings)
    first = sum(t.first for t in timings)
    print(NOTE.format(cases="each case" if cases == "all" else "the first case"), end="\n\n")
    print(f"{'op':34}{'audit s':>9}{'share':>7}{'check_grads s':>15}{'share':>7}{'ratio':>8}  audit's verdict")
    for t in sorted(timings, key=lambda t: -t.audit):
        shares = f"{t.audit:9.3f}{t.audit / audits:7.1%}{t.checks:15.3f}{t.checks / checks:7.1%}"
        print(f"{t.name:34}{shares}{t.audit / t.checks:8.2f}  {t.verdict}")
    for t in timings:
        for reason in t.failed:
            print(f"check_grads fails on {t.name}: {reason}")
    print(f"\njax {jax.__version__}, {len(timings)} ops")
    print(f"of CPU: audit {cpu[0]:.1f} s, check_grads {cpu[1]:.1f} s, ratio {cpu[0] / cpu[1]:.2f}")
    print(f"check_grads of first cases alone: {first:.1f} s, ratio {audits / first:.2f}")
    print(f"audit {audits:.1f} s, check_grads {checks:.1f} s, ratio {audits / checks:.2f}")


if __name__ == "__main__":
    main()
