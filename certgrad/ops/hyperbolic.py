"""Hyperbolic functions and their inverses, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op("*s -> *s", like="jax.numpy.tanh", torch="torch.tanh")
def tanh(x):
    """Hyperbolic tangent, elementwise."""
    return jnp.tanh(x)


@tanh.fwd
def _(x):
    y = jnp.tanh(x)
    return y, y


@tanh.jvp
def _(y, dx):
    return dx * (1 - y * y)


@tanh.vjp
def _(y, seed):
    return seed * (1 - y * y)
