"""Activations with a kink: no overflow in the branch that is not taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

FAR = jnp.asarray([-1e30, -100.0, 100.0, 1e30])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("f", [ops.elu, ops.celu, ops.selu, ops.relu, ops.leaky_relu], ids=lambda f: f.name)
def test_large_arguments(f):
    value, slope = jax.vmap(jax.value_and_grad(f))(FAR)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    second = jax.vmap(jax.grad(jax.grad(f)))(FAR)
    np.testing.assert_array_equal(second, 0)


def test_elu_with_alpha_1_has_no_kink():
    assert jax.grad(ops.elu)(0.0) == 1.0
    assert jax.grad(lambda x: ops.elu(x, alpha=2.0))(0.0) == 2.0


@pytest.mark.slow
def test_prelu_has_a_cotangent_for_a_shared_slope():
    x = jnp.asarray([[-1.0, 2.0], [-3.0, 4.0]])
    slope = jnp.asarray([0.5, 0.1])
    np.testing.assert_allclose(jax.grad(lambda s: jnp.sum(ops.prelu(x, s)))(slope), [-4.0, 0.0])
