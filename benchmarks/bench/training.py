"""A certified training step beside `jax.jit` of `jax.value_and_grad` and the update, as `train_vs_jax.py` has it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.bench._figure import Figure
from benchmarks.counted import counted
from benchmarks.train_vs_jax import LIMITS, MODELS, measured, programs

ROUNDS = 10


def figures(short: bool) -> Iterator[Figure]:
    """Of each model at its small sizes; of the short form only what XLA counts, of one of them."""
    models = {name: sizes["small"] for name, (_, sizes) in MODELS.items()}
    if short:
        models = {"mlp": models["mlp"]}
    counts = [counted(*programs(name, sizes)).ratios for name, sizes in models.items()]
    for what in ("operations", "accessed", "memory"):
        most = max(ratios[what] for ratios in counts)
        yield Figure(f"training step, {what}, the most", most, beside="jax.jit", at_most=LIMITS[what])
    if not short:
        rows = [measured(name, "small", sizes, ROUNDS) for name, sizes in models.items()]
        steps = median(row.processor for row in rows)
        yield Figure("training step, the median", steps, beside="jax.jit", at_most=LIMITS["step"])
