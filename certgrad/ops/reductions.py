"""Sums and means over one axis, several or all."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._reduce import OVER_AXES, count, spread, takes_any_axes, weighted_spread, weighted_sum


@takes_any_axes
@op(
    OVER_AXES,
    integers=True,
    like="jax.numpy.sum",
    torch="torch.sum",
    source="Linear: the cotangent of every entry is the seed of its sum",
)
def reduce_sum(x, *, axis=None, keepdims=False):
    """Sum over one axis, several or all."""
    return jnp.sum(x, axis=axis)


@reduce_sum.jvp
def _(x, dx, *, axis):
    return jnp.sum(dx, axis=axis)


@reduce_sum.vjp
def _(x, seed, *, axis):
    return spread(seed, x, axis)


@takes_any_axes
@op(
    OVER_AXES,
    like="jax.numpy.mean",
    torch="torch.mean",
    source="Linear: the cotangent of every entry is the seed divided by the number of entries",
)
def mean(x, *, axis=None, keepdims=False):
    """Mean over one axis, several or all."""
    return jnp.mean(x, axis=axis)


@mean.jvp
def _(x, dx, *, axis):
    return jnp.mean(dx, axis=axis)


@mean.vjp
def _(x, seed, *, axis):
    return spread(seed / count(x, axis), x, axis)


@takes_any_axes
@op(
    OVER_AXES,
    like="jax.scipy.special.logsumexp",
    torch="torch.logsumexp",
    source="The derivative is the softmax",
)
def logsumexp(x, *, axis=None, keepdims=False):
    """log(sum(exp(x))) over one axis, several or all, computed after a shift by the maximum."""
    return _logsumexp(x, axis)[0]


def _logsumexp(x, axis):
    """Return logsumexp over the axes, and its derivative: the softmax over them."""
    top = lax.stop_gradient(jnp.max(x, axis=axis))
    z = jnp.exp(x - spread(top, x, axis))
    total = jnp.sum(z, axis=axis)
    return jnp.log(total) + top, z / spread(total, x, axis)


@logsumexp.fwd
def _(x, *, axis):
    return _logsumexp(x, axis)


logsumexp.jvp(weighted_sum)
logsumexp.vjp(weighted_spread)


@takes_any_axes
@op(
    OVER_AXES,
    like="jax.nn.logmeanexp",
    source="logsumexp less log(n): the derivative is the softmax",
)
def logmeanexp(x, *, axis=None, keepdims=False):
    """log(mean(exp(x))) over one axis, several or all, computed after a shift by the maximum."""
    return _logsumexp(x, axis)[0] - jnp.log(jnp.asarray(count(x, axis), x.dtype))


@logmeanexp.fwd
def _(x, *, axis):
    value, p = _logsumexp(x, axis)
    return value - jnp.log(jnp.asarray(count(x, axis), x.dtype)), p


logmeanexp.jvp(weighted_sum)
logmeanexp.vjp(weighted_spread)
