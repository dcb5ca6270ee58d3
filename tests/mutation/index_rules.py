"""Rules written by hand that use indices in every way: what the mutation run breaks besides the op library.

Each original is proved. They are in a registry of their own.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.ops import op
from certgrad.ops._registry import Registry

rules = Registry()
where = jnp.where


def _convolution(x: Any, k: Any, layout: tuple[str, str, str] = ("NCW", "OIW", "NCW"), **how: Any) -> Any:
    axes = len(layout[0]) - 2
    given = {"window_strides": (1,) * axes, "padding": ((0, 0),) * axes, **how}
    return lax.conv_general_dilated(x, k, dimension_numbers=layout, **given)


# slices, padding, concatenation, order


@op("2*n -> n", registry=rules)
def odd_squares(x):
    """The squares of the entries at odd places."""
    return x[1::2] * x[1::2]


@odd_squares.jvp
def _(x, dx):
    return 2 * x[1::2] * dx[1::2]


@odd_squares.vjp
def _(x, seed):
    return lax.pad(2 * x[1::2] * seed, jnp.zeros((), x.dtype), [(1, 0, 1)])


@op("n -> n+3", registry=rules)
def padded_exponential(x):
    """exp of the padded array."""
    return jnp.exp(lax.pad(x, jnp.zeros((), x.dtype), [(1, 2, 0)]))


@padded_exponential.jvp
def _(x, dx):
    return lax.pad(jnp.exp(x) * dx, jnp.zeros((), x.dtype), [(1, 2, 0)])


@padded_exponential.vjp
def _(x, seed):
    return jnp.exp(x) * lax.slice_in_dim(seed, 1, x.shape[0] + 1)


@op("n+1 -> n", registry=rules)
def squared_differences(x):
    """The squared steps between neighbours."""
    return (x[1:] - x[:-1]) ** 2


@squared_differences.jvp
def _(x, dx):
    return 2 * (x[1:] - x[:-1]) * (dx[1:] - dx[:-1])


@squared_differences.vjp
def _(x, seed):
    g = 2 * (x[1:] - x[:-1]) * seed
    zero = jnp.zeros((1,), x.dtype)
    return jnp.concatenate([zero, g]) - jnp.concatenate([g, zero])


@op("n, m -> n+m", registry=rules)
def joined(x, y):
    """The squares of x, then the exponentials of y."""
    return jnp.concatenate([x * x, jnp.exp(y)])


@joined.jvp
def _(x, y, dx, dy):
    return jnp.concatenate([2 * x * dx, jnp.exp(y) * dy])


@joined.vjp
def _(x, y, seed):
    n = x.shape[0]
    return 2 * x * seed[:n], jnp.exp(y) * seed[n:]


@op("n -> n", registry=rules)
def mirrored(x):
    """Each entry times the one at the mirrored place."""
    return x * jnp.flip(x)


@mirrored.jvp
def _(x, dx):
    return dx * jnp.flip(x) + x * jnp.flip(dx)


@mirrored.vjp
def _(x, seed):
    return jnp.flip(x) * seed + jnp.flip(x * seed)


@op("n -> n", registry=rules)
def rolled(x):
    """The exponential of the entry before, in a circle."""
    return jnp.exp(jnp.concatenate([x[-1:], x[:-1]]))


@rolled.jvp
def _(x, dx):
    return jnp.exp(jnp.concatenate([x[-1:], x[:-1]])) * jnp.concatenate([dx[-1:], dx[:-1]])


@rolled.vjp
def _(x, seed):
    return jnp.exp(x) * jnp.concatenate([seed[1:], seed[:1]])


# running sums and masks


@op("n d -> n d", registry=rules)
def running_squares(x):
    """Sums of squares down the columns."""
    return lax.cumsum(x * x, axis=0)


@running_squares.jvp
def _(x, dx):
    return lax.cumsum(2 * x * dx, axis=0)


@running_squares.vjp
def _(x, seed):
    return 2 * x * lax.cumsum(seed, axis=0, reverse=True)


@op("n -> n", registry=rules)
def prefix_means(x):
    """The mean of the entries so far."""
    return lax.cumsum(x) / (jnp.arange(x.shape[0]) + 1)


@prefix_means.jvp
def _(x, dx):
    return lax.cumsum(dx) / (jnp.arange(x.shape[0]) + 1)


@prefix_means.vjp
def _(x, seed):
    return lax.cumsum(seed / (jnp.arange(x.shape[0]) + 1), reverse=True)


def _below(x: Any) -> Any:
    rows, columns = (lax.broadcasted_iota(int, x.shape, axis) for axis in (0, 1))
    return rows >= columns


@op("n n -> n n", registry=rules)
def lower_squares(x):
    """The squares on and below the diagonal."""
    return where(_below(x), x * x, 0.0)


@lower_squares.jvp
def _(x, dx):
    return where(_below(x), 2 * x * dx, 0.0)


@lower_squares.vjp
def _(x, seed):
    return where(_below(x), 2 * x * seed, 0.0)


@op("n n -> n", registry=rules)
def diagonal(x):
    """The exponentials of the diagonal."""
    rows, columns = (lax.broadcasted_iota(int, x.shape, axis) for axis in (0, 1))
    return jnp.sum(where(rows == columns, jnp.exp(x), 0.0), axis=1)


@diagonal.jvp
def _(x, dx):
    rows, columns = (lax.broadcasted_iota(int, x.shape, axis) for axis in (0, 1))
    return jnp.sum(where(rows == columns, jnp.exp(x) * dx, 0.0), axis=1)


@diagonal.vjp
def _(x, seed):
    rows, columns = (lax.broadcasted_iota(int, x.shape, axis) for axis in (0, 1))
    return where(rows == columns, jnp.exp(x) * seed[:, None], 0.0)


def _causal(x: Any) -> Any:
    e = where(_below(x), jnp.exp(x), 0.0)
    return e / jnp.sum(e, axis=1, keepdims=True)


@op("n n, n d -> n d", registry=rules)
def causal_attention(x, v):
    """Each row's average of the values up to it, weighted by the exponentials of the scores."""
    return _causal(x) @ v


