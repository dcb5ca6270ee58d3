"""Measured rounding errors at points of a box, which are shown beside the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel.bounds import Box
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import evaluate
from certgrad.obligations.balls._jaxpr import of_reals

BITS = 256


def measured(
    function: Callable[..., Any], flat: Sequence[Any], typed: Sequence[Any], dtype: str, points: int, seed: int = 0
) -> list[Any]:
    """Return, for each output, the largest error of each entry at points drawn from the boxes, ends among them.

    The exact value is that of the traced program in ball arithmetic; the error is NaN where it is not known.
    `flat` are the arguments, boxes among them, and `typed` their types; both are without nesting.
    """
    rng = np.random.default_rng(seed)
    program = of_reals(jax.make_jaxpr(function)(*typed), typed)
    run = jax.jit(function)
    most: list[Any] = []
    for _ in range(points):
        arguments = [_drawn(x, t, dtype, rng) for x, t in zip(flat, typed, strict=True)]
        with s.precision(BITS):
            exact = evaluate(program, [_exactly(x) for x in arguments], precision=BITS).values
            errors = [_absolute_errors(a, b) for a, b in zip(jax.tree.leaves(run(*arguments)), exact, strict=True)]
        most = errors if not most else [np.maximum(a, b) for a, b in zip(most, errors, strict=True)]
    return most


def _drawn(x: Any, typed: Any, dtype: str, rng: np.random.Generator) -> Any:
    """Return an array drawn from a box, with about a tenth of its entries at an end; an array as it is."""
    if not isinstance(x, Box):
        return jnp.asarray(np.asarray(x), typed.dtype)
    lower, upper = (np.broadcast_to(np.asarray(e, np.float64), typed.shape) for e in (x.lower, x.upper))
    fraction = rng.uniform(size=typed.shape)
    fraction = np.where(rng.uniform(size=typed.shape) < 0.1, np.round(fraction), fraction)
    drawn = jnp.asarray(lower + (upper - lower) * fraction, typed.dtype)
    # Rounding to the dtype may leave the box.
    inside = (np.asarray(drawn, np.float64) >= lower) & (np.asarray(drawn, np.float64) <= upper)
    middle = jnp.asarray(lower + (upper - lower) / 2, typed.dtype)
    return jnp.where(jnp.asarray(inside), drawn, middle)


def _exactly(x: Any) -> Any:
    """Return an array of floats as exact rationals; of integers or booleans as it is."""
    array = np.asarray(x)
    if array.dtype.kind in "iub":
        return array
    wide = np.asarray(array, np.float64)
    out = np.empty(wide.shape, object)
    for at in np.ndindex(wide.shape):
        out[at] = s.fmpq(*float(wide[at]).as_integer_ratio())
    return out


def _absolute_errors(found: Any, exact: Any) -> Any:
    """Return the distance of each entry from the exact value, computed exactly; NaN where that value is not known."""
    if exact.dtype != object:
        return np.abs(np.asarray(found, np.float64) - np.asarray(exact, np.float64))
    numbers = np.asarray(found, np.float64)
    out = np.empty(numbers.shape)
    for at in np.ndindex(numbers.shape):
        number, value = float(numbers[at]), exact[at]
        if not np.isfinite(number):
            out[at] = np.inf
        elif not s.finite(value):
            out[at] = np.nan
        else:
            difference = s.sub(s.fmpq(*number.as_integer_ratio()), value)
            out[at] = float(abs(s.ball(difference)).upper().mid())
    return out
