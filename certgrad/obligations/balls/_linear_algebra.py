"""Triangular and general linear systems, Cholesky and LU factors, by the textbook recurrences on duals."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from certgrad.jaxpr.lu_solver import lu_solver
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._functions import FUNCTIONS
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ZERO, Real
from certgrad.obligations.balls._solvers import root_near
from certgrad.obligations.balls._tangents import KINK, Tangent
from certgrad.obligations.balls._values import Array, Context, Value, filled, tangent_or_none

Dual = tuple[Real, Tangent]
_SQRT = FUNCTIONS["sqrt"]
_sqrt_tangent = t.chain(_SQRT)


def _minus_product(a: Dual, b: Dual, c: Dual) -> Dual:
    """Return a − b·c."""
    product = s.mul(b[0], c[0])
    return s.sub(a[0], product), t.minus(a[1], t.product(product, b[0], c[0], b[1], c[1]))


def _quotient(a: Dual, b: Dual) -> Dual:
    out = s.div(a[0], b[0])
    return out, t.quotient(out, a[0], b[0], a[1], b[1])


def _root(a: Dual) -> Dual:
    out = _SQRT(a[0])
    return out, _sqrt_tangent(out, a[0], a[1])


def _duals(x: Array, dx: Array) -> list[list[Dual]]:
    """Return a matrix and its tangent as rows of pairs (entry, tangent)."""
    return [list(zip(row, drow, strict=True)) for row, drow in zip(x.tolist(), dx.tolist(), strict=True)]


def _solve_lower(a: list[list[Dual]], b: list[list[Dual]], unit: bool) -> list[list[Dual]]:
    """Return the solution x of a·x = b by forward substitution; a is lower triangular, its diagonal 1 if `unit`."""
    out: list[list[Dual]] = []
    for i, row in enumerate(b):
        solved = []
        for j, total in enumerate(row):
            for k in range(i):
                total = _minus_product(total, a[i][k], out[k][j])
            solved.append(total if unit else _quotient(total, a[i][i]))
        out.append(solved)
    return out


def _cholesky_lower(a: list[list[Dual]]) -> list[list[Dual]]:
    """Return the lower Cholesky factor of a symmetric matrix, of which only the lower triangle is read."""
    n = len(a)
    out: list[list[Dual]] = [[(ZERO, None)] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            total = a[i][j]
            for k in range(j):
                total = _minus_product(total, out[i][k], out[j][k])
            out[i][j] = _root(total) if i == j else _quotient(total, out[j][j])
    return out


def _collected(shape: tuple[int, ...], matrices: list[list[list[Dual]]]) -> Value:
    """Return matrices of pairs (entry, tangent), one for each place of the batch, as one value of this shape."""
    out, dout = np.empty(shape, dtype=object), np.empty(shape, dtype=object)
    for at, matrix in zip(np.ndindex(shape[:-2]), matrices, strict=True):
        for i, row in enumerate(matrix):
            for j, (value, tangent) in enumerate(row):
                out[(*at, i, j)], dout[(*at, i, j)] = value, tangent
    return Value(out, tangent_or_none(dout))


@primitive("cholesky")
def _cholesky(ctx: Context, params: Params, a: Value) -> Value:
    if not a.real:
        raise Unsupported("cholesky of integers")
    moves = filled(a)
    shape = a.primal.shape
    return _collected(shape, [_cholesky_lower(_duals(a.primal[at], moves[at])) for at in np.ndindex(shape[:-2])])


@primitive("triangular_solve")
def _triangular_solve(ctx: Context, params: Params, a: Value, b: Value) -> Value:
    """Return the solution of a triangular system, with its tangent.

    Every form becomes `lower x = b`: transposing the system swaps sides, reversing both axes swaps triangles.
    """
    left, lower = params["left_side"], params["lower"]
    swaps = [not left, params["transpose_a"]]
    arrays = [a.primal, filled(a)]
    if sum(swaps) == 1:
        arrays = [np.swapaxes(x, -1, -2) for x in arrays]
        lower = not lower
    sides = [b.primal, filled(b)] if left else [np.swapaxes(x, -1, -2) for x in (b.primal, filled(b))]
    if not lower:
        arrays = [x[..., ::-1, ::-1] for x in arrays]
        sides = [x[..., ::-1, :] for x in sides]
    solved = [
        _solve_lower(_duals(arrays[0][at], arrays[1][at]), _duals(sides[0][at], sides[1][at]), params["unit_diagonal"])
        for at in np.ndindex(sides[0].shape[:-2])
    ]
    out = _collected(sides[0].shape, solved)
    primal, tangent = out.primal, filled(out)
    if not lower:
        primal, tangent = primal[..., ::-1, :], tangent[..., ::-1, :]
    if not left:
        primal, tangent = np.swapaxes(primal, -1, -2), np.swapaxes(tangent, -1, -2)
    return Value(primal, tangent_or_none(tangent))


def _eliminated(a: list[list[Dual]]) -> tuple[list[list[Dual]], list[int], list[int], bool]:
    """Return both LU factors in one matrix, the pivots, the permutation, and whether a pivot was tied with another row.

    Rows are exchanged as in LAPACK: the entry of the largest modulus comes to the diagonal, the first of several. Where
    that is 0, the whole column below the diagonal is 0, and nothing is divided or subtracted.
    """
    rows, columns = len(a), len(a[0])
    out, order, pivots, tied = [list(row) for row in a], list(range(rows)), [], False
    for k in range(min(rows, columns)):
        best = k
        for i in range(k + 1, rows):
            order_of_moduli = s.compare(_modulus(out[i][k][0]), _modulus(out[best][k][0]))
            tied = tied or order_of_moduli == 0
            best = i if order_of_moduli == 1 else best
        pivots.append(best)
        out[k], out[best], order[k], order[best] = out[best], out[k], order[best], order[k]
        if k + 1 < rows and s.compare(out[k][k][0], ZERO) == 0:
            continue
        for i in range(k + 1, rows):
            out[i][k] = _quotient(out[i][k], out[k][k])
            for j in range(k + 1, columns):
                out[i][j] = _minus_product(out[i][j], out[i][k], out[k][j])
    return out, pivots, order, tied


def _modulus(x: Real) -> Real:
    return s.maximum(x, s.neg(x))


@primitive("lu")
def _lu(ctx: Context, params: Params, a: Value) -> list[Value]:
    """Return the LU factors in one matrix, the pivots and the permutation.

    Where pivots are tied, a small change of the matrix may choose other rows, so that all factors are kinks.
    """
    if not a.real:
        raise Unsupported("the LU factors of integers")
    shape, moves = a.primal.shape, filled(a)
    eliminated = [_eliminated(_duals(a.primal[at], moves[at])) for at in np.ndindex(shape[:-2])]
    factors = _collected(shape, [f[0] for f in eliminated])
    if a.tangent is not None and any(f[3] for f in eliminated):
        factors = Value(factors.primal, np.full(shape, KINK, dtype=object))
    count = min(shape[-2:])
    pivots = np.array([f[1] for f in eliminated], dtype=np.int32).reshape((*shape[:-2], count))
    order = np.array([f[2] for f in eliminated], dtype=np.int32).reshape(shape[:-1])
    return [factors, Value(pivots), Value(order)]


@primitive("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(ctx: Context, params: Params, pivots: Value) -> Value:
    """Return the permutation of a sequence of row interchanges."""
    lead, size = pivots.primal.shape[:-1], params["permutation_size"]
    out = np.empty((*lead, size), dtype=np.int32)
    for at in np.ndindex(lead):
        order = list(range(size))
        for k, best in enumerate(int(x) for x in pivots.primal[at]):
            if not 0 <= best < size:
                raise Undecided("a pivot beyond the matrix")
            order[k], order[best] = order[best], order[k]
        out[at] = order
    return Value(out)


@lru_cache(maxsize=1024)
def _eliminates(solver: Any) -> bool:
    """Return whether the solver is JAX's own, by elimination."""
    return lu_solver(solver) is not None