@causal_attention.jvp
def _(x, v, dx, dv):
    p = _causal(x)
    return (p * (dx - jnp.sum(p * dx, axis=1, keepdims=True))) @ v + p @ dv


@causal_attention.vjp
def _(x, v, seed):
    p = _causal(x)
    g = seed @ v.T
    return p * (g - jnp.sum(p * g, axis=1, keepdims=True)), p.T @ seed


# windows and convolutions


def _windows(x: Any, pads: tuple[int, int]) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 1), (1, 1, 1), ((0, 0), pads, (0, 0)))


@op("b n c -> b n c", registry=rules)
def average_pool(x):
    """The mean of three squared neighbours, one of them behind."""
    return _windows(x * x, (0, 2)) / 3


@average_pool.jvp
def _(x, dx):
    return _windows(2 * x * dx, (0, 2)) / 3


@average_pool.vjp
def _(x, seed):
    return 2 * x * _windows(seed, (2, 0)) / 3


def _pairs(x: Any) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "VALID")


@op("2*n -> n", registry=rules)
def pooled_pairs(x):
    """The square of the sum of each pair."""
    return _pairs(x) * _pairs(x)


@pooled_pairs.jvp
def _(x, dx):
    return 2 * _pairs(x) * _pairs(dx)


@pooled_pairs.vjp
def _(x, seed):
    g, zero = 2 * x.reshape(-1, 2).sum(axis=1) * seed, jnp.zeros((), x.dtype)
    return lax.pad(g, zero, [(0, 1, 1)]) + lax.pad(g, zero, [(1, 0, 1)])


@op("b c 2*h, o c 3 -> b o h", registry=rules)
def strided_convolution(x, k):
    """A convolution with stride 2 and padding."""
    return _convolution(x, k, window_strides=(2,), padding=((1, 1),))


@strided_convolution.jvp
def _(x, k, dx, dk):
    how = {"window_strides": (2,), "padding": ((1, 1),)}
    return _convolution(dx, k, **how) + _convolution(x, dk, **how)


@strided_convolution.vjp
def _(x, k, seed):
    turned = jnp.flip(k.transpose(1, 0, 2), 2)
    return (
        _convolution(seed, turned, padding=((1, 2),), lhs_dilation=(2,)),
        _convolution(x, seed, ("CNW", "IOW", "CNW"), padding=((1, 0),), rhs_dilation=(2,)),
    )


@op("b c h w, o c 3 3 -> b o h w", registry=rules)
def plane_convolution(x, k):
    """A convolution over two axes that keeps the sizes."""
    return _convolution(x, k, ("NCHW", "OIHW", "NCHW"), padding=((1, 1), (0, 2)))


