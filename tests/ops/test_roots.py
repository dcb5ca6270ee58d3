"""Roots near 0 and for large arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops


@pytest.mark.slow
def test_sqrt_is_0_below_0():
    assert ops.sqrt(-4.0) == 0.0
    assert jax.jvp(ops.sqrt, (0.0,), (1.0,))[1] == 0.0
    assert jax.grad(jax.grad(ops.sqrt))(0.0) == 0.0


def test_hypot_does_not_overflow_or_underflow():
    for size in (1e-30, 1.0, 1e30):
        np.testing.assert_allclose(ops.hypot(3 * size, 4 * size), 5 * size, rtol=1e-6)
        np.testing.assert_allclose(jax.grad(ops.hypot, (0, 1))(3 * size, -4 * size), (0.6, -0.8), rtol=1e-6)
    assert jax.grad(ops.hypot, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert ops.hypot(0.0, 0.0) == 0.0


@pytest.mark.slow
def test_hypot_broadcasts():
    x, y = jnp.ones((2, 1)), jnp.ones(3)
    assert [g.shape for g in jax.grad(lambda x, y: jnp.sum(ops.hypot(x, y)), (0, 1))(x, y)] == [(2, 1), (3,)]


def test_cube_root_is_odd():
    np.testing.assert_allclose(ops.cbrt(jnp.asarray([-8.0, 27.0])), [-2, 3], rtol=1e-6)
    np.testing.assert_allclose(jax.grad(ops.cbrt)(-8.0), 1 / 12, rtol=1e-6)
