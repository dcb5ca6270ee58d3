"""Factorisations of matrices by orthogonal ones: eigenvectors, singular vectors, QR.

Each is known by its equations, for a matrix A with r the smaller of its sizes:

    eigh   A = V·Λ·Vᵀ    VᵀV = VVᵀ = I, Λ = diag(λ), A symmetric
    svd    A = U·Σ·Vᵀ    UᵀU = VᵀV = I, Σ = diag(σ); UUᵀ = I if A has r rows, VVᵀ = I if it has r columns
    qr     A = Q·R       QᵀQ = I, R upper triangular, A with at least as many rows as columns; QQᵀ = I if it is square

Where the λ are all different, the σ too and none is 0, and R has no 0 on its diagonal, differentiating the equations
determines the differentials of the factors. With P = VᵀdA·V, or UᵀdA·V, or C = QᵀdA·R⁻¹:

    dλ_k = P_kk                       dV = V·(F∘P),  F_lk = 1/(λ_k − λ_l) off the diagonal, 0 on it
    dσ_k = P_kk                       dU = U·(F∘(PΣ + ΣPᵀ)) + (I − UUᵀ)·dA·V·Σ⁻¹,  F_lk = 1/(σ_k² − σ_l²)
                                      dV = V·(F∘(ΣP + PᵀΣ)) + (I − VVᵀ)·dAᵀ·U·Σ⁻¹
    dQ = Q·Ω + (I − QQᵀ)·dA·R⁻¹       dR = (C − Ω)·R,  where Ω is antisymmetric and equal to C below the diagonal

The equations leave the signs of vectors open (of the columns of V; of those of U and V together; of the rows of R with
the columns of Q). What a program returns is one choice; its derivative is this one where the choice does not jump.
"""

from __future__ import annotations

from collections.abc import Callable

from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Poly, monomial
from certgrad.obligations.terms.power import power, pred
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.spectra import of_matrix
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh

from .matrices import (
    DERIVATIVES,
    ENTRY_MAKERS,
    LAWS_FOR_SUMS,
    Derivative,
    Factors,
    Ranges,
    argument_entry,
    delta,
    matrix,
)

VALUE, VECTOR = "eigenvalue", "eigenvector"
SINGULAR, LEFT, RIGHT = "singular value", "left singular vector", "right singular vector"
ORTHOGONAL, UPPER = "orthogonal factor", "upper factor"


def factor(name: str, a: Matrix, *index: Ix) -> Poly:
    """Return the entry at `index` of the named factor of the matrix inside of `a`."""
    return entry_of(name, a.body, *a.vars, a.ranges, index)


def entry_of(name: str, body: Poly, row: Var, column: Var, ranges: tuple[Poly, Poly], index: tuple[Ix, ...]) -> Poly:
    """Return the entry at `index` of the named factor of the matrix with the entry `body` at (row, column).

    Of a 1 × 1 matrix the factors are written out, with the signs that LAPACK gives them.
    """
    if ranges == (ONE, ONE):
        value = substitute(body, {row: index[0], column: index[0]})
        if name in (VALUE, UPPER):
            return value
        sign = ONE - pred(-value).scale(2)
        return sign * value if name == SINGULAR else sign if name == LEFT else ONE
    return of_matrix(name, body, row, column, ranges, index)


def _smaller_size(a: Matrix) -> Poly:
    """Return the smaller of the two sizes of the matrix inside."""
    return a.ranges[0] if (a.ranges[1] - a.ranges[0]).positive else a.ranges[1]


# --- derivatives ---------------------------------------------------------------------------------------------------


def _projected_differential(a: Matrix, left: str, right: str, inner: Poly, k: Var, m: Var) -> Callable[[Ix, Ix], Poly]:
    """Return (i, j) ↦ (Xᵀ·dA·Y)_ij for the factors X and Y named `left` and `right`.

    Here and below, `inner` is the entry of dA at row k and column m.
    """
    dummies = [(k, a.ranges[0]), (m, a.ranges[1])]
    return lambda i, j: sum_over(factor(left, a, of_var(k), i) * inner * factor(right, a, of_var(m), j), dummies)


def _gap(name: str, a: Matrix, here: Ix, there: Ix) -> Poly:
    """Return 1/(λ_here − λ_there), or 1/(σ_here² − σ_there²) for singular values; 0 where both indices are equal."""
    equality = index_equal(there.minus(here))  # added to the divisor too, which is then not 0 at equal indices
    e = 1 if name == VALUE else 2
    return (ONE - equality) * power(power(factor(name, a, here), e) - power(factor(name, a, there), e) + equality, -1)


