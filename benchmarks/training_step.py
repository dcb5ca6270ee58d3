"""A certified training step against `jax.jit` of `jax.value_and_grad` with the same update, in one run.

Both sides take steps of Adam on the perceptron of `examples/mlp.py`, at small sizes, where the time of a call counts,
and at larger ones. They run in turn, who goes first alternating; the ratio is the median of the ratios of the rounds.

Run from anywhere: `python benchmarks/training_step.py [--rounds 20]`
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp

import certgrad
from certgrad.training import ADAM, training_step
from examples.mlp import loss

SPECS = {"x": "n d", "W1": "d h", "b1": "h", "W2": "h c", "b2": "c", "target": "n c"}
PARAMETERS = ["W1", "b1", "W2", "b2"]
SIZES = [
    {"n": 32, "d": 8, "h": 16, "c": 2},
    {"n": 128, "d": 64, "h": 256, "c": 16},
    {"n": 512, "d": 256, "h": 512, "c": 64},
]
SECONDS = 0.05
"""That one timed stretch of steps takes, about."""


def main() -> None:
    """Certify once, time at each size, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="rounds of timing for each size (default: 20)")
    rounds = parser.parse_args().rounds
    begin = time.perf_counter()
    step = training_step(certgrad.trace(loss, *(f"{n}: {s}" for n, s in SPECS.items())), ADAM, PARAMETERS)
    print(f"certified in {time.perf_counter() - begin:.2f} s: {step.certificate.verdict}")
    print(f"{'sizes':40}{'certgrad':>12}{'jax':>12}{'ratio':>8}")
    for sizes in SIZES:
        ours, theirs = sides(step, sizes)
        a, b, ratio = measured(ours, theirs, rounds)
        shown = ", ".join(f"{k} = {v}" for k, v in sizes.items())
        print(f"{shown:40}{a * 1e6:9.1f} µs{b * 1e6:9.1f} µs{ratio:8.2f}")


def sides(step: Any, sizes: dict[str, int]) -> tuple[Callable[[], None], Callable[[], None]]:
    """A step on each side. Each goes on from where it was."""
    keys = jax.random.split(jax.random.key(0), len(SPECS))
    shapes = {n: tuple(sizes[d] for d in s.split()) for n, s in SPECS.items()}
    arrays = {n: jax.random.normal(k, shapes[n]) / 8 for k, n in zip(keys, SPECS, strict=True)}
    data = {"x": arrays["x"], "target": arrays["target"]}
    context = step.start({n: arrays[n] for n in PARAMETERS})

    @jax.jit
    def plain(params: Any, state: Any, x: Any, target: Any) -> Any:
        value, grads = jax.value_and_grad(lambda p: loss(x=x, target=target, **p))(params)
        params, state = ADAM.run(params, grads, state, context.hyperparameters)
        return params, state, value

    mine, theirs = [context], [(context.parameters, context.state)]

    def certified() -> None:
        mine[0], _ = step(mine[0], **data)
        jax.block_until_ready(mine[0].parameters)

    def by_jax() -> None:
        params, state, _ = plain(*theirs[0], **data)
        theirs[0] = params, state
        jax.block_until_ready(params)

    certified(), by_jax()
    gap = max(float(jnp.abs(mine[0].parameters[n] - theirs[0][0][n]).max()) for n in PARAMETERS)
    assert gap < 1e-4, f"the two sides take different steps: {gap}"
    return certified, by_jax


def measured(ours: Callable[[], None], theirs: Callable[[], None], rounds: int) -> tuple[float, float, float]:
    """Seconds a step on each side, and the median ratio of the rounds."""
    count = max(1, round(SECONDS / max(seconds(theirs, 3), 1e-6)))
    times = []
    for k in range(rounds):
        order = (ours, theirs) if k % 2 else (theirs, ours)
        found = {side: seconds(side, count) for side in order}
        times.append((found[ours], found[theirs]))
    medians = [statistics.median(t) for t in zip(*times, strict=True)]
    return medians[0], medians[1], statistics.median(a / b for a, b in times)


def seconds(side: Callable[[], None], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        side()
    return (time.perf_counter() - begin) / count


if __name__ == "__main__":
    main()
