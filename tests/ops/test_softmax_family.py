"""Softmax, log_softmax and logsumexp: shifts, large and equal entries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

X = jnp.asarray([[1e4, 1e4 - 1, -1e4], [5.0, 5.0, 5.0]])


def test_large_entries():
    np.testing.assert_allclose(ops.softmax(X), jax.nn.softmax(X), rtol=1e-6)
    np.testing.assert_allclose(ops.log_softmax(X), jax.nn.log_softmax(X), rtol=1e-6)
    np.testing.assert_allclose(ops.logsumexp(X, axis=1), [1e4 + 0.3132617, 5 + np.log(3)], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("f", [ops.softmax, ops.log_softmax, ops.logsumexp], ids=lambda f: f.name)
def test_ties_at_the_maximum_and_shifts_do_not_matter(f):
    square = lambda x: jnp.sum(f(x, axis=-1) ** 2)
    assert np.isfinite(jax.grad(square)(X)).all()
    assert np.isfinite(jax.hessian(square)(X[1])).all()
    shifted = jax.grad(lambda x: jnp.sum(jnp.sin(ops.softmax(x))))
    np.testing.assert_allclose(shifted(X[1:] + 100), shifted(X[1:]), atol=1e-6)


def test_masked_entries_of_minus_infinity():
    x = jnp.asarray([0.0, -jnp.inf, 1.0])
    np.testing.assert_allclose(ops.softmax(x), jax.nn.softmax(x), rtol=1e-6)
    gradient = jax.grad(lambda x: ops.softmax(x)[0])(x)
    assert np.isfinite(gradient).all()
    assert gradient[1] == 0


def test_weights_of_logsumexp_sum_to_1():
    np.testing.assert_allclose(jnp.sum(jax.grad(lambda x: ops.logsumexp(x))(X)), 1.0, rtol=1e-6)