def _of_value(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    return _projected_differential(a, VECTOR, VECTOR, inner, k, m)(a.index[0], a.index[0])


def _of_vector(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    (i, j), between = a.index, fresh()
    middle = of_var(between)
    differential = _projected_differential(a, VECTOR, VECTOR, inner, k, m)(middle, j)
    return sum_over(factor(VECTOR, a, i, middle) * _gap(VALUE, a, j, middle) * differential, [(between, a.ranges[0])])


def _of_singular_value(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    return _projected_differential(a, LEFT, RIGHT, inner, k, m)(a.index[0], a.index[0])


def _of_singular_vector(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    """Return the entry of dU or dV by the formulas above: a rotation of the vectors, and what leaves their span.

    The second part, (I − UUᵀ)·dA·V·Σ⁻¹ or its counterpart for V, is 0 where the vectors span the whole space.
    """
    (i, j), between, size = a.index, fresh(), _smaller_size(a)
    middle = of_var(between)
    p, is_left = _projected_differential(a, LEFT, RIGHT, inner, k, m), a.name == LEFT
    sigma_j, sigma_middle = factor(SINGULAR, a, j), factor(SINGULAR, a, middle)
    p_entry, p_transposed = (p(middle, j), p(j, middle)) if is_left else (p(j, middle), p(middle, j))
    rotated = factor(a.name, a, i, middle)
    within = sum_over(
        rotated * _gap(SINGULAR, a, j, middle) * (p_entry * sigma_j + sigma_middle * p_transposed), [(between, size)]
    )
    if a.ranges[0 if is_left else 1] == size:
        return within
    outside = (
        sum_over(substitute(inner, {k: i}) * factor(RIGHT, a, of_var(m), j), [(m, a.ranges[1])])
        if is_left
        else sum_over(substitute(inner, {m: i}) * factor(LEFT, a, of_var(k), j), [(k, a.ranges[0])])
    )
    return within + (outside - sum_over(rotated * p_entry, [(between, size)])) * power(sigma_j, -1)


def _solved(a: Matrix, inner: Poly, k: Var, m: Var) -> Callable[[Ix, Ix], Poly]:
    """Return (i, j) ↦ (dA·R⁻¹)_ij."""
    p, q = fresh(), fresh()
    entry, size = factor(UPPER, a, of_var(p), of_var(q)), a.ranges[1]

    def value(i: Ix, j: Ix) -> Poly:
        return sum_over(substitute(inner, {k: i}) * matrix("inverse", entry, p, q, size, (of_var(m), j)), [(m, size)])

    return value


def _turned(a: Matrix, inner: Poly, k: Var, m: Var) -> Callable[[Ix, Ix], Poly]:
    """Return (i, j) ↦ C_ij = (Qᵀ·dA·R⁻¹)_ij."""
    solved = _solved(a, inner, k, m)
    return lambda i, j: sum_over(factor(ORTHOGONAL, a, of_var(k), i) * solved(of_var(k), j), [(k, a.ranges[0])])


def _below(i: Ix, j: Ix) -> Poly:
    """Return [i > j]."""
    return index_condition(i.minus(j).shifted(-ONE))


def _of_orthogonal(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    (i, j), between = a.index, fresh()
    p, c = of_var(between), _turned(a, inner, k, m)
    turning = _below(p, j) * c(p, j) - _below(j, p) * c(j, p)
    square = a.ranges[0] == a.ranges[1]
    within = turning if square else turning - c(p, j)
    total = sum_over(factor(ORTHOGONAL, a, i, p) * within, [(between, a.ranges[1])])
    return total if square else total + _solved(a, inner, k, m)(i, j)


def _of_upper(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    (i, j), between = a.index, fresh()
    q, c = of_var(between), _turned(a, inner, k, m)
    kept = index_equal(i.minus(q)) * c(i, q) + _below(q, i) * (c(i, q) + c(q, i))
    return sum_over(kept * factor(UPPER, a, q, j), [(between, a.ranges[1])])


# --- sums over a shared row or column ------------------------------------------------------------------------------


def contracted(factors: Factors, ranges: Ranges) -> Poly | None:
    """Return the sum of a product over the ranges, with the sum over one k carried out by an equation above; else None.

    For example Σ_k V_ik·V_jk = [i = j]. All factors in which k stands must be factors of one and the same matrix.
    """
    for k, size in ranges.items():
        factors_with_k = [(a, e) for a, e in factors if k in a.free]
        other_ranges = {v: n for v, n in ranges.items() if v != k}
        rest = monomial({a: e for a, e in factors if k not in a.free})
        if (spectral := _spectral(factors_with_k, k, size)) is not None:
            return sum_over(spectral * rest, list(other_ranges.items()))
        if not all(isinstance(a, Matrix) and a.name in WHOLE and e in (1, 2) for a, e in factors_with_k):
            continue
        atoms = [a for a, e in factors_with_k for _ in range(e) if isinstance(a, Matrix)]  # type: ignore[arg-type]
        first = atoms[0] if 1 < len(atoms) < 4 else None
        if (
            first is None
            or any((a.body, a.ranges) != (first.body, first.ranges) for a in atoms)
            or k in first.body.free
        ):
            continue
        if any(k in ix.free and ix.variable() != k for a in atoms for ix in a.index):
            continue
        value = _orthogonality(atoms, k, size, rest, other_ranges) or _reconstruction(
            atoms, k, size, rest, other_ranges
        )
        if value is not None:
            return value
    return None


def _spectral(beside: Factors, k: Var, size: Poly) -> Poly | None:
    """Return Σ_k V_ik·λ_k^p·V_jk = (A^p)_ij for a whole number p > 1; None where `beside` is another product."""
    powers = [(a, e) for a, e in beside if isinstance(a, Matrix) and a.name == VALUE and a.index[0].variable() == k]
    vectors = [
        a for a, e in beside if isinstance(a, Matrix) and a.name == VECTOR and e in (1, 2) for _ in range(int(e))
    ]
    if len(powers) != 1 or len(vectors) != 2 or len(beside) != 1 + len({id(a) for a in vectors}):
        return None
    ((value, e),) = powers
    assert isinstance(value, Matrix)
    if e != int(e) or not 1 < e <= MOST or k in value.body.free or size != value.ranges[0]:
        return None
    for a in vectors:
        if (a.body, a.ranges) != (value.body, value.ranges) or a.index[1].variable() != k or k in a.index[0].free:
            return None
    applied(Law.SPECTRAL_POWER)
    return _power(value, int(e), *(a.index[0] for a in vectors))


def _power(a: Matrix, e: int, i: Ix, j: Ix) -> Poly:
    """Return (A^e)_ij for e > 0, with A the matrix inside of `a`."""
    if e == 1:
        return argument_entry(a, i, j)
    between = fresh()
    return sum_over(
        argument_entry(a, i, of_var(between)) * _power(a, e - 1, of_var(between), j), [(between, a.ranges[0])]
    )


def _orthogonality(atoms: list[Matrix], k: Var, size: Poly, rest: Poly, left: Ranges) -> Poly | None:
    """Return [i = j]·rest, summed over the ranges `left`, where Σ_k of the atoms is [i = j]; else None.

    That is Σ_k X_ki·X_kj for a factor X with orthonormal columns, and Σ_k X_ik·X_jk too if X is square.
    """
    if len(atoms) != 2 or atoms[0].name != atoms[1].name or atoms[0].name not in ORTHONORMAL:
        return None
    x, y = atoms
    rows, columns = x.ranges[0 if x.name != RIGHT else 1], _smaller_size(x)
    for place, count, index_size in ((0, rows, columns), (1, columns, rows)):
        if place == 1 and rows != columns:
            continue
        if all(a.index[place].variable() == k and k not in a.index[1 - place].free for a in atoms) and size == count:
            applied(Law.ORTHONORMAL)
            return delta(x.index[1 - place], y.index[1 - place], rest, left, index_size)
    return None


def _reconstruction(atoms: list[Matrix], k: Var, size: Poly, rest: Poly, left: Ranges) -> Poly | None:
    """Return A_ij·rest, summed over the ranges `left`, where Σ_k of the atoms is A_ij; else None.

    That is the sum in an entry of V·Λ·Vᵀ, U·Σ·Vᵀ or Q·R.
    """
    if size != _smaller_size(atoms[0]):
        return None
    atoms = sorted(atoms, key=lambda a: WHOLE.index(a.name))
    names = tuple(a.name for a in atoms)
    if names not in PRODUCTS:
        return None
    outer = atoms[-2:]
    places = (1, 0) if names == (ORTHOGONAL, UPPER) else (1, 1)
    if any(a.index[0].variable() != k for a in atoms[:-2]):
        return None
    if any(a.index[p].variable() != k or k in a.index[1 - p].free for a, p in zip(outer, places, strict=True)):
        return None
    i, j = (a.index[1 - p] for a, p in zip(outer, places, strict=True))
    applied(Law.FACTORISATION)
    return sum_over(argument_entry(atoms[0], i, j) * rest, list(left.items()))


MOST = 8
"""The largest power of a matrix that is written out."""
WHOLE = (VALUE, VECTOR, SINGULAR, LEFT, RIGHT, ORTHOGONAL, UPPER)
"""The factors, in the order in which they stand in a product."""
PRODUCTS = {(VALUE, VECTOR, VECTOR), (SINGULAR, LEFT, RIGHT), (ORTHOGONAL, UPPER)}
ORTHONORMAL = {VECTOR, LEFT, RIGHT, ORTHOGONAL}


def _noted(derivative: Derivative) -> Derivative:
    def of(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
        applied(Law.DERIVATIVE_OF_FACTORS)
        return derivative(a, k, m, inner)

    return of


DERIVATIVES |= {
    VALUE: _noted(_of_value),
    VECTOR: _noted(_of_vector),
    SINGULAR: _noted(_of_singular_value),
    LEFT: _noted(_of_singular_vector),
    RIGHT: _noted(_of_singular_vector),
    ORTHOGONAL: _noted(_of_orthogonal),
    UPPER: _noted(_of_upper),
}
ENTRY_MAKERS |= dict.fromkeys(WHOLE, entry_of)
LAWS_FOR_SUMS.append(contracted)
