"""Eigenvalues and vectors, singular values and vectors, QR: enclosed, with the differentials of `laws/factorisations`.

Signs of vectors, which the equations leave open, are those that LAPACK returns at the middle of the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import acb_mat, arb, arb_mat

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ZERO
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array, Context, Value, filled

Factors = list[Array]
Differential = Callable[[Array], Factors]
"""From the differential of the matrix to those of its factors."""
OPEN = "at this precision"


def _middle(a: Array) -> np.ndarray:
    return np.array([[float(x.mid()) for x in row] for row in a], dtype=np.float64)


def _eigen(a: Array) -> tuple[Array, Array]:
    """The eigenvalues of a symmetric matrix in ascending order, and eigenvectors of length 1 in columns."""
    n = len(a)
    try:
        values, vectors = acb_mat(arb_mat(a.tolist())).eig(right=True)
    except ValueError:
        raise Undecided(f"eigenvalues that are not told apart {OPEN}") from None
    order = sorted(range(n), key=lambda k: float(values[k].real.mid()))
    out, likely = np.empty((n, n), dtype=object), np.linalg.eigh(_middle(a))[1]
    for place, k in enumerate(order):
        column = [vectors[i, k] for i in range(n)]
        pivot = max(range(n), key=lambda i: float(abs(column[i]).mid()))
        # The true vector with entry 1 at the pivot is real.
        real = [arb(1) if i == pivot else (x / column[pivot]).real for i, x in enumerate(column)]
        length = sum((x * x for x in real), arb(0)).sqrt()
        out[:, place] = [x / length if likely[pivot, place] > 0 else -x / length for x in real]
    return np.array([values[k].real for k in order], dtype=object), out


def _diagonal(x: Array) -> Array:
    return np.array([x[k, k] for k in range(len(x))], dtype=object)


def _gaps(values: Array) -> Array:
    """1/(λ_k − λ_l) at (l, k), and 0 on the diagonal."""
    n = len(values)
    return np.array([[arb(0) if k == l else 1 / (values[k] - values[l]) for k in range(n)] for l in range(n)])


def eigh(a: Array) -> tuple[Factors, Differential]:
    """[V, λ]."""
    values, v = _eigen(a)

    def moved(da: Array) -> Factors:
        p = v.T @ da @ v
        return [v @ (_gaps(values) * p), _diagonal(p)]

    return [v, values], moved


def svd(a: Array) -> tuple[Factors, Differential]:
    """[σ, U, Vᵀ]."""
    u, _, vt = np.linalg.svd(_middle(a), full_matrices=False)
    if a.shape[0] < a.shape[1]:
        (values, u, vt), inner = _tall(a.T, u.T)

        def turned(da: Array) -> Factors:
            ds, du, dvt = inner(da.T)
            return [ds, dvt.T, du.T]

        return [values, vt.T, u.T], turned
    return _tall(a, vt)


def _tall(a: Array, likely: np.ndarray) -> tuple[Factors, Differential]:
    """[σ, U, Vᵀ] of a matrix with at least as many rows as columns, and the signs of the given Vᵀ."""
    columns = a.shape[1]
    squares, right = _eigen(a.T @ a)
    squares, v = squares[::-1], right[:, ::-1]
    if not all(x > 0 for x in squares):
        raise Undecided(f"a singular value that may be 0 {OPEN}")
    values = np.array([x.sqrt() for x in squares.tolist()], dtype=object)
    for k in range(columns):
        pivot = int(np.argmax(np.abs(likely[k])))
        if (v[pivot, k] > 0) != (likely[k, pivot] > 0):
            v[:, k] = -v[:, k]
    u = (a @ v) / values

    def moved(da: Array) -> Factors:
        p, f = u.T @ da @ v, _gaps(squares)
        du = u @ (f * (p * values + values[:, None] * p.T)) + (da @ v - u @ p) / values
        dv = v @ (f * (values[:, None] * p + p.T * values))
        return [_diagonal(p), du, dv.T]

    return [values, u, v.T], moved


def qr(a: Array) -> tuple[Factors, Differential]:
    """[Q, R], for a matrix with at least as many rows as columns, by Gram and Schmidt."""
    rows, columns = a.shape
    if rows < columns:
        raise Unsupported("qr of a matrix with more columns than rows")
    likely = np.linalg.qr(_middle(a))[1]
    q, r = np.empty((rows, columns), dtype=object), np.full((columns, columns), arb(0), dtype=object)
    for j in range(columns):
        left = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            left = left - q[:, i] * r[i, j]
        length = arb(left @ left).sqrt()
        if not length > 0:
            raise Undecided(f"the qr factors of a matrix that may not have full rank {OPEN}")
        r[j, j] = length if likely[j, j] > 0 else -length
        q[:, j] = left / r[j, j]

    def moved(da: Array) -> Factors:
        solved = np.array((arb_mat(da.tolist()) * arb_mat(r.tolist()).inv()).tolist(), dtype=object)
        c = q.T @ solved
        below = np.tril(np.ones((columns, columns), dtype=int), -1)
        turning = c * below - (c * below).T
        return [q @ (turning - c) + solved, (c - turning) @ r]

    return [q, r], moved


def _applied(x: Value, factors: Callable[[Array], tuple[Factors, Differential]]) -> list[Value]:
    """The factors of each matrix of a batch, with their tangents."""
    if not x.real:
        raise Unsupported("a factorisation of integers")
    shape, moves = x.primal.shape, filled(x)
    batch = shape[:-2]
    primal: dict[tuple[int, ...], Factors] = {}
    tangent: dict[tuple[int, ...], Factors | None] = {}
    for at in np.ndindex(batch):
        found, moved = factors(_balls(list(x.primal[at].flat), shape[-2:]))
        primal[at] = found
        if all(d is None for d in moves[at].flat):
            tangent[at] = None
        elif any(d is KINK for d in moves[at].flat):
            tangent[at] = [np.full(f.shape, KINK, dtype=object) for f in found]
        else:
            tangent[at] = moved(_balls([ZERO if d is None else d for d in moves[at].flat], shape[-2:]))
    out = []
    for k in range(len(next(iter(primal.values())))):
        whole = np.empty((*batch, *next(iter(primal.values()))[k].shape), dtype=object)
        slopes = np.full(whole.shape, None, dtype=object)
        for at, found in primal.items():
            whole[at] = found[k]
            slopes[at] = None if (d := tangent[at]) is None else d[k]
        out.append(Value(whole, None if all(d is None for d in slopes.flat) else slopes))
    return out


def _balls(values: Sequence[object], shape: Sequence[int]) -> Array:
    out = np.empty(tuple(shape), dtype=object)
    for k, v in enumerate(values):
        if not s.finite(v):
            raise Undecided(f"an entry of a matrix is no real number {OPEN}")
        out.flat[k] = s.ball(v)
    return out


@primitive("eigh")
def _eigh(ctx: Context, params: Params, x: Value) -> list[Value]:
    if not params["lower"] or params.get("subset_by_index") is not None:
        raise Unsupported("eigh of the upper triangle, or of some eigenvalues")

    def lower(a: Array) -> Array:
        return np.where(np.tril(np.ones(a.shape, dtype=bool)), a, a.T)

    def factors(a: Array) -> tuple[Factors, Differential]:
        found, moved = eigh(lower(a))
        return found, lambda da: moved(lower(da))

    return _applied(x, factors)


@primitive("svd")
def _svd(ctx: Context, params: Params, x: Value) -> list[Value]:
    rows, columns = x.primal.shape[-2:]
    if params.get("subset_by_index") is not None or (
        params["compute_uv"] and params["full_matrices"] and rows != columns
    ):
        raise Unsupported("svd of some singular values, or with vectors that its equation does not determine")
    return _applied(x, svd)[: 3 if params["compute_uv"] else 1]


@primitive("qr")
def _qr(ctx: Context, params: Params, x: Value) -> list[Value]:
    rows, columns = x.primal.shape[-2:]
    if params.get("pivoting") or (params["full_matrices"] and rows != columns):
        raise Unsupported("qr with pivots, or with columns that its equation does not determine")
    return _applied(x, qr)


def factor(name: str, a: arb_mat) -> Array:
    """A factor of a matrix, by the name that it has in the calculus."""
    factors, place, turned = FACTORS[name]
    found = factors(np.array(a.tolist(), dtype=object))[0][place]
    return found.T if turned else found


FACTORS: dict[str, tuple[Callable[[Array], tuple[Factors, Differential]], int, bool]] = {
    "eigenvector": (eigh, 0, False),
    "eigenvalue": (eigh, 1, False),
    "singular value": (svd, 0, False),
    "left singular vector": (svd, 1, False),
    "right singular vector": (svd, 2, True),
    "orthogonal factor": (qr, 0, False),
    "upper factor": (qr, 1, False),
}
