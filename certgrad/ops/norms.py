"""Norms of the entries along some axes."""

import jax.numpy as jnp

from certgrad.ops._declare import Case, op
from certgrad.ops._reduce import OVER_AXES, spread, takes_any_axes

_INF = float("inf")


@takes_any_axes
@op(
    *(Case(OVER_AXES.signature, {**OVER_AXES.statics, "ord": ord}) for ord in (2, 1, _INF)),
    like="jax.numpy.linalg.vector_norm",
    torch="torch.linalg.vector_norm",
    source="x / ‖x‖, sign(x), or the sign of the largest entry, which ties share; where x = 0 the rules return 0",
)
def norm(x, *, ord=2, axis=None, keepdims=False):
    """Norm of order 2, 1 or inf of the entries along one axis, several or all."""
    if ord == 2:
        return jnp.sqrt(jnp.sum(x * x, axis=axis))
    return jnp.sum(jnp.abs(x), axis=axis) if ord == 1 else jnp.max(jnp.abs(x), axis=axis)


@norm.fwd
def _(x, *, ord, axis):
    y = norm.forward(x, ord=ord, axis=axis)
    if ord == 2:
        return y, x / spread(jnp.where(y > 0, y, 1), x, axis)
    if ord == 1:
        return y, jnp.sign(x)
    hit = (jnp.abs(x) == spread(y, x, axis)).astype(x.dtype)
    return y, jnp.sign(x) * hit / spread(jnp.sum(hit, axis=axis), x, axis)


@norm.jvp
def _(slope, dx, *, axis):
    return jnp.sum(slope * dx, axis=axis)


@norm.vjp
def _(slope, seed, *, axis):
    return slope * spread(seed, slope, axis)
