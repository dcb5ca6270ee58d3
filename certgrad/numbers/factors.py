"""Factors of matrices, enclosed over the reals, and their differentials.

The differentials are written for entries of any field, so that balls and numbers of a finite field read the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat

Matrix = np.ndarray[Any, np.dtype[Any]]


def eigen(a: Matrix) -> tuple[Matrix, Matrix]:
    """Return the eigenvalues of a symmetric matrix of balls, ascending, and its eigenvectors as columns of length 1.

    Of each eigenvector, the entry of the greatest absolute value is positive. Raises ValueError where eigenvalues are
    not told apart.
    """
    n = len(a)
    try:
        values, vectors = acb_mat(arb_mat(a.tolist())).eig(right=True)
    except ValueError:
        raise ValueError("eigenvalues that are not told apart") from None
    order = sorted(range(n), key=lambda k: float(values[k].real.mid()))
    out = np.empty((n, n), dtype=object)
    for place, k in enumerate(order):
        column = [vectors[i, k] for i in range(n)]
        pivot = max(range(n), key=lambda i: float(abs(column[i]).mid()))
        # The true vector with entry 1 at the pivot is real.
        real = [arb(1) if i == pivot else (x / column[pivot]).real for i, x in enumerate(column)]
        length = sum((x * x for x in real), arb(0)).sqrt()
        out[:, place] = [x / length for x in real]
    return np.array([values[k].real for k in order], dtype=object), out


def singular(a: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return (σ, U, V) of a matrix of balls with at least as many rows as columns.

    σ is in descending order, and V has the signs of `eigen`. Raises ValueError where singular values are not told apart
    from each other, or from 0.
    """
    squares, right = eigen(a.T @ a)
    squares, v = squares[::-1], right[:, ::-1]
    if not all(x > 0 for x in squares):
        raise ValueError("a singular value that may be 0")
    values = np.array([x.sqrt() for x in squares.tolist()], dtype=object)
    return values, (a @ v) / values, v


def orthogonal(a: Matrix) -> tuple[Matrix, Matrix]:
    """Return (Q, R) of a matrix of balls with at least as many rows as columns, by Gram and Schmidt.

    R's diagonal is positive. Raises ValueError where the columns are not seen to be independent.
    """
    rows, columns = a.shape
    q, r = np.empty((rows, columns), dtype=object), np.full((columns, columns), arb(0), dtype=object)
    for j in range(columns):
        residual = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            residual = residual - q[:, i] * r[i, j]
        r[j, j] = arb(residual @ residual).sqrt()
        if not r[j, j] > 0:
            raise ValueError("a matrix that may not have full rank")
        q[:, j] = residual / r[j, j]
    return q, r


def moved_eigen(values: Matrix, v: Matrix, da: Matrix) -> tuple[Matrix, Matrix]:
    """Return the differentials of eigenvalues and eigenvectors, for the differential `da` of the matrix."""
    p = v.T @ da @ v
    return diagonal(p), v @ (_gaps(values) * p)


def moved_singular(values: Matrix, u: Matrix, v: Matrix, da: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the differentials of σ, U and V of a matrix with at least as many rows as columns."""
    p, f = u.T @ da @ v, _gaps(values * values)
    du = u @ (f * (p * values + values[:, None] * p.T)) + (da @ v - u @ p) / values
    dv = v @ (f * (values[:, None] * p + p.T * values))
    return diagonal(p), du, dv


def moved_orthogonal(q: Matrix, r: Matrix, da: Matrix) -> tuple[Matrix, Matrix]:
    """Return the differentials of Q and R: Q·Ω + (1 − Q·Qᵀ)·dA·R⁻¹ and (C − Ω)·R, with C = Qᵀ·dA·R⁻¹.

    Ω (`turning`) is antisymmetric, and is C below the diagonal. `solved` is dA·R⁻¹.
    """
    n = len(r)
    solved = da.copy()
    for j in range(n):
        for i in range(j):
            solved[:, j] = solved[:, j] - solved[:, i] * r[i, j]
        solved[:, j] = solved[:, j] / r[j, j]
    c = q.T @ solved
    below = np.tril(np.ones((n, n), dtype=int), -1)
    turning = c * below - (c * below).T
    return q @ (turning - c) + solved, (c - turning) @ r


def diagonal(x: Matrix) -> Matrix:
    return np.array([x[k, k] for k in range(len(x))], dtype=object)


def _gaps(values: Matrix) -> Matrix:
    """Return the matrix with 1/(λ_k − λ_l) at (l, k), and 0 on the diagonal."""
    n = len(values)
    entries = [0 if k == l else 1 / (values[k] - values[l]) for l in range(n) for k in range(n)]
    return np.array([*entries, None], dtype=object)[:-1].reshape(n, n)
