"""The gradient of every op under jit, against JAX's own implementation of the same function.

Both sides compile x -> vjp(f)(seed) for all float arguments of the op's first case, at float32. The two compiled
programs run in turn, who goes first alternating, and the ratio of an op is the median of the ratios of its rounds. The
references are those of the tests: `tests/ops/references`; what JAX cannot differentiate is left out. An op may take
more than `LIMIT` times as long only for a reason written there.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.bench._figure import Figure
from certgrad.ops import Op, registry
from tests.ops.references import reference
from tests.ops.sampling import Call, draw

SIZE = 256
LIMIT = 1.5
SHORTEST = 2e-3
"""Seconds that one timed stretch of calls takes at least."""
ROUNDS = 30


def figures(short: bool) -> Iterator[Figure]:
    """The median of the ops' ratios, and the largest of those that have no reason for being slow."""
    ops = [op for op in registry if reference(op).derivatives > 0]
    ratios = {op.name: _ratio(op, ROUNDS // 3 if short else ROUNDS) for op in (ops[::24] if short else ops)}
    yield Figure(
        "gradient of an op, the median", median(ratios.values()), beside="JAX's own", note=f"{len(ratios)} ops"
    )
    excused = {op.name for op in ops if reference(op).slow}
    without = {name: value for name, value in ratios.items() if name not in excused}
    slowest = max(without, key=lambda name: without[name])
    name = "gradient of an op, the slowest without a reason"
    yield Figure(name, without[slowest], beside="JAX's own", at_most=LIMIT, note=slowest)


def _ratio(op: Op, rounds: int) -> float:
    """Of one op. A ratio beyond the limit is measured once more, and the smaller one counts."""
    call = _large(op)
    ours, theirs = _gradient(call, call.run), _gradient(call, call.like)
    first = _measured(ours, theirs, rounds)
    return min(first, _measured(ours, theirs, rounds)) if first > LIMIT else first


def _large(op: Op) -> Call:
    """A call of the op's first case with many entries, inside the domain."""
    case, own = op.cases[0], reference(op).sizes
    signature = case.signature
    stars = signature.stars
    elementwise = not signature.names and len(stars) == 1
    sizes = {name: own.get(name, SIZE) for name in signature.names}
    groups = {star: (own.get(f"*{star}", 512 if elementwise else 8),) * (2 if elementwise else 1) for star in stars}
    return draw(op, case, zlib.crc32(op.name.encode()), jnp.float32, sizes=sizes, groups=groups)


def _gradient(call: Call, f: Callable[..., Any]) -> Callable[[], None]:
    """The compiled gradient along a fixed seed, as a function that runs it once and waits."""
    rng = np.random.default_rng(0)
    seeds = call.shaped([jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in call.out_shapes])
    compiled = jax.jit(lambda xs, seeds: jax.vjp(f, *xs)[1](seeds)).lower(call.floats, seeds).compile()
    return lambda: jax.block_until_ready(compiled(call.floats, seeds))


def _measured(ours: Callable[[], None], theirs: Callable[[], None], rounds: int) -> float:
    """The median ratio of processor time."""
    count = max(1, round(SHORTEST / max(_mean(ours, 3), 1e-7)))
    ratios: list[float] = []
    for k in range(rounds):
        if k % 2:
            second = _mean(theirs, count)
            ratios.append(_mean(ours, count) / second)
        else:
            ratios.append(_mean(ours, count) / _mean(theirs, count))
    return median(ratios)


def _mean(run: Callable[[], None], count: int) -> float:
    """Processor seconds of one call, those of XLA's threads among them."""
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count
