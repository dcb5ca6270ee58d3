"""Eigenvalues and vectors, singular values and vectors, QR: enclosed, with the differentials of `laws/factorisations`.

Signs of vectors, which the equations leave open, are those that LAPACK returns at the middle of the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from flint import arb_mat

from certgrad.numbers.factors import eigen, moved_eigen, moved_orthogonal, moved_singular, orthogonal, singular
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ZERO
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array, Context, Value, filled

Factors = list[Array]
Differential = Callable[[Array], Factors]
"""A map from the differential of the matrix to the differentials of its factors."""
OPEN = "at this precision"


def _middle(a: Array) -> np.ndarray:
    return np.array([[float(x.mid()) for x in row] for row in a], dtype=np.float64)


def _eigen(a: Array) -> tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors, with the signs that LAPACK gives the vectors."""
    with _told_apart():
        values, vectors = eigen(a)
    return values, vectors * _signs(vectors.T, np.linalg.eigh(_middle(a))[1].T)


@contextmanager
def _told_apart() -> Iterator[None]:
    """Raise Undecided for a ValueError of the enclosures, by which they say that values are not told apart."""
    try:
        yield
    except ValueError as error:
        raise Undecided(f"{error} {OPEN}") from None


def _signs(vectors: Array, likely: np.ndarray) -> np.ndarray:
    """Return, for each row of `vectors`, the sign (1 or −1) that makes it agree with the same row of `likely`.

    The rows of `likely` are the vectors in floats; their largest entry decides.
    """
    pivots = np.argmax(np.abs(likely), axis=1)
    return np.array([1 if (v[k] > 0) == (w[k] > 0) else -1 for v, w, k in zip(vectors, likely, pivots, strict=True)])


def eigh(a: Array) -> tuple[Factors, Differential]:
    """Return [V, λ], the eigenvectors in columns and the eigenvalues, and the map from dA to [dV, dλ]."""
    values, v = _eigen(a)

    def moved(da: Array) -> Factors:
        return [*reversed(moved_eigen(values, v, da))]

    return [v, values], moved


def svd(a: Array) -> tuple[Factors, Differential]:
    """Return [σ, U, Vᵀ], of which A = U·diag(σ)·Vᵀ, and the map from dA to [dσ, dU, dVᵀ].

    A wide matrix is factored by its transpose, in which U and V change places.
    """
    u, _, vt = np.linalg.svd(_middle(a), full_matrices=False)
    if a.shape[0] < a.shape[1]:
        (values, u, vt), inner = _tall(a.T, u.T)

        def turned(da: Array) -> Factors:
            ds, du, dvt = inner(da.T)
            return [ds, dvt.T, du.T]

        return [values, vt.T, u.T], turned
    return _tall(a, vt)


def _tall(a: Array, likely: np.ndarray) -> tuple[Factors, Differential]:
    """Return [σ, U, Vᵀ] of a matrix with at least as many rows as columns, and the map between differentials.

    `likely` is Vᵀ in floats: the vectors get its signs.
    """
    with _told_apart():
        values, u, v = singular(a)
    signs = _signs(v.T, likely)
    u, v = u * signs, v * signs

    def moved(da: Array) -> Factors:
        ds, du, dv = moved_singular(values, u, v, da)
        return [ds, du, dv.T]

    return [values, u, v.T], moved


def qr(a: Array) -> tuple[Factors, Differential]:
    """Return [Q, R] of a matrix with at least as many rows as columns, and the map from dA to [dQ, dR]."""
    rows, columns = a.shape
    if rows < columns:
        raise Unsupported("qr of a matrix with more columns than rows")
    with _told_apart():
        q, r = orthogonal(a)
    signs = np.where(np.diagonal(np.linalg.qr(_middle(a))[1]) > 0, 1, -1)
    q, r = q * signs, r * signs[:, None]

    def moved(da: Array) -> Factors:
        return [*moved_orthogonal(q, r, da)]

    return [q, r], moved


def _applied(x: Value, factors: Callable[[Array], tuple[Factors, Differential]]) -> list[Value]:
    """Return the factors of each matrix of a batch, with their tangents.

    A matrix of constants has constant factors. A kink in one entry is a kink of all factors, as they depend on all
    entries.
    """
    if not x.real:
        raise Unsupported("a factorisation of integers")
    shape, moves = x.primal.shape, filled(x)
    batch = shape[:-2]
    primal: dict[tuple[int, ...], Factors] = {}
    tangent: dict[tuple[int, ...], Factors | None] = {}
    for at in np.ndindex(batch):
        matrices, differential = factors(_balls(list(x.primal[at].flat), shape[-2:]))
        primal[at] = matrices
        if all(d is None for d in moves[at].flat):
            tangent[at] = None
        elif any(d is KINK for d in moves[at].flat):
            tangent[at] = [np.full(f.shape, KINK, dtype=object) for f in matrices]
        else:
            tangent[at] = differential(_balls([ZERO if d is None else d for d in moves[at].flat], shape[-2:]))
    out = []
    for k in range(len(next(iter(primal.values())))):
        whole = np.empty((*batch, *next(iter(primal.values()))[k].shape), dtype=object)
        slopes = np.full(whole.shape, None, dtype=object)
        for at, matrices in primal.items():
            whole[at] = matrices[k]
            slopes[at] = None if (d := tangent[at]) is None else d[k]
        out.append(Value(whole, None if all(d is None for d in slopes.flat) else slopes))
    return out


def _balls(values: Sequence[object], shape: Sequence[int]) -> Array:
    """Return an array of balls. Raises Undecided where a value is not finite."""
    out = np.empty(tuple(shape), dtype=object)
    for k, v in enumerate(values):
        if not s.finite(v):
            raise Undecided(f"an entry of a matrix is no real number {OPEN}")
        out.flat[k] = s.ball(v)
    return out


@primitive("eigh")
def _eigh(ctx: Context, params: Params, x: Value) -> list[Value]:
    """Return eigenvectors and eigenvalues of the symmetric matrix that the lower triangle of x determines."""
    if not params["lower"] or params.get("subset_by_index") is not None:
        raise Unsupported("eigh of the upper triangle, or of some eigenvalues")

    def lower(a: Array) -> Array:
        return np.where(np.tril(np.ones(a.shape, dtype=bool)), a, a.T)

    def factors(a: Array) -> tuple[Factors, Differential]:
        matrices, moved = eigh(lower(a))
        return matrices, lambda da: moved(lower(da))

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
    """Return a factor of a matrix by its name in the calculus, such as "eigenvalue"."""
    factors, place, turned = FACTORS[name]
    matrix = factors(np.array(a.tolist(), dtype=object))[0][place]
    return matrix.T if turned else matrix


FACTORS: dict[str, tuple[Callable[[Array], tuple[Factors, Differential]], int, bool]] = {
    "eigenvector": (eigh, 0, False),
    "eigenvalue": (eigh, 1, False),
    "singular value": (svd, 0, False),
    "left singular vector": (svd, 1, False),
    "right singular vector": (svd, 2, True),
    "orthogonal factor": (qr, 0, False),
    "upper factor": (qr, 1, False),
}
"""By name: the factorisation, the position among its factors, and whether that factor is transposed."""
