"""Factors of matrices, and solutions of equations that are not linear.

Eigenvectors and singular vectors are drawn among all orthonormal ones, eigenvalues, singular values and solutions are
free; each of equal matrices and equations has the same. They move as their equations say, at factors that need not be
those of the matrix: what follows for all factors is true of its own. Signs that the equations leave open are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpz_mod_ctx, fmpz_mod_mat

from certgrad.language.arithmetic import UndefinedError
from certgrad.numbers.factors import Matrix, eigen, moved_eigen, moved_orthogonal, moved_singular, orthogonal, singular
from certgrad.numbers.roots import Vector, enclosed_root
from certgrad.specification.evaluate import Evaluation
from certgrad.specification.program import Determined

from ._model import Model
from ._number import NoRootError, Number, OpenError
from ._primes import P, Q

Left = Callable[[list[Any]], list[Any]]
"""Gives the left sides of equations minus their right sides at values of the unknowns."""
Apart = Callable[[], AbstractContextManager[None]]
STARTS = (0.1, 1.0, -1.0, 3.0)
"""Starts of the search for a solution; where none leads to one, the point is undecided."""


def chosen(model: Model, at: Evaluation, d: Determined, outer: tuple[int, ...]) -> list[Any]:
    """Return the entries of a matrix's factors, or of a solution, in the order in which the definition names them."""
    if d.method == "solution":
        return _solution(model, at, d, outer)
    matrix = at.matrix(d, outer)
    a = _lifted(model, matrix)
    return [u for factor in METHODS[d.method](model, a) for u in factor.flat]


def _array(values: Any) -> Matrix:
    return np.array(values, dtype=object)


def _lifted(model: Model, a: Any) -> Matrix:
    return _map_entries(model.lifted, _array(a))


def _map_entries(change: Callable[[Any], Any], a: Matrix) -> Matrix:
    return np.vectorize(change, otypes=[object])(a) if a.size else a


def _tangent(u: Any) -> Any:
    """Return the tangent of a number as a number; 0 where it has none."""
    if not isinstance(u, Number) or u.d is None:
        return 0
    return Number(u.m, u.d, (0,) * u.m.width, u.dx, top=u.top + u.low + 1, low=2 * u.low)


def _with_tangents(values: Matrix, slopes: Matrix) -> Matrix:
    """Return the numbers with the slopes as their tangents."""

    def moving(value: Any, slope: Any) -> Any:
        if not isinstance(slope, Number):
            return value
        out = value.still()
        out.d, out.dx = slope.a, slope.x
        out.top, out.low = max(value.top + slope.low, slope.top + value.low), value.low + slope.low
        return out

    return np.vectorize(moving, otypes=[object])(values, slopes) if values.size else values


def _sign(model: Model, key: Any, k: int) -> int:
    """Return ±1, drawn for the k-th column of the factors that have this key."""
    return 1 - 2 * (model.residue("sign", key, k) % 2)


# --- orthonormal columns


def _frame(model: Model, key: Any, real: Matrix) -> Matrix:
    """Return orthonormal columns drawn in the field, beside the real columns, of the same orientation."""
    n, count = real.shape
    drawn = {(i, j): (model.residue(key, i, j), model.draws((key, i, j))) for i in range(n) for j in range(i)}
    a = _cayley(n, P, lambda i, j: drawn[i, j][0])
    b = [_cayley(n, Q, lambda i, j, w=w: drawn[i, j][1][w]) for w in range(model.width)]  # type: ignore[misc]
    flipped = n == count and bool(arb_mat(real.tolist()).det() < 0)
    out = np.empty((n, count), dtype=object)
    for i, j in np.ndindex(out.shape):
        sign = -1 if flipped and j == 0 else 1
        entries = tuple(sign * m[i][j] % Q for m in b)
        out[i, j] = Number(model, sign * a[i][j] % P, entries, real[i, j], top=n, low=n)
    return out


