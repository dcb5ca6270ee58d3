"""A program whose sizes are set is written as the program that JAX makes at these numbers, and no other one is."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from certgrad.obligations.generality.decisions import rendering
from certgrad.obligations.tracing.jax_internals import serialised, symbols, trace
from certgrad.signatures.sizes import integer_size

SIZES = {"n": 4, "m": 3}


def text(function: Callable, symbolic: bool) -> str:
    """Of the function of a matrix, with its sizes set or at these sizes."""
    dims = symbols(list(SIZES)) if symbolic else SIZES
    program = trace(function, [jax.ShapeDtypeStruct((dims["n"], dims["m"]), "float32")])
    fixed = {name: integer_size(n) for name, n in SIZES.items()} if symbolic else {}
    return serialised(program, rendering(fixed), fold_sizes=True)


SAME: dict[str, Callable] = {
    "a row": lambda x: x[0],
    "another row": lambda x: x[1:2],
    "the last row": lambda x: x[-1],
    "a column": lambda x: x[:, 0],
    "all but the first": lambda x: x[1:],
    "all but the last": lambda x: x[:-1],
    "all": lambda x: x[0:],
    "turned": lambda x: jnp.roll(x, 1, 0),
    "rows added": lambda x: x[0] + x[-1],
}


@pytest.mark.parametrize("name", SAME)
def test_the_same(name: str) -> None:
    assert text(SAME[name], True) == text(SAME[name], False)


@pytest.mark.parametrize(
    ("function", "other"),
    [
        (lambda x: x[0], lambda x: x[1]),
        (lambda x: x[:-1], lambda x: x[1:]),
        (lambda x: x[1:], lambda x: x[:3]),
        (lambda x: x[:, 0], lambda x: x[0]),
        (lambda x: x[-1], lambda x: x[-2]),
        (lambda x: jnp.roll(x, 1, 0), lambda x: jnp.roll(x, -1, 0)),
    ],
)
def test_others(function: Callable, other: Callable) -> None:
    assert text(function, True) != text(other, False)


def test_a_place_beyond_the_axis_is_no_slice() -> None:
    places = jax.lax.GatherDimensionNumbers((0,), (0,), (0,))

    def row(k: int) -> Callable:
        return lambda x: jax.lax.gather(x, jnp.array([k]), places, (1, x.shape[1]), mode="clip")

    assert "gather" in text(row(9), False)
    assert text(row(9), False) != text(row(3), False)