@plane_convolution.jvp
def _(x, k, dx, dk):
    how = {"padding": ((1, 1), (0, 2))}
    layout = ("NCHW", "OIHW", "NCHW")
    return _convolution(dx, k, layout, **how) + _convolution(x, dk, layout, **how)


@plane_convolution.vjp
def _(x, k, seed):
    turned = jnp.flip(k.transpose(1, 0, 2, 3), (2, 3))
    return (
        _convolution(seed, turned, ("NCHW", "OIHW", "NCHW"), padding=((1, 1), (2, 0))),
        _convolution(x, seed, ("CNHW", "IOHW", "CNHW"), padding=((1, 1), (0, 2))),
    )


@op("b c h+4, o c 3 -> b o h", registry=rules)
def dilated_convolution(x, k):
    """A convolution with a dilated kernel."""
    return _convolution(x, k, rhs_dilation=(2,))


@dilated_convolution.jvp
def _(x, k, dx, dk):
    return _convolution(dx, k, rhs_dilation=(2,)) + _convolution(x, dk, rhs_dilation=(2,))


@dilated_convolution.vjp
def _(x, k, seed):
    turned = jnp.flip(k.transpose(1, 0, 2), 2)
    return (
        _convolution(seed, turned, padding=((4, 4),), rhs_dilation=(2,)),
        _convolution(x, seed, ("CNW", "IOW", "CNW"), window_strides=(2,)),
    )


@op("b 2*c h+2, 2*o c 3 -> b 2*o h", registry=rules)
def grouped_convolution(x, k):
    """A convolution in two groups of features."""
    return _convolution(x, k, feature_group_count=2)


@grouped_convolution.jvp
def _(x, k, dx, dk):
    return _convolution(dx, k, feature_group_count=2) + _convolution(x, dk, feature_group_count=2)


