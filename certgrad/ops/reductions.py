"""Reductions over one axis, several or all."""

from math import prod

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops._shapes import expand

AXES = (
    case("*s -> ", axis=None, keepdims=False),
    case("*a n *c -> *a *c", axis=axis_of("n"), keepdims=False),
    case("*a n *c -> *a 1 *c", axis=axis_of("n"), keepdims=True),
    case("*a n *b m *c -> *a *b *c", axis=axis_of("n", "m"), keepdims=False),
    case("*a n *b m *c -> *a 1 *b 1 *c", axis=axis_of("n", "m"), keepdims=True),
    case("*a n *b m *c k *d -> *a *b *c *d", axis=axis_of("n", "m", "k"), keepdims=False),
    case("*a n *b m *c k *d -> *a 1 *b 1 *c 1 *d", axis=axis_of("n", "m", "k"), keepdims=True),
)


@op(
    *AXES,
    integers=True,
    like="jax.numpy.sum",
    torch="torch.sum",
    source="Linear: the cotangent of every entry is the seed of its sum",
)
def reduce_sum(x, *, axis=None, keepdims=False):
    """Sum over one axis, up to three axes, or all."""
    return jnp.sum(x, axis=axis, keepdims=keepdims)


@reduce_sum.jvp
def _(x, dx, *, axis, keepdims):
    return jnp.sum(dx, axis=axis, keepdims=keepdims)


@reduce_sum.vjp
def _(x, seed, *, axis, keepdims):
    return _repeat(seed, x.shape, axis, keepdims)


def count(x, axis):
    """The number of entries that a reduction over the axes takes together."""
    return prod(x.shape[i] for i in _axes(x.shape, axis))


def _axes(shape, axis):
    if axis is None:
        return _all(shape)
    return _counted_from_the_left((axis,) if isinstance(axis, int) else axis, shape)


def _all(shape):
    return tuple(range(len(shape)))


def _counted_from_the_left(axes, shape):
    return tuple(i % len(shape) for i in axes)


def _repeat(seed, shape, axis, keepdims):
    """The transpose of a sum: `seed` repeated along the axes that were summed over."""
    axes = _axes(shape, axis)
    seed = jnp.squeeze(seed, axis=axes) if keepdims else seed
    return lax.broadcast_in_dim(seed, shape, sorted(set(_all(shape)) - set(axes)))


@op(
    *AXES,
    like="jax.numpy.mean",
    torch="torch.mean",
    source="Linear: the cotangent of every entry is the seed divided by the number of entries",
)
def mean(x, *, axis=None, keepdims=False):
    """Mean over one axis, up to three axes, or all."""
    return jnp.mean(x, axis=axis, keepdims=keepdims)


@mean.jvp
def _(x, dx, *, axis, keepdims):
    return jnp.mean(dx, axis=axis, keepdims=keepdims)


@mean.vjp
def _(x, seed, *, axis, keepdims):
    return _repeat(seed / count(x, axis), x.shape, axis, keepdims)


@op(*AXES, like="jax.scipy.special.logsumexp", torch="torch.logsumexp", source="The derivative is the softmax")
def logsumexp(x, *, axis=None, keepdims=False):
    """log(sum(exp(x))) over one axis, up to three axes, or all, computed after a shift by the maximum."""
    return _logsumexp(x, axis, keepdims)[0]


def _logsumexp(x, axis, keepdims):
    """The value, and its derivative: the softmax over the reduced axes."""
    top = lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    z = jnp.exp(x - top)
    total = jnp.sum(z, axis=axis, keepdims=True)
    value = jnp.log(total) + top
    return value if keepdims else jnp.squeeze(value, axis=axis), z / total


@logsumexp.fwd
def _(x, *, axis, keepdims):
    return _logsumexp(x, axis, keepdims)


@logsumexp.jvp
def _(p, dx, *, axis, keepdims):
    return jnp.sum(p * dx, axis=axis, keepdims=keepdims)


@logsumexp.vjp
def _(p, seed, *, axis, keepdims):
    return p * expand(seed, axis, keepdims)
