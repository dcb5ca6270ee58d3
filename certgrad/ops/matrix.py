"""Matrix products."""

from string import ascii_letters

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_leading
from certgrad.ops._stacks import matmul_stacks, swap
from certgrad.ops.contractions import einsum


def _over_rows(a, b):
    """Return Σ a[.., i] b[.., j] over all leading axes: the cotangent of a matrix that all rows share."""
    rows = tuple(range(a.ndim - 1))
    return jnp.tensordot(a, b, axes=(rows, rows))


@op(
    "n k, k m -> n m",
    "*b n k, *b k m -> *b n m",
    "*b n k, k m -> *b n m",
    "n k, *b k m -> *b n m",
    "k, k -> ",
    "n k, k -> n",
    "k, k m -> m",
    integers=True,
    like="jax.numpy.matmul",
    torch="torch.matmul",
    source="d(a b) = da b + a db; the cotangents are seed bᵀ and aᵀ seed",
)
def matmul(a, b):
    """Product of matrices or vectors; leading axes are a batch, and broadcast."""
    return jnp.matmul(a, b)


@matmul.jvp
def _(a, b, da, db):
    return jnp.matmul(da, b) + jnp.matmul(a, db)


@matmul.vjp
def _(a, b, seed):
    if a.ndim == 1 and b.ndim == 1:
        return seed * b, seed * a
    if b.ndim == 1:
        return seed[:, None] * b, jnp.matmul(seed, a)
    if a.ndim == 1:
        return jnp.matmul(b, seed), a[:, None] * seed
    if b.ndim == 2:
        return jnp.matmul(seed, b.T), _over_rows(a, seed)
    return sum_leading(jnp.matmul(seed, swap(b)), a), jnp.matmul(swap(a), seed)


@matmul.several
def _(a, b):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if a.ndim < 3 or b.ndim < 3 or a.shape[:-2] == b.shape[:-2]:
        return matmul.call_case(a, b)
    # A batch axis of size 1, or one that is not there, becomes an axis of the other array alone.
    lead = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    names = ascii_letters[: len(lead)]
    (a, of_a), (b, of_b) = (_without_ones(x, names, lead) for x in (a, b))
    ones = "".join(name for name, size in zip(names, lead, strict=True) if size == 1)
    kept = "".join(name for name in names if name not in ones)
    value = einsum(f"{of_a}YX,{of_b}XZ->{kept}YZ", a, b)
    return jnp.reshape(value, (*lead, *value.shape[-2:])) if ones else value


def _without_ones(x, names, lead):
    """Return the array without its batch axes of size 1, and the labels of its other batch axes."""
    batch = x.ndim - 2
    ones = tuple(i for i in range(batch) if x.shape[i] == 1)
    labels = "".join(name for i, name in enumerate(names[len(lead) - batch :]) if i not in ones)
    return jnp.squeeze(x, ones), labels


@op(
    "*b n k, *b k m -> *b n m",
    integers=True,
    like="jax.numpy.matmul",
    torch="torch.bmm",
    source="d(a b) = da b + a db for each pair; the cotangents are seed bᵀ and aᵀ seed",
)
def bmm(a, b):
    """Product of two stacks of matrices, one by one."""
    return matmul_stacks(a, b)


@bmm.jvp
def _(a, b, da, db):
    return matmul_stacks(da, b) + matmul_stacks(a, db)


@bmm.vjp
def _(a, b, seed):
    return matmul_stacks(seed, swap(b)), matmul_stacks(swap(a), seed)


@op(
    "*b k, n k, n -> *b n",
    torch="torch.nn.functional.linear",
    source="The derivative is dx weightᵀ + x dweightᵀ + dbias",
)
def linear(x, weight, bias):
    """Affine map of the last axis: x · weightᵀ + bias."""
    return jnp.matmul(x, weight.T) + bias


@linear.jvp
def _(x, weight, bias, dx, dweight, dbias):
    return jnp.matmul(dx, weight.T) + jnp.matmul(x, dweight.T) + dbias


@linear.vjp
def _(x, weight, bias, seed):
    ct_bias = jnp.sum(seed, axis=tuple(range(seed.ndim - 1)))
    return jnp.matmul(seed, weight), _over_rows(seed, x), ct_bias
