"""Triangular systems and Cholesky factors, by the textbook recurrences on duals."""

from __future__ import annotations

import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._functions import FUNCTIONS
from certgrad.obligations.balls._registry import Context, Params, Value, primitive
from certgrad.obligations.balls._scalars import ZERO, Real
from certgrad.obligations.balls._tangents import Tangent
from certgrad.obligations.balls._values import Array, filled, tangent_or_none

Dual = tuple[Real, Tangent]
_SQRT = FUNCTIONS["sqrt"]
_sqrt_tangent = t.chain(_SQRT)


def _minus_product(a: Dual, b: Dual, c: Dual) -> Dual:
    """a - b c."""
    product = s.mul(b[0], c[0])
    return s.sub(a[0], product), t.minus(a[1], t.product(product, b[0], c[0], b[1], c[1]))


def _quotient(a: Dual, b: Dual) -> Dual:
    out = s.div(a[0], b[0])
    return out, t.quotient(out, a[0], b[0], a[1], b[1])


def _root(a: Dual) -> Dual:
    out = _SQRT(a[0])
    return out, _sqrt_tangent(out, a[0], a[1])


def _duals(x: Array, dx: Array) -> list[list[Dual]]:
    return [list(zip(row, drow, strict=True)) for row, drow in zip(x.tolist(), dx.tolist(), strict=True)]


def _solve_lower(a: list[list[Dual]], b: list[list[Dual]], unit: bool) -> list[list[Dual]]:
    """x with a x = b, a lower triangular."""
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
    """The lower factor of a symmetric matrix, read from its lower triangle."""
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
    """Every form becomes `lower x = b`: transposing the system swaps sides, reversing both axes swaps triangles."""
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
