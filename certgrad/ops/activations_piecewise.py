"""Activations with a kink or a seam, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op(
    "*s -> *s",
    domain="x != 0",
    integers=True,
    like="jax.nn.relu",
    torch="torch.nn.functional.relu",
    torch_at={"x = 0": "0"},
    convention={"x = 0": "0"},
)
def relu(x):
    """The positive part max(x, 0), elementwise."""
    return jnp.maximum(x, 0)


@relu.jvp
def _(x, dx):
    return jnp.where(x > 0, dx, 0)


@relu.vjp
def _(x, seed):
    return jnp.where(x > 0, seed, 0)
