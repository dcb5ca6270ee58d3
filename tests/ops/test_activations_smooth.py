"""Smooth activations: finite values and derivatives however large the argument, C¹ at their seams."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

FAR = jnp.asarray([-1e30, -1e4, -88.0, -20.0, 0.0, 20.0, 88.0, 1e4, 1e30])
ONES = jnp.ones_like(FAR)

SMOOTH = [
    ops.sigmoid,
    ops.softplus,
    ops.log_sigmoid,
    ops.silu,
    ops.mish,
    ops.softsign,
    ops.gelu_erf,
    ops.gelu_tanh,
    ops.celu,
    ops.tanh,
    lambda x: ops.softcap(x, cap=30.0),
]
LIMITS = {  # the derivative far below and far above 0
    "sigmoid": (0, 0),
    "softplus": (0, 1),
    "log_sigmoid": (1, 0),
    "silu": (0, 1),
    "mish": (0, 1),
    "softsign": (0, 0),
    "gelu_erf": (0, 1),
    "gelu_tanh": (0, 1),
    "celu": (0, 1),
    "tanh": (0, 0),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: getattr(f, "name", "softcap"))
def test_derivatives_are_finite_for_large_arguments(f):
    value, tangent = jax.jvp(f, (FAR,), (ONES,))
    assert np.isfinite(value).all()
    assert np.isfinite(tangent).all()
    low, high = LIMITS.get(getattr(f, "name", ""), (0, 0))
    np.testing.assert_allclose(tangent[:2], low, atol=1e-6)
    np.testing.assert_allclose(tangent[-2:], high, atol=1e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("f", SMOOTH[:3] + SMOOTH[5:6], ids=lambda f: f.name)
def test_second_derivatives_have_no_nan(f):
    assert not np.isnan(jax.vmap(jax.grad(jax.grad(f)))(FAR)).any()


@pytest.mark.slow
def test_half_precision_does_not_overflow_inside():
    x = jnp.asarray([-300.0, 300.0], jnp.float16)
    np.testing.assert_array_equal(jax.vmap(jax.grad(ops.gelu_tanh))(x), [0, 1])
    np.testing.assert_array_equal(jax.vmap(jax.grad(ops.gelu_erf))(x), [0, 1])


def test_log_sigmoid_keeps_far_negative_arguments():
    assert ops.log_sigmoid(-1e4) == -1e4
    assert jax.grad(ops.log_sigmoid)(-1e4) == 1.0


def test_gelu_erf_keeps_its_tail():
    assert ops.gelu_erf(-10.0) == pytest.approx(-7.6198530e-23, rel=1e-4)


def test_seams_have_one_slope():
    assert jax.grad(ops.softsign)(0.0) == 1.0
    assert jax.grad(ops.softplus)(0.0) == 0.5
    assert jax.grad(lambda x: ops.celu(x, alpha=3.0))(0.0) == 1.0


def test_glu_gates_the_first_half():
    np.testing.assert_allclose(ops.glu(jnp.asarray([2.0, 3.0, 0.0, 100.0])), [1.0, 3.0])
