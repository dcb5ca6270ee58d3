"""Rows of a table, chosen by integers or by weights over the rows."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op(
    "*b:int, v d -> *b d",
    torch="torch.nn.functional.embedding",
    source="The cotangent adds the seeds of equal indices",
)
def embedding(indices, weight):
    """Rows of the table `weight` at integer indices; negative ones count from the end, others are clipped to a row."""
    return weight.at[indices].get(mode="clip")


@embedding.jvp
def _(indices, weight, dweight):
    return dweight.at[indices].get(mode="clip")


@embedding.vjp
def _(indices, weight, seed):
    return jnp.zeros_like(weight).at[indices].add(seed, mode="clip")


@op("*b v, v d -> *b d", source="The product of one-hot rows, or of any weights over the rows, with the table")
def embedding_one_hot(one_hot, weight):
    """Sums of the rows of the table, weighted by the entries of `one_hot` along its last axis."""
    return jnp.matmul(one_hot, weight)


@embedding_one_hot.jvp
def _(one_hot, weight, done_hot, dweight):
    return jnp.matmul(done_hot, weight) + jnp.matmul(one_hot, dweight)


@embedding_one_hot.vjp
def _(one_hot, weight, seed):
    rows = tuple(range(seed.ndim - 1))
    return jnp.matmul(seed, weight.T), jnp.tensordot(one_hot, seed, axes=(rows, rows))
