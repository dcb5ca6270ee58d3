"""Solutions of matrix equations, inverses, logarithms of determinants and Cholesky factors.

Each is the solution of an equation; its derivative is the solution of the differentiated equation.
"""

from math import prod

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap


def takes_stacks(op):
    """Declare that calls of the op take matrices with any leading axes, which are brought to one and back.

    As in numpy, a right-hand side of rank 1 is a vector, and one of a higher rank holds matrices.
    """

    @op.several
    def _(*args, **kwargs):
        bound = op.__signature__.bind(*args, **kwargs)
        statics = {name: value for name, value in bound.arguments.items() if name in op.statics}
        a, *right_sides = arrays = [jnp.asarray(bound.arguments[name]) for name in op.arg_names]
        vector = any(x.ndim == 1 for x in right_sides)
        stacks = [x[:, None] if x.ndim == 1 else x for x in arrays]
        batch = a.shape[:-2]
        if any(x.ndim < 2 or x.shape[:-2] != batch for x in stacks) or (vector and batch):
            shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(op.arg_names, arrays, strict=True))
            raise ValueError(
                f"{op.name}: {shapes} are no square matrices and right-hand sides with equal leading axes."
            )
        flat = [jnp.reshape(x, (prod(batch), *x.shape[-2:])) for x in stacks]
        value = jax.tree.map(lambda y: jnp.reshape(y, (*batch, *y.shape[1:])), op.call_case(*flat, **statics))
        return jnp.squeeze(value, -1) if vector else value

    return op


@takes_stacks
@op(
    "b n n, b n m -> b n m",
    like="jax.numpy.linalg.solve",
    torch="torch.linalg.solve",
    source="Giles 2008: a dx = db - da x; the cotangents are g = a⁻ᵀ seed and -g xᵀ",
    magnitudes=Magnitudes(most=1 / 2),
)
def solve(a, b):
    """The x with a x = b, for square matrices a that have an inverse; b a matrix, or a vector."""
    return jnp.linalg.solve(a, b)


@solve.fwd
def _(a, b):
    # Linear in b: the map that linearize returns holds the factors of a, which both rules use again.
    x, again = jax.linearize(lambda b: jnp.linalg.solve(a, b), b)
    return x, (x, again)


@solve.jvp
def _(residuals, da, db):
    x, again = residuals
    return again(db - matmul_stacks(da, x))


@solve.vjp
def _(residuals, seed):
    x, again = residuals
    (g,) = jax.linear_transpose(again, x)(seed)
    return -matmul_stacks(g, swap(x)), g


@takes_stacks
@op(
    "b n n -> b n n",
    like="jax.numpy.linalg.inv",
    torch="torch.linalg.inv",
    aliases=("matrix_inverse",),
    source="Giles 2008: dy = -y da y, and the cotangent is -yᵀ seed yᵀ",
)
def inverse(a):
    """Inverses of square matrices, the last two axes."""
    return jnp.linalg.inv(a)


@inverse.fwd
def _(a):
    y = jnp.linalg.inv(a)
    return y, y


@inverse.jvp
def _(y, da):
    return -matmul_stacks(matmul_stacks(y, da), y)


@inverse.vjp
def _(y, seed):
    return -matmul_stacks(matmul_stacks(swap(y), seed), swap(y))


@takes_stacks
@op(
    "b n n -> b, b",
    like="jax.numpy.linalg.slogdet",
    torch="torch.linalg.slogdet",
    source="Jacobi: d log|det(a)| = tr(a⁻¹ da), and the sign does not move",
)
def slogdet(a):
    """The sign of the determinant, and the logarithm of its absolute value, of square matrices with an inverse."""
    return tuple(jnp.linalg.slogdet(a))


@slogdet.fwd
def _(a):
    return tuple(jnp.linalg.slogdet(a)), jnp.linalg.inv(a)


@slogdet.jvp
def _(inverse, da):
    logarithm = jnp.sum(swap(inverse) * da, axis=(-2, -1))
    return jnp.zeros_like(logarithm), logarithm


@slogdet.vjp
def _(inverse, seed_sign, seed_logarithm):
    return seed_logarithm[..., None, None] * swap(inverse)


@takes_stacks
@op(
    "b n n -> b n n",
    like="jax.numpy.linalg.cholesky",
    torch="torch.linalg.cholesky",
    source="Murray 2016: dl = l Φ(l⁻¹ ds l⁻ᵀ), Φ the lower triangle with half of the diagonal; as JAX, s is (a + aᵀ)/2",
)
def cholesky(a):
    """The lower triangular l with a positive diagonal and l lᵀ = (a + aᵀ)/2, for positive definite matrices."""
    return jnp.linalg.cholesky(a)


def _solved(a, b, lower=True, trans=0, unit_diagonal=False):
    """Return the x with a x = b, or aᵀ x = b if `trans`, for stacks of triangular matrices a."""
    return lax.linalg.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=bool(trans), unit_diagonal=unit_diagonal
    )


def _lower_half(x):
    """Return the lower triangle of each matrix, with half of its diagonal."""
    return jnp.tril(x) - jnp.eye(x.shape[-1], dtype=x.dtype) * x / 2


@cholesky.fwd
def _(a):
    y = jnp.linalg.cholesky(a)
    return y, y


@cholesky.jvp
def _(y, da):
    left = _solved(y, (da + swap(da)) / 2)
    both = _solved(y, swap(left))
    return matmul_stacks(y, _lower_half(swap(both)))


@cholesky.vjp
def _(y, seed):
    inner = _lower_half(matmul_stacks(swap(y), seed))
    left = _solved(y, inner, trans=1)
    both = swap(_solved(y, swap(left), trans=1))
    return (both + swap(both)) / 2


@takes_stacks
@op(
    *(
        case("b n n, b n m -> b n m", lower=lower, trans=trans, unit_diagonal=unit)
        for lower in (False, True)
        for trans in (0, 1)
        for unit in (False, True)
    ),
    like="jax.scipy.linalg.solve_triangular",
    torch="torch.linalg.solve_triangular",
    aliases=("solve_triangular",),
    source="As solve; only the triangle that is read has a cotangent",
    magnitudes=Magnitudes(least=1 / 4),
)
def triangular_solve(a, b, *, trans=0, lower=False, unit_diagonal=False):
    """The x with a x = b (trans=0) or aᵀ x = b (trans=1), where a is the upper or lower triangle of a matrix."""
    return _solved(a, b, lower, trans, unit_diagonal)


@triangular_solve.fwd
def _(a, b, *, trans, lower, unit_diagonal):
    x = triangular_solve.forward(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)
    return x, (a, x)


def _triangle(x, lower, unit_diagonal):
    inner = jnp.tril(x, -1 if unit_diagonal else 0)
    return inner if lower else jnp.triu(x, 1 if unit_diagonal else 0)


@triangular_solve.jvp
def _(residuals, da, db, *, trans, lower, unit_diagonal):
    a, x = residuals
    da = _triangle(da, lower, unit_diagonal)
    moved = matmul_stacks(swap(da) if trans else da, x)
    return triangular_solve.forward(a, db - moved, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


@triangular_solve.vjp
def _(residuals, seed, *, trans, lower, unit_diagonal):
    a, x = residuals
    g = triangular_solve.forward(a, seed, trans=1 - trans, lower=lower, unit_diagonal=unit_diagonal)
    return -_triangle(matmul_stacks(x, swap(g)) if trans else matmul_stacks(g, swap(x)), lower, unit_diagonal), g
