"""Determinants of small matrices as polynomials in their entries, and when the values of a spectrum are all different.

The discriminant of a matrix is Π_{k<l} (λ_k − λ_l)² over its eigenvalues, a polynomial in its entries: it is not 0
exactly where no two of them are equal. The squares of the singular values of A are the eigenvalues of AᵀA.
"""

from __future__ import annotations

from itertools import combinations, permutations

from flint import fmpq

from .determined import Matrix
from .index import Ix, of_const, of_var, whole_number
from .index_terms import index_equal
from .law import Law, applied
from .polynomials import ONE, ZERO, Poly, monomial, number, poly_of
from .power import content
from .rewriting import substitute
from .session import intern
from .sums import sum_over
from .variables import Var, fresh

SMALL_ROWS = 3
"""Rows of a matrix whose determinant is written out; that of a larger one stays an atom."""


def explicit_determinant(body: Poly, row: Var, column: Var, size: Poly) -> Poly | None:
    """Return the determinant of a matrix as a polynomial in its entries; None for one of more than SMALL_ROWS rows.

    Here as below, a matrix is given by its entry `body` at the variables `row` and `column`.
    """
    n = whole_number(size)
    return None if n is None or n > SMALL_ROWS else leibniz(body, row, column, list(range(n)), list(range(n)))


def leibniz(body: Poly, row: Var, column: Var, rows: list[int], columns: list[int]) -> Poly:
    """Return the determinant of the given rows and columns of a matrix, by the formula of Leibniz."""
    applied(Law.LEIBNIZ_DETERMINANT)
    total = ZERO
    for order in permutations(columns):
        inversions = sum(1 for k, m in combinations(order, 2) if k > m)
        term = ONE.scale((-1) ** inversions)
        for r, k in zip(rows, order, strict=True):
            term = term * substitute(body, {row: of_const(number(r)), column: of_const(number(k))})
        total = total + term
    return total


SPECTRA = {"eigenvalue": 1, "singular value": 2}
"""The values of a spectrum by name, with the power of each that is an eigenvalue of a symmetric matrix (A or AᵀA)."""


def of_matrix(name: str, body: Poly, row: Var, column: Var, ranges: tuple[Poly, Poly], index: tuple[Ix, ...]) -> Poly:
    """Return the atom for the named function of a matrix, without simplification; `index` is the entry of its value."""
    level = 1 + body.level
    variables = (("b", level, 0), ("b", level, 1))
    entry = substitute(body, {row: of_var(variables[0]), column: of_var(variables[1])})
    return poly_of(intern(Matrix(name, variables, ranges, entry, index)))


def gram(body: Poly, row: Var, column: Var, ranges: tuple[Poly, Poly]) -> tuple[Poly, Var, Var, Poly]:
    """Return the entry of AᵀA, or of A·Aᵀ where that has fewer rows, its fresh row and column, and their range."""
    first, second, shared = fresh(), fresh(), fresh()
    wide = bool((ranges[1] - ranges[0]).positive)
    along, across = (column, row) if wide else (row, column)
    product = substitute(body, {along: of_var(shared), across: of_var(first)}) * substitute(
        body, {along: of_var(shared), across: of_var(second)}
    )
    return sum_over(product, [(shared, ranges[1 if wide else 0])]), first, second, ranges[0 if wide else 1]


def discriminant(body: Poly, row: Var, column: Var, size: Poly) -> Poly:
    """Return the discriminant of a symmetric matrix; that of a matrix of one entry is 1."""
    return ONE if size == ONE else of_matrix("discriminant", body, row, column, (size, size), ())


def smallest_minor(body: Poly, row: Var, column: Var, size: Poly) -> Poly:
    """Return the smallest leading principal minor of a matrix, without positive factors that all entries share."""
    _, taken, rest = content(body, only_positive=True)
    entry = monomial({a: e for a, e in taken.items() if a.free & {row, column}}) * rest
    if size == ONE:
        entry = substitute(entry, {row: of_const(ZERO), column: of_const(ZERO)})
    return of_matrix("smallest minor", entry, row, column, (size, size), ())


def determinants(a: Matrix) -> list[Poly]:
    """Return determinants, each of which is not 0 exactly where the matrix A in `a` has full rank.

    They are det(AᵀA), or det(A·Aᵀ), and for a square matrix also det(A) and det(Aᵀ).
    """
    body, first, second, size = gram(a.body, *a.vars, a.ranges)
    out = [of_matrix("determinant", body, first, second, (size, size), ())]
    if a.ranges[0] == a.ranges[1]:
        out += [of_matrix("determinant", a.body, row, column, a.ranges, ()) for row, column in (a.vars, a.vars[::-1])]
    return out


def of_spectrum(a: Matrix) -> Poly:
    """Return the discriminant that is not 0 where all eigenvalues, or singular values, of the matrix in `a` differ."""
    if a.name == "eigenvalue":
        return discriminant(a.body, *a.vars, a.ranges[0])
    return discriminant(*gram(a.body, *a.vars, a.ranges))


def same_place(poly: Poly) -> Poly | None:
    """Return [i = j] for a term c·(λ_j − λ_i), which is 0 only where i = j if all λ differ; None for other terms."""
    if len(poly) != 2:
        return None
    (first, _), (second, _) = poly.items()
    if len(first) != 1 or len(second) != 1:
        return None
    a, b = first[0][0], second[0][0]
    if not isinstance(a, Matrix) or not isinstance(b, Matrix) or len(a.index) != 1 or len(b.index) != 1:
        return None
    same = index_equal(a.index[0].minus(b.index[0]))
    return same if eigenvalue_of_gap(poly + same) is not None else None


def eigenvalue_of_gap(poly: Poly) -> Matrix | None:
    """Return an eigenvalue λ_j where the term is c·(λ_j − λ_i) + d·[i = j] with c, d ≠ 0; else None.

    Such a term is not 0 if all λ differ: at i = j it is d, elsewhere c·(λ_j − λ_i). Squares of singular values count as
    λ.
    """
    if len(poly) != 3:
        return None
    gaps: dict[Matrix, fmpq] = {}
    same: Poly | None = None
    for mono, c in poly.items():
        if len(mono) != 1:
            return None
        ((a, e),) = mono
        if isinstance(a, Matrix) and SPECTRA.get(a.name) == e:
            gaps[a] = c
        elif e == 1:
            same = poly_of(a)
    if same is None or len(gaps) != 2:
        return None
    (a, c), (b, d) = gaps.items()
    if c + d != 0 or (a.name, a.body, a.ranges) != (b.name, b.body, b.ranges):
        return None
    return a if same == index_equal(a.index[0].minus(b.index[0])) else None
