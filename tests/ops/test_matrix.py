"""Matrix products, normalisation and attention against plain JAX code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

RNG = np.random.default_rng(1)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


def check(ours, plain, *args):
    every = tuple(range(len(args)))
    assert jax.eval_shape(ours, *args) == jax.eval_shape(plain, *args)
    gradient = lambda f: jax.jit(jax.grad(lambda *xs: jnp.sum(jnp.sin(f(*xs))), every))(*args)
    got, want = gradient(ours), gradient(plain)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


SHAPES = [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4))]
SHAPES += [((2, 1, 2, 3), (1, 5, 3, 4)), ((2, 3), (5, 6, 3, 4)), ((1, 3), (3, 1)), ((3, 3), (3, 3))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("a, b", SHAPES)
def test_matmul_takes_vectors_and_batches(a, b):
    check(ops.matmul, jnp.matmul, normal(*a), normal(*b))


@pytest.mark.parametrize("a, b", [((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((), (2,)), ((2, 3), (4, 2))])
def test_matmul_refuses_what_is_not_proved(a, b):
    with pytest.raises(
        ValueError, match=r"^matmul: the shapes a .*, b .* do not fit its signature 'n k, k m -> n m' or "
    ):
        ops.matmul(normal(*a), normal(*b))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("lead", [(), (4,), (2, 4)])
def test_leading_axes(lead):
    x, weight, bias = normal(*lead, 3), normal(5, 3), normal(5)
    check(ops.linear, lambda x, w, b: x @ w.T + b, x, weight, bias)
    check(ops.layer_norm, plain_layer_norm, x, normal(3), normal(3))
    check(ops.rms_norm, lambda x, g: x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * g, x, normal(3))
    q, k, v = normal(*lead, 2, 3), normal(*lead, 4, 3), normal(*lead, 4, 5)
    check(ops.attention, plain_attention, q, k, v)


def plain_layer_norm(x, gamma, beta):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def plain_attention(q, k, v):
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def test_layer_norm_of_large_means_does_not_cancel():
    x = 1e4 + normal(2, 64)
    np.testing.assert_allclose(
        ops.layer_norm(x, jnp.ones(64), jnp.zeros(64)),
        plain_layer_norm(np.asarray(x, np.float64), np.ones(64), np.zeros(64)),
        atol=1e-2,
    )


@pytest.mark.slow
def test_constant_rows_have_finite_derivatives():
    for f in (lambda x: ops.layer_norm(x, jnp.ones(3), jnp.ones(3)), lambda x: ops.rms_norm(0 * x, jnp.ones(3))):
        assert np.isfinite(jax.jacrev(f)(jnp.ones(3))).all()
