"""Matrix products."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op("n k, k m -> n m", integers=True, like="jax.numpy.matmul", torch="torch.matmul")
def matmul(a, b):
    """Product of two matrices. `bmm` multiplies stacks of them."""
    return jnp.matmul(a, b)


@matmul.jvp
def _(a, b, da, db):
    return jnp.matmul(da, b) + jnp.matmul(a, db)


@matmul.vjp
def _(a, b, seed):
    return jnp.matmul(seed, b.T), jnp.matmul(a.T, seed)
