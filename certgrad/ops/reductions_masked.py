"""Sums and means of the entries that a mask keeps."""

import jax.numpy as jnp

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops._reduce import spread, takes_any_axes

_OVER_AXES = case("*a *n *b *m *c, *a *n *b *m *c:bool -> *a *b *c", axis=axis_of("*n", "*m"))


@takes_any_axes
@op(_OVER_AXES, source="jnp.sum with where")
def masked_sum(x, mask, *, axis=None, keepdims=False):
    """Sum over one axis, several or all, of the entries where the mask is set."""
    return jnp.sum(jnp.where(mask, x, 0), axis=axis)


@masked_sum.jvp
def _(x, mask, dx, *, axis):
    return jnp.sum(jnp.where(mask, dx, 0), axis=axis)


@masked_sum.vjp
def _(x, mask, seed, *, axis):
    return jnp.where(mask, spread(seed, x, axis), 0)


@takes_any_axes
@op(_OVER_AXES, source="jnp.mean with where, which is nan where nothing is kept; here it is 0")
def masked_mean(x, mask, *, axis=None, keepdims=False):
    """Mean over one axis, several or all, of the entries where the mask is set; 0 where it is set nowhere."""
    return jnp.sum(jnp.where(mask, x, 0), axis=axis) / _mask_count_or_one(x, mask, axis)


def _mask_count_or_one(x, mask, axis):
    return jnp.maximum(jnp.sum(mask.astype(x.dtype), axis=axis), 1)


@masked_mean.jvp
def _(x, mask, dx, *, axis):
    return jnp.sum(jnp.where(mask, dx, 0), axis=axis) / _mask_count_or_one(x, mask, axis)


@masked_mean.vjp
def _(x, mask, seed, *, axis):
    return jnp.where(mask, spread(seed / _mask_count_or_one(x, mask, axis), x, axis), 0)
