"""The ops that the entry point `certgrad.ops` names: every op that this module declares."""

import jax.numpy as jnp

from certgrad import op


@op("*s -> *s", domain="x > 0", source="d/dx x·log x = log x + 1")
def xlogx(x):
    """x·log x, elementwise."""
    return x * jnp.log(x)


@xlogx.jvp
def _(x, dx):
    return (jnp.log(x) + 1) * dx


@xlogx.vjp
def _(x, seed):
    return (jnp.log(x) + 1) * seed
