"""Softmax and its logarithm, along any axis."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    like="jax.nn.softmax",
    torch="torch.softmax",
    source="Bridle 1990; with s = softmax(x), ds = s * (dx - sum(s * dx))",
)
def softmax(x, *, axis=-1):
    """Softmax along one axis: exp(x) / sum(exp(x)), computed after a shift by the maximum."""
    z = jnp.exp(x - lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True)))
    return z / jnp.sum(z, axis=axis, keepdims=True)


@softmax.fwd
def _(x, *, axis):
    y = softmax.forward(x, axis=axis)
    return y, y


@softmax.jvp
def _(y, dx, *, axis):
    return y * (dx - jnp.sum(y * dx, axis=axis, keepdims=True))


@softmax.vjp
def _(y, seed, *, axis):
    return y * (seed - jnp.sum(y * seed, axis=axis, keepdims=True))


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    like="jax.nn.log_softmax",
    torch="torch.log_softmax",
    source="With s = softmax(x) = z / sum(z), the derivative along dx is dx - sum(s * dx)",
)
def log_softmax(x, *, axis=-1):
    """Logarithm of the softmax along one axis: x - log(sum(exp(x))), computed after a shift by the maximum."""
    return _log_softmax(x, axis)[0]


def _log_softmax(x, axis):
    """Return log-softmax, and (z, Σ z) for z = exp(x - max x)."""
    shifted = x - lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    z = jnp.exp(shifted)
    total = jnp.sum(z, axis=axis, keepdims=True)
    return shifted - jnp.log(total), (z, total)


@log_softmax.fwd
def _(x, *, axis):
    return _log_softmax(x, axis)


@log_softmax.jvp
def _(residuals, dx, *, axis):
    z, total = residuals
    return dx - jnp.sum(z * dx, axis=axis, keepdims=True) / total


@log_softmax.vjp
def _(residuals, seed, *, axis):
    z, total = residuals
    return seed - z * (jnp.sum(seed, axis=axis, keepdims=True) / total)
