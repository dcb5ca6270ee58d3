"""Losses: the traps of their rules, seams, and the reductions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

RNG = np.random.default_rng(0)
X, T = (jnp.asarray(RNG.normal(size=(4, 3)), jnp.float32) for _ in range(2))
ELEMENTS = [ops.mse, ops.mae, ops.huber, ops.smooth_l1, ops.binary_cross_entropy_with_logits]
ROWS = [ops.cross_entropy_logits, ops.cosine_similarity_loss]


@pytest.mark.one_in(9)
@pytest.mark.parametrize("loss", ELEMENTS + ROWS, ids=lambda f: f.name)
def test_reductions(loss):
    each = loss(X, T, reduction="none")
    assert each.shape == ((4,) if loss in ROWS else (4, 3))
    np.testing.assert_allclose(loss(X, T), each.mean(), rtol=1e-5)
    np.testing.assert_allclose(loss(X, T, reduction="sum"), each.sum(), rtol=1e-5)
    mean, total = (jax.grad(lambda x, r=r: loss(x, T, reduction=r))(X) for r in ("mean", "sum"))
    np.testing.assert_allclose(total, mean * each.size, rtol=1e-4, atol=1e-6)


def test_cross_entropy_is_right_for_targets_that_do_not_sum_to_1():
    plain = lambda x: -jnp.sum(3 * jnp.abs(T) * jax.nn.log_softmax(x))
    ours = lambda x: ops.cross_entropy_logits(x, 3 * jnp.abs(T), reduction="sum")
    np.testing.assert_allclose(jax.grad(ours)(X), jax.grad(plain)(X), rtol=1e-4, atol=1e-5)


def test_cosine_similarity_of_vectors_that_are_not_normalised():
    plain = lambda x, t: jnp.sum(1 - jnp.sum(x * t, -1) / (jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(t, axis=-1)))
    ours = lambda x, t: ops.cosine_similarity_loss(x, t, reduction="sum")
    for got, want in zip(jax.grad(ours, (0, 1))(5 * X, T), jax.grad(plain, (0, 1))(5 * X, T), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_cosine_similarity_of_zero_is_finite():
    gradients = jax.grad(lambda x, t: ops.cosine_similarity_loss(x, t, eps=0.5), (0, 1))(jnp.zeros(3), T[0])
    np.testing.assert_allclose(gradients[0], -T[0] / 0.5, rtol=1e-6)
    np.testing.assert_array_equal(gradients[1], 0)


def test_binary_cross_entropy_with_large_logits():
    x = jnp.asarray([-1e4, 1e4])
    np.testing.assert_array_equal(
        ops.binary_cross_entropy_with_logits(x, jnp.asarray([1.0, 0.0]), reduction="none"), 1e4
    )
    np.testing.assert_array_equal(ops.binary_cross_entropy_with_logits(x, jnp.asarray([0.0, 1.0]), reduction="none"), 0)


@pytest.mark.parametrize("d, slope", [(-9.0, -2.0), (-2.0, -2.0), (0.0, 0.0), (2.0, 2.0), (9.0, 2.0)])
def test_huber_and_smooth_l1_have_one_slope_at_their_seams(d, slope):
    assert jax.grad(lambda x: ops.huber(x, 0.0, delta=2.0))(d) == slope
    assert jax.grad(lambda x: ops.smooth_l1(x, 0.0, beta=2.0))(d) == slope / 2
    assert ops.huber(d, 0.0, delta=2.0) == 2 * ops.smooth_l1(d, 0.0, beta=2.0)


@pytest.mark.slow
def test_huber_does_not_overflow():
    assert ops.huber(1e30, 0.0) == pytest.approx(1e30)
    assert jax.grad(ops.huber)(1e30, 0.0) == 1.0
