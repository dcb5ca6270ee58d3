"""Exponentials and logarithms far from 1."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

FAR = jnp.asarray([-1e4, -80.0, -1e-8, 0.0, 1e-8, 90.0, 1e4])


def grad(f, x):
    return jax.grad(lambda x: jnp.sum(f(x)))(x)


@pytest.mark.slow
def test_logaddexp_does_not_overflow_and_shares_ties():
    got = ops.logaddexp(FAR, FAR)
    np.testing.assert_allclose(got, FAR + np.log(2), rtol=1e-6)
    np.testing.assert_allclose(ops.logaddexp(FAR, 0.0), np.logaddexp(FAR, 0.0), rtol=1e-6)
    gx, gy = jax.grad(ops.logaddexp, (0, 1))(5.0, 5.0)
    assert (gx, gy) == (0.5, 0.5)
    assert np.isfinite(grad(lambda x: ops.logaddexp(x, 0.0), FAR)).all()
    assert ops.logaddexp(-jnp.inf, 1.0) == 1.0


def test_xlogy_is_0_at_0():
    assert ops.xlogy(0.0, 0.0) == 0.0
    assert jax.grad(ops.xlogy, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert ops.xlogy(1.0, 0.0) == -np.inf
    assert jax.grad(lambda p: ops.xlogy(p, p))(0.0) == 0.0


def test_expm1_and_log1p_keep_small_arguments():
    assert ops.expm1(1e-12) == pytest.approx(1e-12, rel=1e-6)
    assert ops.log1p(1e-12) == pytest.approx(1e-12, rel=1e-6)
    assert jax.grad(ops.expm1)(-60.0) > 0


def test_rules_of_log_outside_of_its_domain_are_those_of_jax():
    assert jax.grad(ops.log)(-2.0) == jax.grad(jnp.log)(-2.0) == -0.5


@pytest.mark.parametrize("base, f", [(2, ops.log2), (10, ops.log10)])
def test_logarithms_of_powers(base, f):
    powers = jnp.asarray([float(base) ** k for k in range(-5, 6)])
    np.testing.assert_allclose(f(powers), np.arange(-5, 6), atol=1e-6)


@pytest.mark.slow
def test_logit_is_the_inverse_of_sigmoid():
    x = jnp.linspace(-8, 8, 9)
    np.testing.assert_allclose(ops.logit(ops.sigmoid(x)), x, rtol=1e-3, atol=1e-6)
