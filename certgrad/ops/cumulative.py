"""Cumulative sums and extrema along one axis."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops.slicing import flip

_BOTH_WAYS = tuple(case("*a n *c -> *a n *c", axis=axis_of("n"), reverse=reverse) for reverse in (False, True))


@op(
    *_BOTH_WAYS,
    integers=True,
    like="jax.lax.cumsum",
    torch="torch.cumsum",
    source="Linear: the transpose sums from the other end",
)
def cumsum(x, *, axis, reverse=False):
    """Sums of the entries up to each one along an axis; from each one on, in reverse."""
    return lax.cumsum(x, axis, reverse)


@cumsum.jvp
def _(x, dx, *, axis, reverse):
    return lax.cumsum(dx, axis, reverse)


@cumsum.vjp
def _(x, seed, *, axis, reverse):
    return lax.cumsum(seed, axis, not reverse)


@op(
    *_BOTH_WAYS,
    like="jax.lax.cumlogsumexp",
    torch="torch.logcumsumexp",
    aliases=("logcumsumexp",),
    source="With y the value, dy[i] = sum over j <= i of exp(x[j] - y[i]) dx[j]",
)
def cumlogsumexp(x, *, axis, reverse=False):
    """log(sum(exp)) of the entries up to each one along an axis."""
    return lax.cumlogsumexp(x, axis, reverse)


@cumlogsumexp.fwd
def _(x, *, axis, reverse):
    y = lax.cumlogsumexp(x, axis, reverse)
    return y, (x, y)


def _weights(residuals, axis, reverse):
    """Return exp(x[j] - y[i]) where j <= i (j >= i if `reverse`), else 0; i is at `axis`, j at the axis after it."""
    x, y = residuals
    d = jnp.expand_dims(x, axis) - jnp.expand_dims(y, axis + 1)
    i = lax.broadcasted_iota(int, d.shape, axis)
    j = lax.broadcasted_iota(int, d.shape, axis + 1)
    return jnp.exp(jnp.where(j >= i if reverse else j <= i, d, -jnp.inf))


@cumlogsumexp.jvp
def _(residuals, dx, *, axis, reverse):
    return jnp.sum(_weights(residuals, axis, reverse) * jnp.expand_dims(dx, axis), axis=axis + 1)


@cumlogsumexp.vjp
def _(residuals, seed, *, axis, reverse):
    return jnp.sum(_weights(residuals, axis, reverse) * jnp.expand_dims(seed, axis + 1), axis=axis)


_ALONG = case("*a n *c -> *a n *c", axis=axis_of("n"))


def _shares(x, hit, axis):
    """Return the share of x[j] in the extremum at i that it hits: i is at `axis`, j at the axis after it."""
    ones = jnp.where(hit, jnp.expand_dims(jnp.ones_like(x), axis), 0)
    return ones / jnp.sum(ones, axis=axis + 1, keepdims=True)


def _up_to(x, axis, other):
    """Return x[j] where j <= i, and `other` where j comes after i: i is at `axis`, and j at the axis after it."""
    shape = (*x.shape[: axis + 1], *x.shape[axis:])
    i, j = (lax.broadcasted_iota(int, shape, k) for k in (axis, axis + 1))
    return jnp.where(j <= i, jnp.expand_dims(x, axis), other)


def takes_reverse(op):
    """Declare that calls of the op take `reverse`: from each entry on, by turning the axis around before and after."""

    @op.several
    def _(x, *, axis, reverse=False):
        return flip(op.call_case(flip(x, axis), axis=axis), axis) if reverse else op.call_case(x, axis=axis)

    return op


@takes_reverse
@op(
    _ALONG,
    integers=True,
    like="jax.lax.cummax",
    torch="torch.cummax",
    source="The derivative belongs to the largest entry so far; ties share it equally",
)
def cummax(x, *, axis):
    """Maxima of the entries up to each one along an axis; with reverse=True, from each one on."""
    return lax.cummax(x, axis)


@cummax.fwd
def _(x, *, axis):
    y = lax.cummax(x, axis)
    return y, _shares(x, _up_to(x, axis, -jnp.inf) >= jnp.expand_dims(y, axis + 1), axis)


@cummax.jvp
def _(shares, dx, *, axis):
    return jnp.sum(shares * jnp.expand_dims(dx, axis), axis=axis + 1)


@cummax.vjp
def _(shares, seed, *, axis):
    return jnp.sum(shares * jnp.expand_dims(seed, axis + 1), axis=axis)


@takes_reverse
@op(
    _ALONG,
    integers=True,
    like="jax.lax.cummin",
    torch="torch.cummin",
    source="The derivative belongs to the smallest entry so far; ties share it equally",
)
def cummin(x, *, axis):
    """Minima of the entries up to each one along an axis; with reverse=True, from each one on."""
    return lax.cummin(x, axis)


@cummin.fwd
def _(x, *, axis):
    y = lax.cummin(x, axis)
    return y, _shares(x, _up_to(x, axis, jnp.inf) <= jnp.expand_dims(y, axis + 1), axis)


@cummin.jvp
def _(shares, dx, *, axis):
    return jnp.sum(shares * jnp.expand_dims(dx, axis), axis=axis + 1)


@cummin.vjp
def _(shares, seed, *, axis):
    return jnp.sum(shares * jnp.expand_dims(seed, axis + 1), axis=axis)
