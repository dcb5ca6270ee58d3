"""Specs: names, and the sizes that arrays give the dimensions."""

import jax
import jax.numpy as jnp
import pytest

from certgrad.errors import UsageError
from certgrad.graph import certify, trace
from certgrad.graph.tracing.spec import read_specs, split_name


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x: n d", ("x", "n d")),
        ("n d", (None, "n d")),
        ("", (None, "")),
        ("b:", ("b", "")),
        ("n:int", (None, "n:int")),
        ("labels: n:int", ("labels", "n:int")),
    ],
)
def test_names(text: str, expected: tuple) -> None:
    assert split_name(text) == expected


def test_arguments_are_named_by_the_function() -> None:
    read = read_specs(lambda x, weights: None, ["n d", "d"])
    assert [a.name for a in read.arguments] == ["x", "weights"]
    assert read.dims == ["n", "d"]


def test_sizes() -> None:
    read = read_specs(lambda x, y: None, ["n 2*n", "m 3"])
    assert read.sizes([(2, 4), (5, 3)]) == {"n": 2, "m": 5}
    with pytest.raises(UsageError, match=r"x has shape \(2, 5\), but its spec 'n 2\*n' with n = 2, m = 5 gives"):
        read.sizes([(2, 5), (5, 3)])


def test_sizes_that_jax_made():
    def summed(text):
        shape = jax.export.symbolic_shape(text)
        return certify(trace(lambda x: jnp.sum(x * x), jax.ShapeDtypeStruct(shape, jnp.float32)))

    assert {summed(text).verdict for text in ("n", "n+1, 2*n", "2*n - 1")} == {"proved"}
    for odd in ("n^2", "floordiv(n, 2)"):
        with pytest.raises(UsageError, match="has an axis of size"):
            summed(odd)