def _cayley(n: int, modulus: int, entry: Callable[[int, int], int]) -> list[list[int]]:
    """Return (1 + S)⁻¹·(1 − S) for the matrix S = −Sᵀ whose lower entries are given.

    It is orthogonal with determinant 1, and almost every such matrix has this form.
    """
    ring, places = fmpz_mod_ctx(modulus), [*np.ndindex(n, n)]
    skew = fmpz_mod_mat(n, n, [entry(i, j) if j < i else -entry(j, i) if i < j else 0 for i, j in places], ring)
    identity = fmpz_mod_mat(n, n, [int(i == j) for i, j in places], ring)
    rotation = (identity + skew).inv() * (identity - skew)
    return [[int(rotation[i, j]) for j in range(n)] for i in range(n)]


# --- factors


def _reals(a: Matrix) -> Matrix:
    return _map_entries(lambda u: u.x, a)


@contextmanager
def _told_apart() -> Iterator[None]:
    """Raise OpenError for the ValueError of enclosures that do not tell values apart."""
    try:
        yield
    except ValueError as error:
        raise OpenError(str(error)) from None


def _free(model: Model, name: str, key: Matrix, reals: Iterable[arb]) -> Matrix:
    """Return free numbers with the given real values; equal keys (a matrix, or an equation) have the same numbers."""
    label = f"{name} of {key.shape}"
    numbers = [model.oracle(f"{label} {k}", list(key.flat), lambda *_, x=x: x).still() for k, x in enumerate(reals)]
    return _array([*numbers, None])[:-1]


def _key(name: str, a: Matrix) -> tuple[Any, ...]:
    return name, a.shape, *(u.a for u in a.flat)


def _eigh(model: Model, a: Matrix) -> list[Matrix]:
    """Return [V, λ]: eigenvectors and eigenvalues of the symmetric matrix with the lower triangle of a."""
    a = np.where(np.tril(np.ones(a.shape, dtype=bool)), a, a.T)
    key = _key("eigenvectors", a)
    with _told_apart():
        reals, vectors = eigen(_reals(a))
    values = _free(model, "eigenvalue", a, reals)
    v = _frame(model, key, vectors * [_sign(model, key, k) for k in range(len(a))])
    slopes, turning = moved_eigen(values, v, _map_entries(_tangent, a))
    return [_with_tangents(v, turning), _with_tangents(values, slopes)]


def _svd(model: Model, a: Matrix) -> list[Matrix]:
    """Return [σ, U, Vᵀ]: singular values and singular vectors."""
    if a.shape[0] < a.shape[1]:
        values, u, vt = _svd(model, a.T)
        return [values, vt.T, u.T]
    key = _key("singular vectors", a)
    with _told_apart():
        reals, left, right = singular(_reals(a))
    values = _free(model, "singular value", a, reals)
    signs = [_sign(model, key, k) for k in range(len(reals))]
    u, v = _frame(model, ("left", key), left * signs), _frame(model, ("right", key), right * signs)
    slopes, du, dv = moved_singular(values, u, v, _map_entries(_tangent, a))
    return [_with_tangents(values, slopes), _with_tangents(u, du), _with_tangents(v, dv).T]


def _qr(model: Model, a: Matrix) -> list[Matrix]:
    """Return [Q, R]: orthonormal columns and an upper triangle."""
    key = _key("orthogonal", a)
    with _told_apart():
        left, right = orthogonal(_reals(a))
    signs = np.array([_sign(model, key, k) for k in range(len(right))])
    q = _frame(model, key, left * signs)
    upper = np.triu_indices(len(right))
    above = _free(model, "upper", a, (right * signs[:, None])[upper])
    r = np.full(right.shape, 0, dtype=object)
    r[upper] = above
    dq, dr = moved_orthogonal(q, r, _map_entries(_tangent, a))
    r[upper] = _with_tangents(above, dr[upper])
    return [_with_tangents(q, dq), r]


METHODS: dict[str, Callable[[Model, Matrix], list[Matrix]]] = {"eigh": _eigh, "svd": _svd, "qr": _qr}


# --- solutions


