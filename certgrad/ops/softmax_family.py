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
    source="With s = softmax(x), the derivative along dx is dx - sum(s * dx)",
)
def log_softmax(x, *, axis=-1):
    """Logarithm of the softmax along one axis: x - log(sum(exp(x))), computed after a shift by the maximum."""
    shifted = x - lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=axis, keepdims=True))


@log_softmax.fwd
def _(x, *, axis):
    y = log_softmax.forward(x, axis=axis)
    return y, y


@log_softmax.jvp
def _(y, dx, *, axis):
    return dx - jnp.sum(jnp.exp(y) * dx, axis=axis, keepdims=True)


@log_softmax.vjp
def _(y, seed, *, axis):
    return seed - jnp.exp(y) * jnp.sum(seed, axis=axis, keepdims=True)