@primitive("custom_linear_solve")
def _custom_linear_solve(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    """Return the solution of matvec(x) = b; its tangent dx solves matvec(dx) = db − d(matvec)(x).

    A solver that is not JAX's own elimination may be inexact: then the solution is the root near what it returns. Here
    `right` is b, one value for each array of the unknown, and d(matvec)(x) is the tangent of matvec with x constant.
    """
    jaxprs, groups, start = params["jaxprs"], [], 0
    for count in params["const_lengths"]:
        groups.append(list(xs[start : start + count]))
        start += count
    matvec, _, solver, _ = groups
    right = list(xs[start:])
    if len(right) == 1 and not _eliminates(jaxprs.solve):
        (b,) = right

        def left(z: Value, moves: bool) -> Value:
            (image,) = ctx.run(jaxprs.matvec, [*(c if moves else Value(c.primal) for c in matvec), z])
            return _difference(image, b if moves else Value(b.primal))

        moves = any(x.tangent is not None for x in (*matvec, b))
        return [root_near("a linear solver", jaxprs.solve, [*solver, b], b.primal.shape, left, moves)]
    # JAX's own elimination runs on rationals and balls, so that it encloses what it solves. A solver of several arrays
    # is run in the same way.
    solver_constants = [Value(c.primal) for c in solver]
    solution = ctx.run(jaxprs.solve, [*solver_constants, *(Value(b.primal) for b in right)])
    if all(x.tangent is None for x in (*matvec, *right)):
        return solution
    if len(solution) != len(right):
        raise Unsupported("a linear solve that returns more than its solution")
    image = ctx.run(jaxprs.matvec, [*matvec, *solution])
    right_of_tangent = []
    for b, y in zip(right, image, strict=True):
        residual_tangent = [t.minus(db, dy) for db, dy in zip(filled(b).flat, filled(y).flat, strict=True)]
        if any(d is KINK for d in residual_tangent):
            return [Value(x.primal, np.full(x.primal.shape, KINK, dtype=object)) for x in solution]
        primal = np.empty(b.primal.shape, dtype=object)
        primal.flat[:] = [ZERO if d is None else d for d in residual_tangent]
        right_of_tangent.append(Value(primal))
    slopes = ctx.run(jaxprs.solve, [*solver_constants, *right_of_tangent])
    return [Value(x.primal, dx.primal) for x, dx in zip(solution, slopes, strict=True)]


def _difference(a: Value, b: Value) -> Value:
    """Return a − b with its tangent, for arrays of one shape."""
    primal, tangent = np.empty(a.primal.shape, dtype=object), np.empty(a.primal.shape, dtype=object)
    primal.flat[:] = [s.sub(x, y) for x, y in zip(a.primal.flat, b.primal.flat, strict=True)]
    tangent.flat[:] = [t.minus(dx, dy) for dx, dy in zip(filled(a).flat, filled(b).flat, strict=True)]
    return Value(primal, tangent_or_none(tangent))


@primitive("tridiagonal_solve")
def _tridiagonal_solve(ctx: Context, params: Params, low: Value, main: Value, high: Value, b: Value) -> Value:
    """Return the solution by elimination without pivots: downwards to remove `low`, then back upwards.

    The first entry of `low` and the last one of `high` are not read.
    """
    if params.get("perturb_singular"):
        raise Unsupported("tridiagonal_solve that perturbs a singular matrix")
    shape = b.primal.shape
    diagonals = [(x.primal, filled(x)) for x in (low, main, high)]
    solved = []
    for at in np.ndindex(shape[:-2]):
        under, on, over = ([*zip(x[at], dx[at], strict=True)] for x, dx in diagonals)
        rows = _duals(b.primal[at], filled(b)[at])
        for i in range(1, len(on)):
            factor = _quotient(under[i], on[i - 1])
            on[i] = _minus_product(on[i], factor, over[i - 1])
            rows[i] = [_minus_product(x, factor, y) for x, y in zip(rows[i], rows[i - 1], strict=True)]
        for i in range(len(on) - 1, -1, -1):
            if i + 1 < len(on):
                rows[i] = [_minus_product(x, over[i], y) for x, y in zip(rows[i], rows[i + 1], strict=True)]
            rows[i] = [_quotient(x, on[i]) for x in rows[i]]
        solved.append(rows)
    return _collected(shape, solved)