@grouped_convolution.vjp
def _(x, k, seed):
    groups = k.reshape(2, k.shape[0] // 2, k.shape[1], 3)
    turned = jnp.flip(groups.transpose(0, 2, 1, 3).reshape(x.shape[1], k.shape[0] // 2, 3), 2)
    return (
        _convolution(seed, turned, padding=((2, 2),), feature_group_count=2),
        _convolution(x, seed, ("CNW", "IOW", "CNW"), batch_group_count=2),
    )


# indices that are values


def _clipped(i: Any, n: Any) -> Any:
    return jnp.clip(i, 0, n - 1)


@op("n d, m:int -> m d", registry=rules)
def embedding(table, ids):
    """Rows of a table; an id that is out of range is moved into it."""
    return jnp.take(table, ids, axis=0, mode="clip")


@embedding.jvp
def _(table, ids, dtable):
    return jnp.take(dtable, ids, axis=0, mode="clip")


@embedding.vjp
def _(table, ids, seed):
    return jnp.zeros_like(table).at[_clipped(ids, table.shape[0])].add(seed)


@op("m d, m:int, n d -> n d", registry=rules)
def segment_sums(u, ids, x):
    """Rows added where the ids say; those out of range are dropped."""
    return x * x + jnp.zeros_like(x).at[ids].add(u * u, mode="drop")


@segment_sums.jvp
def _(u, ids, x, du, dx):
    return 2 * x * dx + jnp.zeros_like(x).at[ids].add(2 * u * du, mode="drop")


@segment_sums.vjp
def _(u, ids, x, seed):
    n = x.shape[0]
    place = where(ids < 0, ids + n, ids)
    inside = (place >= 0) & (place < n)
    return 2 * u * where(inside[:, None], jnp.take(seed, _clipped(place, n), axis=0, mode="clip"), 0.0), 2 * x * seed


@op("n d, n:int -> ", registry=rules)
def cross_entropy(z, labels):
    """−log softmax at the labels, which are moved into range."""
    y = _clipped(labels, z.shape[1])
    return -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1, mode="clip"))


@cross_entropy.jvp
def _(z, labels, dz):
    hot = jax.nn.one_hot(_clipped(labels, z.shape[1]), z.shape[1], dtype=z.dtype)
    return jnp.sum((jax.nn.softmax(z) - hot) * dz)


@cross_entropy.vjp
def _(z, labels, seed):
    hot = jax.nn.one_hot(_clipped(labels, z.shape[1]), z.shape[1], dtype=z.dtype)
    return seed * (jax.nn.softmax(z) - hot)


@op("n d, n:int -> n", registry=rules)
def picked(w, i):
    """One squared entry of each row, by a one-hot row; 0 where the index is out of range."""
    return jnp.sum(w * w * jax.nn.one_hot(i, w.shape[1], dtype=w.dtype), axis=1)


@picked.jvp
def _(w, i, dw):
    return jnp.sum(2 * w * dw * jax.nn.one_hot(i, w.shape[1], dtype=w.dtype), axis=1)


@picked.vjp
def _(w, i, seed):
    return 2 * w * where(jnp.arange(w.shape[1])[None, :] == i[:, None], seed[:, None], 0.0)


@op("n+2, :int -> 2", registry=rules)
def sliding_pair(x, at):
    """Two squared entries at a place that is a value."""
    y = lax.dynamic_slice(x, (at,), (2,))
    return y * y


@sliding_pair.jvp
def _(x, at, dx):
    return 2 * lax.dynamic_slice(x, (at,), (2,)) * lax.dynamic_slice(dx, (at,), (2,))


@sliding_pair.vjp
def _(x, at, seed):
    return lax.dynamic_update_slice(jnp.zeros_like(x), 2 * lax.dynamic_slice(x, (at,), (2,)) * seed, (at,))


@op("n+2, :int, 2 -> n+2", registry=rules)
def written_pair(x, at, u):
    """Two entries replaced by squares."""
    return lax.dynamic_update_slice(x, u * u, (at,))


@written_pair.jvp
def _(x, at, u, dx, du):
    return lax.dynamic_update_slice(dx, 2 * u * du, (at,))


@written_pair.vjp
def _(x, at, u, seed):
    return (
        lax.dynamic_update_slice(seed, jnp.zeros_like(u), (at,)),
        2 * u * lax.dynamic_slice(seed, (at,), (2,)),
    )


# row-major order


@op("n d -> n*d", registry=rules)
def flattened(x):
    """The squares in row-major order."""
    return (x * x).reshape(-1)


@flattened.jvp
def _(x, dx):
    return (2 * x * dx).reshape(-1)


@flattened.vjp
def _(x, seed):
    return 2 * x * seed.reshape(x.shape)


@op("n h*d, h d -> h n d", registry=rules)
def heads(x, w):
    """Columns in groups, each weighted."""
    return x.reshape(x.shape[0], *w.shape).transpose(1, 0, 2) * w[:, None, :]


@heads.jvp
def _(x, w, dx, dw):
    moved, moving = (z.reshape(x.shape[0], *w.shape).transpose(1, 0, 2) for z in (x, dx))
    return moving * w[:, None, :] + moved * dw[:, None, :]


@heads.vjp
def _(x, w, seed):
    moved = x.reshape(x.shape[0], *w.shape).transpose(1, 0, 2)
    return (seed * w[:, None, :]).transpose(1, 0, 2).reshape(x.shape), jnp.sum(seed * moved, axis=1)


@op("n -> 3*n", registry=rules)
def thrice(x):
    """The squares, three times in a row."""
    return jnp.tile(x * x, 3)


@thrice.jvp
def _(x, dx):
    return jnp.tile(2 * x * dx, 3)


@thrice.vjp
def _(x, seed):
    return 2 * x * seed.reshape(3, -1).sum(axis=0)


# recurrences


def _states(x: Any, h0: Any, w: Any) -> Any:
    def step(h, row):
        h = jnp.tanh(w * h + row)
        return h, h

    return lax.scan(step, h0, x)[1]


@op("n m, m, m -> n m", registry=rules)
def recurrent(x, h0, w):
    """tanh(w·h + x) over the rows, all states."""
    return _states(x, h0, w)


@recurrent.jvp
def _(x, h0, w, dx, dh0, dw):
    return jax.jvp(_states, (x, h0, w), (dx, dh0, dw))[1]


@recurrent.vjp
def _(x, h0, w, seed):
    hs = _states(x, h0, w)
    before = jnp.concatenate([h0[None], lax.slice_in_dim(hs, 0, -1)])

    def back(carry, row):
        g, dw = carry
        h, old, seed_t = row
        dz = (g + seed_t) * (1 - h * h)
        return (w * dz, dw + dz * old), dz

    (g, dw), dx = lax.scan(back, (jnp.zeros_like(h0), jnp.zeros_like(h0)), (hs, before, seed), reverse=True)
    return dx, g, dw
