"""Matrices that other matrices determine: inverses, determinants, Cholesky factors; the laws that they obey.

A value that is defined by an equation (A·A⁻¹ = I, L·Lᵀ = S) stands as an atom: an entry of the matrix that solves it,
with the given matrix as a term over a bound row and column. Whether the equation has a solution is a condition of the
program (`invertible`, `positive_definite`), recorded where the matrix is made; what is said here holds wherever it has
one, and the solution is then unique. Where it is, the implicit function theorem gives its derivative, which is what
solves the differentiated equation:

    A·X = I      ⇒  dX = −X·dA·X
    det A        ⇒  d det A = det A · tr(A⁻¹·dA)                              (Jacobi)
    L·Lᵀ = S     ⇒  L⁻¹·dL + (L⁻¹·dL)ᵀ = L⁻¹·dS·L⁻ᵀ, with L⁻¹·dL lower triangular, so
                    dL = L·Φ(L⁻¹·dS·L⁻ᵀ), where Φ keeps what is below the diagonal and half of the diagonal

Sums over a row or column that two such matrices share are carried out (`contracted`): that is what makes X = A⁻¹·B
close A·X = B, whatever B is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

from ._budget import budget
from ._conditions import Atomic, Clause, Clauses
from ._index import Ix, Var, of_const, of_var
from ._index_terms import index_equal
from ._power import UndefinedTermError, content, power
from ._sums import Rewriter, fresh, open_sum, substitute, sum_over
from ._terms import (
    ONE,
    ZERO,
    Access,
    Atom,
    Exponent,
    Matrix,
    Mono,
    Poly,
    Sum,
    atoms_of,
    intern,
    mono_free,
    monomial,
    parts,
    poly_of,
)

Factors = list[tuple[Atom, Exponent]]
Ranges = dict[Var, Poly]
SYMMETRIC = frozenset({"inverse"})
"""Names for which the value of the transpose is the transpose of the value."""
INVARIANT = frozenset({"determinant"})
"""Names for which the transpose has the same value."""


def matrix(name: str, body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...]) -> Poly:
    """The entry at `index` of the named function of the size × size matrix with entry `body` at (row, column)."""
    if size == ONE:
        body = _only(body, row, column)
    if name == "inverse":
        return _inverse(body, row, column, size, *index)
    if name == "determinant" and size == ONE:
        return body
    if name == "cholesky" and size == ONE:
        return power(body, Fraction(1, 2))
    return _opaque(name, body, row, column, size, index)


def rebuilt(a: Matrix, body: Poly, row: Var, column: Var, index: tuple[Ix, ...]) -> Poly:
    """The same function of another matrix, or another entry of it. (The determinant in a condition keeps its name.)"""
    if not index and a.ranges[0] == ONE:
        return _opaque(a.name, body, row, column, a.ranges[0], index)
    return matrix(a.name, body, row, column, a.ranges[0], index)


def opened(a: Matrix) -> tuple[Var, Var, Poly]:
    """The matrix inside, over fresh row and column."""
    row, column = fresh(), fresh()
    return row, column, at(a, of_var(row), of_var(column))


def at(a: Matrix, row: Ix, column: Ix) -> Poly:
    """The entry of the matrix inside."""
    return substitute(a.body, {a.vars[0]: row, a.vars[1]: column})


def _opaque(name: str, body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...]) -> Poly:
    if size == ONE:
        body = _only(body, row, column)
    level = 1 + body.level
    variables = (("b", level, 0), ("b", level, 1))
    inside = substitute(body, {row: of_var(variables[0]), column: of_var(variables[1])})
    if name in SYMMETRIC | INVARIANT:
        other = substitute(body, {row: of_var(variables[1]), column: of_var(variables[0])})
        if other.key < inside.key:
            inside, index = other, index[::-1]
        elif other == inside and len(index) == 2 and index[1].key < index[0].key:
            index = index[::-1]
    return poly_of(intern(Matrix(name, variables, (size, size), inside, index)))


def _only(body: Poly, row: Var, column: Var) -> Poly:
    """The one entry of a 1 × 1 matrix."""
    return substitute(body, {row: of_const(ZERO), column: of_const(ZERO)})


def symmetric(a: Matrix) -> bool:
    """The matrix inside is its own transpose, by its form."""
    row, column = a.vars
    return substitute(a.body, {row: of_var(column), column: of_var(row)}) == a.body


def _scalar_factor(body: Poly, row: Var, column: Var) -> tuple[Poly, Poly]:
    """body = scalar · rest, where the scalar does not depend on the row or column."""
    if body.is_zero:
        raise UndefinedTermError("the inverse of a matrix of zeros")
    c, taken, rest = content(body)
    moved = {a: e for a, e in taken.items() if not a.free & {row, column}}
    kept = monomial({a: e for a, e in taken.items() if a not in moved})
    return monomial(moved).scale(c), kept * rest


def _inverse(body: Poly, row: Var, column: Var, size: Poly, i: Ix, j: Ix) -> Poly:
    scalar, rest = _scalar_factor(body, row, column)
    if size == ONE:
        return power(body, -1)
    inner = rest.atom()
    if isinstance(inner, Matrix) and inner.name == "inverse" and inner.ranges[0] == size:
        where = [ix.variable() for ix in inner.index]
        if where == [row, column]:
            return at(inner, i, j) * power(scalar, -1)
        if where == [column, row]:
            return at(inner, j, i) * power(scalar, -1)
    return _opaque("inverse", rest, row, column, size, (i, j)) * power(scalar, -1)


# --- conditions ----------------------------------------------------------------------------------------------------


def invertible(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    """The matrix has an inverse."""
    return (Clause((Atomic("!= 0", _opaque("determinant", body, row, column, size, ())),), origin=origin),)


def positive_definite(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    """The symmetric matrix is positive definite: its smallest leading principal minor is positive (Sylvester)."""
    value = _opaque("smallest minor", body, row, column, size, ())
    return (Clause((Atomic("> 0", value),), origin=origin),)


# --- derivatives ---------------------------------------------------------------------------------------------------


def derivative(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly | None:
    """d of the entry, where the matrix inside has the differential `inner` at row k and column m; None if unknown."""
    if inner.is_zero:
        return ZERO
    size = a.ranges[0]
    dummies = [(k, size), (m, size)]

    def inverse(i: Ix, j: Ix) -> Poly:
        return matrix("inverse", a.body, *a.vars, size, (i, j))

    if a.name == "inverse":
        i, j = a.index
        return -sum_over(inverse(i, of_var(k)) * inner * inverse(of_var(m), j), dummies)
    if a.name == "determinant":
        return poly_of(a) * sum_over(inverse(of_var(m), of_var(k)) * inner, dummies)
    return None


# --- sums over a shared row or column ------------------------------------------------------------------------------


def contracted(factors: Factors, ranges: Ranges) -> Poly | None:
    """Σ over the ranges of the product, where a law carries out one of the sums; None where none applies.

    The factors are plain (no sums among them), and each mentions one of the variables.
    """
    for a, e in factors:
        if isinstance(a, Matrix) and e == 1 and a.name == "inverse":
            found = _times_inverse(a, factors, ranges)
            if found is not None:
                return found
    return None


def _times_inverse(a: Matrix, factors: Factors, ranges: Ranges) -> Poly | None:
    """Σ_k A⁻¹[i,k]·A[k,j] = [i = j], read as a rule for the leading term of A; Σ_k A[j,k]·A⁻¹[k,i] likewise."""
    inside = {v for v in a.free if v not in {w for ix in a.index for w in ix.free}}
    both_ways = symmetric(a)
    split = _split(a)
    if split is None:
        return None
    leading, others = split
    for place, other in ((1, a.index[0]), (0, a.index[1])):
        k = a.index[place].variable()
        if k is None or ranges.get(k) != a.ranges[0] or k in inside or k in other.free:
            continue
        rest = [(b, e) for b, e in factors if b is not a]
        for j in _positions(rest, k):
            row, column = (of_var(k), j) if place == 1 or both_ways else (j, of_var(k))
            names = {a.vars[0]: row, a.vars[1]: column}
            pattern = substitute(leading, names)
            for remaining, used in _without(rest, pattern, {**ranges}, k):
                budget.spend(20)
                c = pattern.single()[1]  # type: ignore[index]
                left = {v: n for v, n in ranges.items() if v != k and v not in used}
                delta = _delta(other, j, monomial(dict(remaining)), left)
                if others.is_zero:
                    return delta.scale(1 / c)
                product = poly_of(a) * substitute(others, names) * monomial(dict(remaining))
                return (delta - sum_over(product, [(k, ranges[k]), *left.items()])).scale(1 / c)
    return None


def _split(a: Matrix) -> tuple[Poly, Poly] | None:
    """The leading term of the matrix inside (of highest degree, then by key) among those that depend on the row and
    on the column, and the rest."""
    both = [t for t in a.body.sorted_items() if mono_free(t[0]) >= set(a.vars)]
    if not both:
        return None
    mono, c = max(both, key=lambda t: sum(e for _, e in t[0]))
    leading = Poly({mono: c})
    return leading, a.body - leading


def _positions(factors: Factors, k: Var) -> list[Ix]:
    """Index expressions that stand beside k in the factors."""
    found: dict[Ix, None] = {}
    for a, _ in factors:
        if k not in a.free:
            continue
        for v in sorted(a.free):
            if v != k:
                found.setdefault(of_var(v))
        for b in [a, *(c for p in parts(a) for c in atoms_of(p))]:
            for ix in b.index if isinstance(b, (Access, Matrix)) else ():
                if k not in ix.free and not any(v[0] == "b" for v in ix.free):
                    found.setdefault(ix)
    return list(found)


def _without(factors: Factors, pattern: Poly, ranges: Ranges, k: Var) -> Iterator[tuple[Factors, set[Var]]]:
    """The ways to take the pattern (a monomial, perhaps with sums) out of the factors so that k goes with it.

    Yields what remains, and the variables that the pattern's own sums have used up.
    """
    single = pattern.single()
    if single is None:
        return
    flat, own = _flattened(single[0])
    if flat is None:
        return
    for chosen in permutations([v for v in ranges if v != k], len(own)):
        if any(ranges[v] != n for v, (_, n) in zip(chosen, own, strict=True)):
            continue
        names = {w: of_var(v) for (w, _), v in zip(own, chosen, strict=True)}
        wanted = substitute(flat, names).single()
        if wanted is None or wanted[1] != 1:
            continue
        left = dict(factors)
        for b, e in wanted[0]:
            left[b] = left.get(b, 0) - e
        remaining = [(b, e) for b, e in left.items() if e != 0]
        gone = {k, *chosen}
        known = dict(factors)
        if all(e > 0 and b in known for b, e in wanted[0]) and not any(b.free & gone for b, _ in remaining):
            if all(left[b] >= 0 for b, _ in wanted[0]):
                yield remaining, set(chosen)


def _flattened(mono: Mono) -> tuple[Poly | None, list[tuple[Var, Poly]]]:
    """The monomial with its sums opened, and their variables."""
    own: list[tuple[Var, Poly]] = []
    flat = ONE
    for a, e in mono:
        if isinstance(a, Sum):
            if e != 1:
                return None, []
            dummies, body = open_sum(a)
            own += dummies
            flat = flat * body
        else:
            flat = flat * monomial({a: e})
    return (flat if len(flat) == 1 else None), own


def _delta(i: Ix, j: Ix, rest: Poly, ranges: Ranges) -> Poly:
    """Σ over the ranges of [i = j]·rest."""
    if i == j:
        return sum_over(rest, list(ranges.items()))
    for here, there in ((j, i), (i, j)):
        v = here.variable()
        if v is not None and v in ranges and v not in there.free:
            left = [(w, n) for w, n in ranges.items() if w != v]
            return sum_over(Rewriter({v: there})(rest), left)
    return sum_over(index_equal(i.minus(j)) * rest, list(ranges.items()))
