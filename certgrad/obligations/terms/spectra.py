"""Determinants of small matrices as polynomials in their entries, and when spectra are told apart.

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
    """The determinant of a matrix of at most SMALL rows, as a polynomial in its entries."""
    n = whole_number(size)
    return None if n is None or n > SMALL_ROWS else leibniz(body, row, column, list(range(n)), list(range(n)))


def leibniz(body: Poly, row: Var, column: Var, rows: list[int], columns: list[int]) -> Poly:
    """The minor of these rows and columns, by the formula of Leibniz."""
    applied(Law.LEIBNIZ_DETERMINANT)
    total = ZERO
    for order in permutations(columns):
        turns = sum(1 for k, m in combinations(order, 2) if k > m)
        term = ONE.scale((-1) ** turns)
        for r, k in zip(rows, order, strict=True):
            term = term * substitute(body, {row: of_const(number(r)), column: of_const(number(k))})
        total = total + term
    return total


SPECTRA = {"eigenvalue": 1, "singular value": 2}
"""Values that a matrix has in order, and the power of them that is an eigenvalue of the symmetric matrix."""


def of_matrix(name: str, body: Poly, row: Var, column: Var, ranges: tuple[Poly, Poly], index: tuple[Ix, ...]) -> Poly:
    """The atom for the named function of the matrix with entry `body` at (row, column), as it stands."""
    level = 1 + body.level
    variables = (("b", level, 0), ("b", level, 1))
    inside = substitute(body, {row: of_var(variables[0]), column: of_var(variables[1])})
    return poly_of(intern(Matrix(name, variables, ranges, inside, index)))


def gram(body: Poly, row: Var, column: Var, ranges: tuple[Poly, Poly]) -> tuple[Poly, Var, Var, Poly]:
    """The entry of AᵀA, or of A·Aᵀ where that has fewer rows, over a fresh row and column, with their range."""
    first, second, shared = fresh(), fresh(), fresh()
    wide = bool((ranges[1] - ranges[0]).positive)
    along, across = (column, row) if wide else (row, column)
    product = substitute(body, {along: of_var(shared), across: of_var(first)}) * substitute(
        body, {along: of_var(shared), across: of_var(second)}
    )
    return sum_over(product, [(shared, ranges[1 if wide else 0])]), first, second, ranges[0 if wide else 1]


def discriminant(body: Poly, row: Var, column: Var, size: Poly) -> Poly:
    """The discriminant of a symmetric matrix; that of one number is 1."""
    return ONE if size == ONE else of_matrix("discriminant", body, row, column, (size, size), ())


def smallest_minor(body: Poly, row: Var, column: Var, size: Poly) -> Poly:
    """The smallest leading principal minor of a matrix, but for positive factors that all entries have."""
    _, taken, rest = content(body, only_positive=True)
    kept = monomial({a: e for a, e in taken.items() if a.free & {row, column}}) * rest
    if size == ONE:
        kept = substitute(kept, {row: of_const(ZERO), column: of_const(ZERO)})
    return of_matrix("smallest minor", kept, row, column, (size, size), ())


def determinants(a: Matrix) -> list[Poly]:
    """Return determinants that are not 0 exactly where the matrix in `a` has full rank."""
    body, first, second, size = gram(a.body, *a.vars, a.ranges)
    found = [of_matrix("determinant", body, first, second, (size, size), ())]
    if a.ranges[0] == a.ranges[1]:
        found += [of_matrix("determinant", a.body, row, column, a.ranges, ()) for row, column in (a.vars, a.vars[::-1])]
    return found


def of_spectrum(a: Matrix) -> Poly:
    """The discriminant that says whether the values of the kind of `a` are all different."""
    if a.name == "eigenvalue":
        return discriminant(a.body, *a.vars, a.ranges[0])
    return discriminant(*gram(a.body, *a.vars, a.ranges))


def same_place(poly: Poly) -> Poly | None:
    """Return [i = j] where the term is c·(λ_j − λ_i): it is 0 there, and only there if the λ are all different."""
    if len(poly) != 2:
        return None
    (one, _), (other, _) = poly.items()
    if len(one) != 1 or len(other) != 1:
        return None
    a, b = one[0][0], other[0][0]
    if not isinstance(a, Matrix) or not isinstance(b, Matrix) or len(a.index) != 1 or len(b.index) != 1:
        return None
    same = index_equal(a.index[0].minus(b.index[0]))
    return same if eigenvalue_of_gap(poly + same) is not None else None


def eigenvalue_of_gap(poly: Poly) -> Matrix | None:
    """Return an eigenvalue λ_j where the term is c·(λ_j − λ_i) + d·[i = j] with c, d ≠ 0; else None.

    Such a term is not 0 if all λ differ. The squares of singular values count as λ.
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
