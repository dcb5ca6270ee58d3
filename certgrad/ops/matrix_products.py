"""Products of vectors and matrices: inner, outer, bilinear, Kronecker; traces and diagonals."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap


@op(
    "n, n -> ",
    "*b k, k -> *b",
    "*b n k, k m -> *b n m",
    integers=True,
    like="jax.numpy.dot",
    torch="torch.dot",
    source="numpy.dot, of a vector or a matrix on the right",
)
def dot(a, b):
    """Sum over the last axis of a and the first of b, a vector or a matrix."""
    return jnp.dot(a, b)


@dot.jvp
def _(a, b, da, db):
    return jnp.dot(da, b) + jnp.dot(a, db)


@dot.vjp
def _(a, b, seed):
    rows = tuple(range(a.ndim - 1))
    if b.ndim == 1:
        return jnp.expand_dims(seed, -1) * b, jnp.tensordot(seed, a, axes=(rows, rows))
    return jnp.matmul(seed, b.T), jnp.tensordot(a, seed, axes=(rows, rows))


@op("*s, *s -> ", integers=True, like="jax.numpy.vdot", torch="torch.vdot", source="The product rule")
def vdot(a, b):
    """Sum of the products of the entries of two arrays of one shape."""
    return jnp.sum(a * b)


@vdot.jvp
def _(a, b, da, db):
    return jnp.sum(da * b + a * db)


@vdot.vjp
def _(a, b, seed):
    return seed * b, seed * a


@op(
    "*b n, *b n -> *b",
    integers=True,
    like="jax.numpy.linalg.vecdot",
    torch="torch.linalg.vecdot",
    source="numpy 2.0",
    magnitudes=Magnitudes(most=1 / 4),
)
def vecdot(x1, x2):
    """Inner products of the vectors along the last axis, one by one."""
    return jnp.sum(x1 * x2, axis=-1)


@vecdot.jvp
def _(x1, x2, dx1, dx2):
    return jnp.sum(dx1 * x2 + x1 * dx2, axis=-1)


@vecdot.vjp
def _(x1, x2, seed):
    ct = jnp.expand_dims(seed, -1)
    return ct * x2, ct * x1


@op(
    "*a n, *b n -> *a *b",
    integers=True,
    like="jax.numpy.inner",
    torch="torch.inner",
    source="The product rule",
)
def inner(a, b):
    """Inner products of every vector along the last axis of a with every one of b."""
    return jnp.inner(a, b)


@inner.jvp
def _(a, b, da, db):
    return jnp.inner(da, b) + jnp.inner(a, db)


@inner.vjp
def _(a, b, seed):
    first, second = tuple(range(a.ndim - 1)), tuple(range(b.ndim - 1))
    of_b = tuple(range(a.ndim - 1, seed.ndim))
    return jnp.tensordot(seed, b, axes=(of_b, second)), jnp.tensordot(seed, a, axes=(first, first))


@op("n, m -> n m", integers=True, like="jax.numpy.outer", torch="torch.outer", source="The product rule")
def outer(a, b):
    """Products of every entry of a vector with every one of another."""
    return a[:, None] * b[None, :]


@outer.jvp
def _(a, b, da, db):
    return da[:, None] * b[None, :] + a[:, None] * db[None, :]


@outer.vjp
def _(a, b, seed):
    return jnp.matmul(seed, b), jnp.matmul(a, seed)


@op(
    "*b n k, *b k -> *b n",
    "n k, *b k -> *b n",
    integers=True,
    like="jax.numpy.matvec",
    torch="torch.mv",
    source="numpy 2.2",
)
def matvec(x1, x2):
    """Products of matrices with vectors, one by one, or of one matrix with all vectors."""
    return jnp.matvec(x1, x2)


@matvec.jvp
def _(x1, x2, dx1, dx2):
    return jnp.matvec(dx1, x2) + jnp.matvec(x1, dx2)


@matvec.vjp
def _(x1, x2, seed):
    if x1.ndim == x2.ndim + 1:
        return jnp.expand_dims(seed, -1) * jnp.expand_dims(x2, -2), jnp.vecmat(seed, x1)
    rows = tuple(range(seed.ndim - 1))
    return jnp.tensordot(seed, x2, axes=(rows, rows)), jnp.matmul(seed, x1)


@op(
    "*b k, *b k n -> *b n",
    "*b k, k n -> *b n",
    integers=True,
    like="jax.numpy.vecmat",
    source="numpy 2.2, of real vectors",
)
def vecmat(x1, x2):
    """Products of vectors with matrices, one by one, or of all vectors with one matrix."""
    return jnp.vecmat(x1, x2)


@vecmat.jvp
def _(x1, x2, dx1, dx2):
    return jnp.vecmat(dx1, x2) + jnp.vecmat(x1, dx2)


@vecmat.vjp
def _(x1, x2, seed):
    if x2.ndim == x1.ndim + 1:
        return jnp.matvec(x2, seed), jnp.expand_dims(x1, -1) * jnp.expand_dims(seed, -2)
    rows = tuple(range(seed.ndim - 1))
    return jnp.matmul(seed, x2.T), jnp.tensordot(x1, seed, axes=(rows, rows))


@op(
    "n m, p q -> n*p m*q",
    "n, p -> n*p",
    integers=True,
    like="jax.numpy.kron",
    torch="torch.kron",
    source="Van Loan 2000; block (i, j) is a[i, j] * b",
)
def kron(a, b):
    """Kronecker product of two matrices, or of two vectors."""
    return _kron(a, b)


def _kron(a, b):
    if a.ndim == 1:
        return jnp.reshape(a[:, None] * b[None, :], (a.shape[0] * b.shape[0],))
    blocks = a[:, None, :, None] * b[None, :, None, :]
    return jnp.reshape(blocks, (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


@kron.jvp
def _(a, b, da, db):
    return _kron(da, b) + _kron(a, db)


@kron.vjp
def _(a, b, seed):
    if a.ndim == 1:
        blocks = jnp.reshape(seed, (a.shape[0], b.shape[0]))
        return jnp.matmul(blocks, b), jnp.matmul(a, blocks)
    blocks = jnp.reshape(seed, (a.shape[0], b.shape[0], a.shape[1], b.shape[1]))
    # Sums of products read the seed once, in its own order; a contraction would first transpose it.
    return jnp.sum(blocks * b[None, :, None, :], axis=(1, 3)), jnp.sum(blocks * a[:, None, :, None], axis=(0, 2))


@op(
    "*b n n -> *b",
    integers=True,
    like="jax.numpy.linalg.trace",
    torch="torch.trace",
    source="Linear: the cotangent is the seed times the identity",
)
def trace(x):
    """Sum of the diagonal of square matrices, the last two axes."""
    return jnp.sum(jnp.where(_diagonal_of(x), x, 0), axis=(-2, -1))


def _diagonal_of(x):
    return jnp.eye(x.shape[-1], dtype=bool)


@trace.jvp
def _(x, dx):
    return jnp.sum(jnp.where(_diagonal_of(x), dx, 0), axis=(-2, -1))


@trace.vjp
def _(x, seed):
    return jnp.where(_diagonal_of(x), seed[..., None, None], 0)


@op(
    "*b n, m n k, *b k -> *b m",
    torch="torch.nn.functional.bilinear",
    source="torch.nn.functional.bilinear without its bias",
    magnitudes=Magnitudes(most=1 / 4),
)
def bilinear(x1, weight, x2):
    """x1ᵀ weight[m] x2 for each m: linear in each of the three."""
    return _bilinear(x1, weight, x2)


def _bilinear(x1, weight, x2):
    return jnp.einsum("...mk,...k->...m", jnp.tensordot(x1, weight, axes=(-1, 1)), x2)


@bilinear.jvp
def _(x1, weight, x2, dx1, dweight, dx2):
    return _bilinear(dx1, weight, x2) + _bilinear(x1, dweight, x2) + _bilinear(x1, weight, dx2)


@bilinear.vjp
def _(x1, weight, x2, seed):
    rows = tuple(range(seed.ndim - 1))
    back = jnp.tensordot(seed, weight, axes=(-1, 0))
    left = jnp.matmul(back, x2[..., None])[..., 0]
    right = jnp.matmul(swap(back), x1[..., None])[..., 0]
    pairs = x1[..., :, None] * x2[..., None, :]
    return left, jnp.tensordot(seed, pairs, axes=(rows, rows)), right


@op(
    "*b n, n n -> *b",
    source="d xᵀAx = dxᵀ (A + Aᵀ) x + xᵀ dA x; A need not be symmetric",
    magnitudes=Magnitudes(most=1 / 4),
)
def quadratic_form(x, a):
    """xᵀ a x for every vector x along the last axis."""
    return jnp.sum(jnp.matmul(x, a) * x, axis=-1)


@quadratic_form.jvp
def _(x, a, dx, da):
    return jnp.sum((jnp.matmul(x, a) + jnp.matmul(x, a.T)) * dx + jnp.matmul(x, da) * x, axis=-1)


@quadratic_form.vjp
def _(x, a, seed):
    rows = tuple(range(seed.ndim))
    scaled = seed[..., None] * x
    return jnp.matmul(scaled, a) + jnp.matmul(scaled, a.T), jnp.tensordot(x, scaled, axes=(rows, rows))


@op("*b n d -> *b n n", source="d(x xᵀ) = dx xᵀ + x dxᵀ; the cotangent is (seed + seedᵀ) x")
def gram_matrix(x):
    """Inner products of all rows: x xᵀ."""
    return matmul_stacks(x, swap(x))


@gram_matrix.jvp
def _(x, dx):
    return matmul_stacks(dx, swap(x)) + matmul_stacks(x, swap(dx))


@gram_matrix.vjp
def _(x, seed):
    return matmul_stacks(seed + swap(seed), x)


@op(
    "a b, b c, c d -> a d",
    integers=True,
    like="jax.numpy.linalg.multi_dot",
    torch="torch.linalg.multi_dot",
    source="The product rule; of three matrices, multiplied from the left",
    magnitudes=Magnitudes(most=1 / 4),
)
def multi_dot(a, b, c):
    """Product of three matrices."""
    return jnp.matmul(jnp.matmul(a, b), c)


@multi_dot.jvp
def _(a, b, c, da, db, dc):
    return jnp.matmul(jnp.matmul(da, b) + jnp.matmul(a, db), c) + jnp.matmul(jnp.matmul(a, b), dc)


@multi_dot.vjp
def _(a, b, c, seed):
    back = jnp.matmul(seed, c.T)
    return jnp.matmul(back, b.T), jnp.matmul(a.T, back), jnp.matmul(jnp.matmul(a, b).T, seed)
