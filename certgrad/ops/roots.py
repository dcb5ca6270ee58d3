"""Roots and functions made of them, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.numpy.sqrt",
    torch="torch.sqrt",
    torch_at={"x = 0": "inf", "x < 0": "nan"},
    convention={"x = 0": "0", "x < 0": "0"},
    source="TorchLean's sqrt: the root of max(x, 0), with derivative 0 where x <= 0; JAX and PyTorch return inf at 0",
)
def sqrt(x):
    """Square root of max(x, 0), elementwise."""
    return jnp.sqrt(jnp.maximum(x, 0))


@sqrt.jvp
def _(x, dx):
    positive = x > 0
    return jnp.where(positive, dx / (2 * jnp.sqrt(jnp.where(positive, x, 1))), 0)


@sqrt.vjp
def _(x, seed):
    positive = x > 0
    return jnp.where(positive, seed / (2 * jnp.sqrt(jnp.where(positive, x, 1))), 0)
