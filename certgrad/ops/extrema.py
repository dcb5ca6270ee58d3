"""Extrema over one axis, several or all. Entries that tie share the derivative equally, as in JAX."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._reduce import OVER_AXES, spread, takes_any_axes, weighted_spread, weighted_sum


def _maximum(x, axis):
    """Return the maximum over the axis, and the derivative by each entry: equal largest entries share it."""
    top = jnp.max(x, axis=axis)
    return top, _share(x, top, axis)


def _minimum(x, axis):
    low = jnp.min(x, axis=axis)
    return low, _share(x, low, axis)


def _share(x, extremum, axis):
    hit = (x == spread(extremum, x, axis)).astype(x.dtype)
    return hit / spread(jnp.sum(hit, axis=axis), x, axis)


@takes_any_axes
@op(
    OVER_AXES,
    integers=True,
    like="jax.numpy.max",
    torch="torch.amax",
    source="The derivative belongs to the largest entry; ties share it equally, as in JAX and PyTorch",
)
def amax(x, *, axis=None, keepdims=False):
    """Maximum over one axis, several or all."""
    return jnp.max(x, axis=axis)


@amax.fwd
def _(x, *, axis):
    return _maximum(x, axis)


amax.jvp(weighted_sum)
amax.vjp(weighted_spread)


@takes_any_axes
@op(
    OVER_AXES,
    integers=True,
    like="jax.numpy.min",
    torch="torch.amin",
    source="The derivative belongs to the smallest entry; ties share it equally, as in JAX and PyTorch",
)
def amin(x, *, axis=None, keepdims=False):
    """Minimum over one axis, several or all."""
    return jnp.min(x, axis=axis)


@amin.fwd
def _(x, *, axis):
    return _minimum(x, axis)


amin.jvp(weighted_sum)
amin.vjp(weighted_spread)


@takes_any_axes
@op(
    OVER_AXES,
    integers=True,
    like="jax.numpy.ptp",
    source="The derivative of the maximum less that of the minimum; ties share equally, as in JAX",
)
def ptp(x, *, axis=None, keepdims=False):
    """Maximum less minimum over one axis, several or all."""
    return jnp.max(x, axis=axis) - jnp.min(x, axis=axis)


@ptp.fwd
def _(x, *, axis):
    top, above = _maximum(x, axis)
    low, below = _minimum(x, axis)
    return top - low, above - below


ptp.jvp(weighted_sum)
ptp.vjp(weighted_spread)
