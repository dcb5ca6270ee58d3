"""Cumulative ops: from the other end, far apart entries, ties."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad import ops

X = jnp.asarray(np.random.default_rng(2).normal(size=(2, 5, 3)), jnp.float32)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumlogsumexp", "cummax", "cummin"])
def test_both_ways_along_any_axis(name, reverse):
    ours, theirs = getattr(ops, name), getattr(lax, name)
    total = lambda f, axis: jax.value_and_grad(lambda x: jnp.sum(jnp.sin(f(x, axis=axis, reverse=reverse))))
    compare = jax.jit(lambda x: [(total(ours, axis)(x), total(theirs, axis)(x)) for axis in range(3)])
    for got, want in compare(X):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours(X, axis=-1, reverse=reverse), theirs(X, axis=2, reverse=reverse), rtol=1e-6)


def test_cumlogsumexp_of_entries_far_apart():
    x = jnp.asarray([-1e4, 0.0, 300.0, 1e4, -1e4])
    value, gradient = jax.value_and_grad(lambda x: jnp.sum(ops.cumlogsumexp(x, axis=0)))(x)
    np.testing.assert_allclose(value, -1e4 + 300 + 2e4, rtol=1e-6)
    np.testing.assert_allclose(gradient, [1, 1, 1, 2, 0])


def test_ties_share():
    x = jnp.asarray([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(ops.cummax(x, axis=0)))(x), [1, 2, 1, 0])
