"""Calls that are carried out in several steps: any number of arrays, of axes, and shapes of any rank."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad import ops

X = jnp.arange(24.0).reshape(2, 3, 4)
Y = -X

CALLS = [
    lambda m, x: m.concatenate([x], axis=1),
    lambda m, x: m.concatenate([x, 2 * x, x[:, :1], 3 * x, x], axis=1),
    lambda m, x: m.stack([x, 2 * x, 3 * x], axis=-1),
    lambda m, x: m.stack([x, 2 * x], axis=1),
    lambda m, x: m.stack([x]),
    lambda m, x: m.split(x, [1, 3], axis=-1)[1],
    lambda m, x: m.split(x, 3, axis=1)[2],
    lambda m, x: m.unstack(x, axis=1)[1],
    lambda m, x: m.unstack(x)[1],
    lambda m, x: m.reshape(x, (4, -1)),
    lambda m, x: m.reshape(x, -1),
    lambda m, x: m.reshape(x, (2, 2, 3, 2)),
    lambda m, x: m.reshape(x[:1, 0, :1], ()),
    lambda m, x: m.ravel(x),
    lambda m, x: m.transpose(x),
    lambda m, x: m.transpose(x, (1, -1, 0)),
    lambda m, x: m.transpose(x.reshape(2, 3, 2, 2), (3, 1, 0, 2)),
    lambda m, x: m.transpose(x.reshape(2, 3, 2, 1, 2), (4, 2, 0, 1, 3)),
    lambda m, x: m.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    lambda m, x: m.broadcast_to(x[0, 0, 0], (2, 3)),
    lambda m, x: m.tile(x, (2, 1, 3)),
    lambda m, x: m.tile(x, 2),
    lambda m, x: m.tile(x, (2, 1, 1, 1)),
    lambda m, x: m.flip(x),
    lambda m, x: m.flip(x, (0, -1)),
    lambda m, x: m.roll(x, (1, -5), (0, 2)),
    lambda m, x: m.roll(x, 3, 1),
    lambda m, x: m.pad(x, 2, constant_values=3.0),
    lambda m, x: m.pad(x, ((0, 1), (2, 0), (1, 1)), "edge"),
    lambda m, x: m.pad(x, ((0, 1), (2, 0), (1, 3)), "reflect"),
    lambda m, x: m.pad(x, ((1, 2), (3, 0), (1, 4)), "wrap"),
    lambda m, x: m.take(x, jnp.asarray([[0, 2], [-1, 0]]), axis=1),
    lambda m, x: m.take(x, jnp.asarray([0, 20])),
]


@pytest.mark.one_in(18)
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_as_in_numpy(call):
    want, back = jax.vjp(lambda x: call(jnp, x), X)
    seed = jnp.cos(jnp.arange(want.size, dtype=want.dtype)).reshape(want.shape)
    got, ours = jax.jit(lambda x: ((pair := jax.vjp(lambda x: call(ops, x), x))[0], pair[1](seed)[0]))(X)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(ours, back(seed)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6])
def test_strided_slices(step):
    x = jnp.arange(29.0)
    if step == 1:
        with pytest.raises(ValueError, match=r"strided_slice: step = 1 is no product of 2 and 3"):
            ops.strided_slice(x, start=1, step=1)
        return
    np.testing.assert_array_equal(ops.strided_slice(x, start=3, step=step), x[3::step])


REFUSED = [
    (lambda: ops.concatenate([]), "concatenate: there is no array to join."),
    (lambda: ops.split(X, 5, axis=1), "split: an axis of size 3 has no 5 equal parts."),
    (lambda: ops.split(X, [2, 1], axis=1), "do not rise from 0 to 3, the size of the axis."),
    (lambda: ops.reshape(X, (5, 5)), r"reshape: the shape \(2, 3, 4\) has 24 entries, which do not fill \(5, 5\)."),
    (lambda: ops.broadcast_to(X, (2, 3)), "broadcast_to: the shape"),
    (lambda: ops.transpose(X, (0, 0, 1)), r"transpose: \(0, 0, 1\) is no order of the 3 axes of x."),
    (
        lambda: ops.pad(X, ((0, 0), (3, 0), (0, 0)), "reflect"),
        r"pad: the shapes x \(2, 3, 4\), pad_width=\(3, 0\) do",
    ),
    (lambda: ops.slice(X, start=1, length=2), r"slice: the shapes x \(2, 3, 4\), length=2, start=1 do not fit"),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_under_transformations():
    joined = lambda x, y: ops.concatenate([x, y, x], axis=-1)
    np.testing.assert_array_equal(jax.jit(jax.vmap(joined))(X, Y), jnp.concatenate([X, Y, X], -1))
    np.testing.assert_array_equal(lax.map(lambda x: ops.reshape(x, (4, 3)), X), X.reshape(2, 4, 3))
