"""The gradient of every op under jit, against JAX's own implementation of the same function, in one run.

Both sides compile x -> vjp(f)(seed) for all float arguments of the op's first case, at float32. The two compiled
programs run in turn, who goes first alternating, and the ratio of an op is the median of the ratios of its rounds. The
references are those of the tests: `tests/ops/references`; what JAX cannot differentiate is left out. An op may take
more than 1.5 times as long only for a reason written there.

Run from anywhere: `python benchmarks/ops_vs_jax.py [--ops relu,softmax] [--rounds 30]`
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.ops import Op, registry
from tests.ops.references import reference
from tests.ops.sampling import Call, draw

SIZE = 256
LIMIT = 1.5
SHORTEST = 2e-3
"""Seconds that one timed stretch of calls takes at least."""


@dataclass
class Timing:
    """Seconds a call of an op's gradient and of its reference's, and the median ratio of the rounds."""

    name: str
    op: float
    jax: float
    ratio: float
    reason: str


def main() -> None:
    """Time the ops and print the table. Exit code 1 if one is slower than the limit without a written reason."""
    options = _options()
    names = options.ops.split(",") if options.ops else registry.names()
    ops = [op for name in names if reference(op := registry.get(name)).derivatives > 0]
    timings = [timed(op, options.rounds) for op in ops]
    report(timings)
    sys.exit(any(t.ratio > LIMIT and not t.reason for t in timings))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of timing for each op (default: 30)")
    return parser.parse_args()


def timed(op: Op, rounds: int) -> Timing:
    """Both sides of one op. A ratio beyond the limit is measured once more, and the smaller one counts."""
    call = large(op)
    ours, theirs = gradient(call, call.run), gradient(call, call.like)
    first = measured(ours, theirs, rounds)
    best = min(first, measured(ours, theirs, rounds)) if first[0] > LIMIT else first
    return Timing(op.name, best[1], best[2], best[0], reference(op).slow)


def large(op: Op) -> Call:
    """A call of the op's first case with many entries, inside the domain."""
    case, own = op.cases[0], reference(op).sizes
    signature = case.signature
    stars = signature.stars
    elementwise = not signature.names and len(stars) == 1
    sizes = {name: own.get(name, SIZE) for name in signature.names}
    groups = {star: (own.get(f"*{star}", 512 if elementwise else 8),) * (2 if elementwise else 1) for star in stars}
    return draw(op, case, zlib.crc32(op.name.encode()), jnp.float32, sizes=sizes, groups=groups)


def gradient(call: Call, f: Callable[..., Any]) -> Callable[[], None]:
    """The compiled gradient along a fixed seed, as a function that runs it once and waits."""
    rng = np.random.default_rng(0)
    seeds = call.shaped([jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in call.out_shapes])
    compiled = jax.jit(lambda xs, seeds: jax.vjp(f, *xs)[1](seeds)).lower(call.floats, seeds).compile()
    return lambda: jax.block_until_ready(compiled(call.floats, seeds))


def measured(ours: Callable[[], None], theirs: Callable[[], None], rounds: int) -> tuple[float, float, float]:
    """The median ratio, and the median seconds of each side."""
    count = max(1, round(SHORTEST / max(seconds(ours, 3), 1e-7)))
    found: list[tuple[float, float]] = []
    for k in range(rounds):
        if k % 2:
            second = seconds(theirs, count)
            found.append((seconds(ours, count), second))
        else:
            found.append((seconds(ours, count), seconds(theirs, count)))
    ratio = statistics.median(a / b for a, b in found)
    return ratio, statistics.median(a for a, _ in found), statistics.median(b for _, b in found)


def seconds(run: Callable[[], None], count: int) -> float:
    """The mean time of one call."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def report(timings: list[Timing]) -> None:
    """The table, slowest ratio first; the reasons; and the median in the last line."""
    print(f"{'op':34}{'op µs':>10}{'JAX µs':>10}{'ratio':>8}")
    for t in sorted(timings, key=lambda t: -t.ratio):
        print(f"{t.name:34}{t.op * 1e6:10.0f}{t.jax * 1e6:10.0f}{t.ratio:8.2f}")
    print()
    for t in timings:
        if t.ratio > LIMIT:
            print(f"{t.name}: {t.reason or 'slower than the limit, and no reason is written'}")
    ratios = [t.ratio for t in timings]
    device = jax.devices()[0].device_kind
    print(f"jax {jax.__version__}, {device}, float32, {len(timings)} ops")
    print(f"median ratio {statistics.median(ratios):.3f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
