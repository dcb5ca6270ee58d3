"""Linear systems and determinants of complex matrices, as those of real matrices of twice the size.

On the parts of z, one below the other, z ↦ (A + iB)·z is the real matrix M = [[A, −B], [B, A]]. So the solution of
M·(re z, im z) = (re c, im c) is that of (A + iB)·z = c. It is unique where A + iB is invertible, which is where M is,
as det M = |det(A + iB)|². Only JAX's own LU solver and its own logarithm of a determinant are rewritten so; they are
recognised by their programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.lax import linalg
from jax._src.numpy import linalg as _dense

from certgrad.jaxpr.lu_solver import lu_solver
from certgrad.jaxpr.programs import jaxpr_of, same_program
from certgrad.process.threads import Kept

from ._pair import Factors, NoPairsError, Pair, Unread, is_complex, lifted

Run = Callable[[Any, Sequence[Any]], list[Any]]
"""Runs an equation's inner program on pairs: from the program and its arguments to its outputs."""


def block(z: Pair) -> Any:
    """Return the real matrix [[A, −B], [B, A]] of a complex matrix A + iB."""
    above, below = jnp.concatenate([z.re, -z.im], -1), jnp.concatenate([z.im, z.re], -1)
    return jnp.concatenate([above, below], -2)


def factors(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an LU factorisation as `Factors`, which only a solver can use."""
    matrix = lifted(operands[0])
    return [Factors(matrix, place) for place in range(len(eqn.outvars))]


def solution(eqn: Any, operands: Sequence[Any], run: Run) -> list[Any]:
    """Return the solution of a linear system by JAX's own LU solver, as a pair, for one right-hand side or a stack.

    The result is again a `custom_linear_solve`, of the real block matrix. That its solver solves with the matrix of the
    equation is not checked here, as it is not for real systems. Raises NoPairsError for another solver, or a stack of
    matrices.
    """
    groups, start = [], 0
    for count in eqn.params["const_lengths"]:
        groups.append(list(operands[start : start + count]))
        start += count
    matvec, _, solver, _ = groups
    jaxprs = eqn.params["jaxprs"]
    matrix = _factored(solver)
    jax_solver = lu_solver(jaxprs.solve) if matrix is not None else None
    if (
        matrix is None
        or jax_solver is None
        or jax_solver.batch
        or not is_complex(eqn.invars[-1].aval)
        or len(operands) != start + 1
    ):
        raise NoPairsError("custom_linear_solve")
    size = matrix.re.shape[-1]
    if jax_solver.transposed:
        matrix = Pair(matrix.re.T, matrix.im.T)
    lu, _, permutation = linalg.lu(lax.stop_gradient(block(matrix)))

    def joined(z: Any) -> Any:
        return jnp.concatenate(lifted(z), -1)

    def parts(v: Any) -> Pair:
        return Pair(lax.slice_in_dim(v, 0, size, axis=v.ndim - 1), lax.slice_in_dim(v, size, 2 * size, axis=v.ndim - 1))

    right = joined(operands[start])
    solved = lax.custom_linear_solve(
        lambda v: joined(run(jaxprs.matvec, [*matvec, parts(v)])[0]),
        right,
        lambda _, v: _over_columns(False, v.ndim)(lu, permutation, v),
        lambda _, v: _over_columns(True, v.ndim)(lu, permutation, v),
    )
    return [parts(solved)]


def _factored(held: Sequence[Any]) -> Pair | None:
    """Return the matrix whose factors and permutation are the constants of a solver; None for other constants."""
    if len(held) != 2 or not all(isinstance(x, Factors) for x in held):
        return None
    lu, permutation = held
    return lu.matrix if lu.matrix is permutation.matrix and (lu.place, permutation.place) == (0, 2) else None


def log_modulus(eqn: Any, operands: Sequence[Any]) -> list[Any] | None:
    """Return the results of JAX's own slogdet of complex matrices; None for another equation.

    The second is log |det| = ½·log det M. The first, the sign det/|det|, has no reading and may not be used.
    """
    if not _is_slogdet(eqn):
        return None
    return [Unread("the sign of a determinant"), jnp.linalg.slogdet(block(operands[0]))[1] / 2]


def _over_columns(transposed: bool, rank: int) -> Callable[..., Any]:
    """Return JAX's LU solver along the last axis of a right-hand side of this rank."""
    solver: Callable[..., Any] = partial(_solve_one, transposed)
    for _ in range(rank - 1):
        solver = jax.vmap(solver, (None, None, 0))
    return solver


def _solve_one(transposed: bool, lu: Any, permutation: Any, b: Any) -> Any:
    return linalg.lu_solve(lu, permutation, b, trans=int(transposed))


_unwrapped = getattr(_dense.slogdet, "__wrapped__")  # noqa: B009 (without its `jit`)
_slogdets = Kept()


def _is_slogdet(eqn: Any) -> bool:
    """Return whether an equation is JAX's slogdet of a complex matrix, by comparison with its trace."""
    if eqn.primitive.name != "custom_jvp_call" or len(eqn.invars) != 1 or not is_complex(eqn.invars[0].aval):
        return False
    aval = eqn.invars[0].aval
    shape = aval.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    key = shape, aval.dtype
    if key not in _slogdets.table:
        equations = jaxpr_of(_traced(_unwrapped, [aval])).eqns
        _slogdets.table[key] = equations[0].params["call_jaxpr"] if len(equations) == 1 else None
    slogdet = _slogdets.table[key]
    return slogdet is not None and same_program(eqn.params["call_jaxpr"], slogdet)


def _traced(function: Callable[..., Any], avals: Sequence[Any]) -> Any:
    wide = any(str(a.dtype) in ("complex128", "float64") for a in avals)
    with jax.enable_x64(wide):
        return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals))
