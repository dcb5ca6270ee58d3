"""Axis arguments: negative, tuples, None with keepdims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

X = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, 4)), jnp.float32)
SUMS = [
    (None, False),
    (None, True),
    (0, False),
    (-1, True),
    ((1,), False),
    ((2, 0), False),
    ((0, -1), True),
    ((0, 1, 2), True),
]


@pytest.mark.one_in(30)
@pytest.mark.parametrize("axis, keepdims", SUMS)
@pytest.mark.parametrize(
    "op, like",
    [(ops.reduce_sum, jnp.sum), (ops.mean, jnp.mean), (ops.amax, jnp.max), (ops.std, jnp.std)],
    ids=["sum", "mean", "amax", "std"],
)
def test_reductions_take_the_axes_of_numpy(op, like, axis, keepdims):
    got = jax.value_and_grad(lambda x: jnp.sum(op(x, axis=axis, keepdims=keepdims) ** 2))(X)
    want = jax.value_and_grad(lambda x: jnp.sum(like(x, axis=axis, keepdims=keepdims) ** 2))(X)
    assert op(X, axis=axis, keepdims=keepdims).shape == like(X, axis=axis, keepdims=keepdims).shape
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_scalar_has_no_axes():
    assert ops.reduce_sum(2.0).shape == ops.reduce_sum(2.0, keepdims=True).shape == ()
    assert jax.grad(ops.mean)(2.0) == 1.0


def test_axis_that_is_not_there():
    with pytest.raises(ValueError, match=r"^softmax: axis = 3 is no axis of x, which has 3 axes\.$"):
        ops.softmax(X, axis=3)
    with pytest.raises(ValueError, match=r"^reduce_sum: axis = -4 is no axis of x, which has 3 axes\.$"):
        ops.reduce_sum(X, axis=(0, -4))
    with pytest.raises(ValueError, match=r"^mean: axis = \(0, -3\) names an axis twice\.$"):
        ops.mean(X, axis=(0, -3))
    with pytest.raises(TypeError, match=r"^mean: axis must be an integer or a tuple of integers, not 1\.5\.$"):
        ops.mean(X, axis=1.5)


@pytest.mark.slow
def test_axes_that_lie_apart():
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, 3, 2, 3, 2, 3)), jnp.float32)
    for axis in ((0, 2), (1, 3, 5), (0, 2, 4)):
        for keepdims in (False, True):
            np.testing.assert_allclose(
                ops.logsumexp(x, axis=axis, keepdims=keepdims),
                jax.scipy.special.logsumexp(x, axis=axis, keepdims=keepdims),
                rtol=1e-5,
            )
    mask = x > -1
    np.testing.assert_allclose(
        ops.masked_mean(x, mask, axis=(0, 2, 5)), jnp.mean(x, axis=(0, 2, 5), where=mask), rtol=1e-5
    )


def test_more_axes_than_are_proved():
    with pytest.raises(ValueError, match=r"axis=\(0, 1\) is none of the cases"):
        ops.softmax(X, axis=(0, 1))
    with pytest.raises(TypeError, match=r"^mean: keepdims must be True or False, not 1\.$"):
        ops.mean(X, axis=0, keepdims=1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("axis", [0, 1, 2, -3])
def test_softmax_and_glu_along_any_axis(axis):
    np.testing.assert_allclose(ops.softmax(X, axis=axis), jax.nn.softmax(X, axis=axis), rtol=1e-6)
    twice = jnp.concatenate([X, 2 * X], axis=axis)
    np.testing.assert_allclose(ops.glu(twice, axis=axis), jax.nn.glu(twice, axis=axis), rtol=1e-6)


def test_glu_of_an_odd_axis():
    with pytest.raises(
        ValueError, match=r"^glu: the shapes x \(3\) do not fit its signature '\*a 2\*n \*c -> \*a n \*c'\.$"
    ):
        ops.glu(jnp.ones(3))
