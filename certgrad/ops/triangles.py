"""Matrices' triangles and diagonals."""

import jax.numpy as jnp

from certgrad.ops._declare import case, op

_BELOW = tuple(case("*b n m -> *b n m", k=k) for k in (0, -1, 1))


@op(*_BELOW, integers=True, like="jax.numpy.tril", torch="torch.tril", source="Linear: its own transpose")
def tril(x, *, k=0):
    """The matrices with zeros above the k-th diagonal."""
    return jnp.tril(x, k)


@tril.jvp
def _(x, dx, *, k):
    return jnp.tril(dx, k)


@tril.vjp
def _(x, seed, *, k):
    return jnp.tril(seed, k)


@op(*_BELOW, integers=True, like="jax.numpy.triu", torch="torch.triu", source="Linear: its own transpose")
def triu(x, *, k=0):
    """The matrices with zeros below the k-th diagonal."""
    return jnp.triu(x, k)


@triu.jvp
def _(x, dx, *, k):
    return jnp.triu(dx, k)


@triu.vjp
def _(x, seed, *, k):
    return jnp.triu(seed, k)


@op(
    "n n -> n",
    "n -> n n",
    integers=True,
    like="jax.numpy.diag",
    torch="torch.diag",
    source="Linear: its own transpose",
)
def diag(x):
    """The diagonal of a square matrix, or the diagonal matrix with these entries."""
    return jnp.diag(x)


@diag.jvp
def _(x, dx):
    return jnp.diag(dx)


@diag.vjp
def _(x, seed):
    return jnp.diag(seed)


@op(
    "*b n n -> *b n",
    integers=True,
    torch="torch.diagonal",
    source="Linear: the cotangent is the seed on the diagonal, zeros elsewhere",
)
def diagonal(x):
    """The diagonals of square matrices."""
    return jnp.sum(jnp.where(jnp.eye(x.shape[-1], dtype=bool), x, 0), axis=-1)


@diagonal.jvp
def _(x, dx):
    return diagonal.forward(dx)


@diagonal.vjp
def _(x, seed):
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), jnp.expand_dims(seed, -1), 0)


@op(
    "*b n -> *b n n",
    integers=True,
    torch="torch.diag_embed",
    source="Linear: the cotangent is the diagonal of the seed",
)
def diag_embed(x):
    """The diagonal matrices with the rows' entries."""
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), jnp.expand_dims(x, -1), 0)


@diag_embed.jvp
def _(x, dx):
    return diag_embed.forward(dx)


@diag_embed.vjp
def _(x, seed):
    return diagonal.forward(seed)