def _solution(model: Model, at: Evaluation, d: Determined, outer: tuple[int, ...]) -> list[Any]:
    """Return a root of the equations, whose tangent follows from theirs.

    Equations that are affine in the unknowns are solved. Others have free numbers for a root: the same ones where the
    equations are equal at drawn unknowns. The tangent dy solves J·dy = −dr, with J the derivative of the equations r in
    the unknowns, and dr their tangent at fixed unknowns.
    """
    left = partial(at.differences, d, outer)
    count = len(at.places(d, outer))
    preserved = partial(_preserved_state, model, at)
    if _affine(model, left, count, preserved):
        return at.linear(d, outer)
    root = _root(model, left, count, preserved)
    drawn = [Number(model, model.residue("unknown", k), model.draws(("unknown", k)), x) for k, x in enumerate(root)]
    key = _array([*map(model.lifted, map(model.still, left(drawn))), None])[:-1]
    values = _free(model, "solution", key, root)
    tangents = [_tangent(u) for u in left(list(values))]
    if not any(isinstance(u, Number) for u in tangents):
        return list(values)
    columns = [_slopes(model, left, values, k) for k in range(count)]
    rows = [[*row, model.mul(-1, u)] for row, u in zip(zip(*columns, strict=True), tangents, strict=True)]
    return list(_with_tangents(values, _array([*at.solved(rows), None])[:-1]))


def _affine(model: Model, left: Left, count: int, apart: Apart) -> bool:
    """Return whether the equations are affine in the unknowns, tested at drawn ones: r(y) + r(z) = r(y + z) + r(0).

    False where the equations compare numbers: at other unknowns these may compare otherwise.
    """
    y, z = ([model.drawn(("unknown", name, k), arb(1)) for k in range(count)] for name in "yz")
    with apart(), suppress(OpenError, NoRootError, UndefinedError):
        first, compared = left(y), model.compared
        further_values = [left(x) for x in (z, [u + v for u, v in zip(y, z, strict=True)], [0] * count)]
        gaps = [model.lifted(p + q - r - s).a for p, q, r, s in zip(first, *further_values, strict=True)]
        return not any(gaps) and model.compared == compared
    return False


@contextmanager
def _preserved_state(model: Model, at: Evaluation) -> Iterator[None]:
    """Restore the model's state after the block."""
    before = {name: copy(value) for name, value in vars(model).items()}
    try:
        with at.aside():
            yield
    finally:
        vars(model).update(before)


def _slopes(model: Model, left: Left, values: Matrix, k: int) -> list[Any]:
    """Return the derivative of the equations in the k-th unknown: their tangent, less what the arguments add to it."""
    perturbed = [copy(u) for u in values]
    perturbed[k].d, perturbed[k].dx = 1, arb(1)
    fixed = [copy(u) for u in values]
    total = [_tangent(u) for u in left(perturbed)]
    rest = [_tangent(u) for u in left(fixed)]
    return [model.add(u, model.mul(-1, v)) for u, v in zip(total, rest, strict=True)]


def _root(model: Model, left: Left, count: int, apart: Apart) -> Vector:
    """Return the only real root near one of `STARTS`, by Newton's method and an enclosure. Raises OpenError if there is
    none.
    """

    def lifted(x: Vector, k: int | None = None) -> list[Any]:
        unknowns = [Number(model, model.residue("unknown", i), model.draws(("unknown", i)), v) for i, v in enumerate(x)]
        for i, u in enumerate(unknowns):
            u.d, u.dx = int(i == k), arb(int(i == k))
        return left(unknowns)

    def residual(x: Vector) -> Vector:
        return [model.lifted(u).x for u in lifted(x)]

    def jacobian(x: Vector) -> arb_mat:
        columns = [[_real_slope(u) for u in lifted(x, k)] for k in range(-1, count)]
        rest, *of_unknowns = columns  # without a moving unknown: the tangent of the arguments alone
        return arb_mat([[c[i] - rest[i] for c in of_unknowns] for i in range(count)])

    for start in STARTS:
        with apart(), suppress(OpenError, UndefinedError):
            root = enclosed_root(residual, jacobian, [arb(start)] * count)
            if root is not None:
                return root
    raise OpenError("a solution")


def _real_slope(u: Any) -> arb:
    return u.dx if isinstance(u, Number) and u.d is not None else arb(0)
