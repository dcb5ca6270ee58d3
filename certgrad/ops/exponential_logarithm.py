"""Exponentials and logarithms, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op("*s -> *s", like="jax.numpy.exp", torch="torch.exp")
def exp(x):
    """Exponential, elementwise."""
    return jnp.exp(x)


@exp.fwd
def _(x):
    y = jnp.exp(x)
    return y, y


@exp.jvp
def _(y, dx):
    return dx * y


@exp.vjp
def _(y, seed):
    return seed * y


@op("*s -> *s", domain="x > 0", like="jax.numpy.log", torch="torch.log")
def log(x):
    """Natural logarithm, elementwise. Outside of the domain the rules return dx / x, as JAX and PyTorch do."""
    return jnp.log(x)


@log.jvp
def _(x, dx):
    return dx / x


@log.vjp
def _(x, seed):
    return seed / x
