"""Expressions in the user's names."""

import jax.numpy as jnp
import pytest

from certgrad.graph import trace
from certgrad.graph.wording.expression import Expressions


def text(fn, *specs: str) -> str:
    graph = trace(fn, *specs).ir
    return Expressions(graph).of(graph.outputs[0])


@pytest.mark.parametrize(
    "fn, specs, expected",
    [
        (lambda x, W, b: x @ W + b, ("x: n d", "W: d h", "b: h"), "x @ W + b"),
        (lambda x, y: (x + y) * x, ("x: n", "y: n"), "(x + y) * x"),
        (lambda x, y: x - (y - x), ("x: n", "y: n"), "x - (y - x)"),
        (lambda x, y: x / (y * x), ("x: n", "y: n"), "x / (y * x)"),
        (lambda x: (x + 1) ** 3, ("x: n",), "(x + 1)**3"),
        (lambda x: -jnp.exp(x) * 2, ("x: n",), "(-exp(x)) * 2"),
        (lambda x: jnp.maximum(x.T, 0), ("x: n m",), "maximum(x.T, 0)"),
        (lambda x: jnp.where(x > 0, x, 0), ("x: n",), "where(x > 0, x, 0)"),
        (lambda x: jnp.sum(x * x) / x.shape[0], ("x: n",), "sum(x * x) / n"),
    ],
)
def test_expressions(fn, specs: tuple, expected: str) -> None:
    assert text(fn, *specs) == expected


def test_long_ones_are_named_by_their_node() -> None:
    def f(x):
        for _ in range(30):
            x = jnp.sin(x)
        return x

    assert "%" in text(f, "x: n")
    assert len(text(f, "x: n")) < 80
