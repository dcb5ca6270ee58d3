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

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from math import prod

from flint import fmpq

from certgrad.obligations.assume.conditions import Atomic, Clause, Clauses, condition
from certgrad.obligations.terms.atoms import Access, Sum
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.determined import Matrix, is_triangular
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import Ix, of_const, of_var, whole_number
from certgrad.obligations.terms.index_terms import index_condition, index_equal
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, mono_free, monomial, number, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, content, power
from certgrad.obligations.terms.rewriting import Rewriter, rebuilds, substitute, with_names
from certgrad.obligations.terms.session import Memo, intern
from certgrad.obligations.terms.spectra import SMALL_ROWS, explicit_determinant, gram, leibniz, smallest_minor
from certgrad.obligations.terms.sums import CONTRACTS, open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

Factors = list[tuple[Atom, Exponent]]
Ranges = dict[Var, Poly]
SYMMETRIC = frozenset({"inverse"})
"""Names for which the value of the transpose is the transpose of the value."""
INVARIANT = frozenset({"determinant"})
"""Names for which the transpose has the same value."""
MakeEntry = Callable[[str, Poly, Var, Var, tuple[Poly, Poly], tuple[Ix, ...]], Poly]
ENTRY_MAKERS: dict[str, MakeEntry] = {}
"""By name, how entries of functions are made whose laws other modules have; these matrices need not be square."""
Derivative = Callable[[Matrix, Var, Var, Poly], Poly]
DERIVATIVES: dict[str, Derivative] = {}
"""By name, the differential of such an entry, from the atom, a row k, a column m and the entry of dA at (k, m)."""
LAWS_FOR_SUMS: list[Callable[[Factors, Ranges], Poly | None]] = []
"""Laws of other modules that carry out a sum over a shared row or column; each returns None where it does not apply."""
SEEN_THROUGH: list[Callable[[Poly, Var, Var], tuple[Poly, Var, Var] | None]] = []
"""Each returns (entry, row, column) of a matrix that has an inverse exactly where the given one has, or None."""


def matrix(name: str, body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...]) -> Poly:
    """Return the entry at `index` of the named function of the size × size matrix with `body` at (row, column)."""
    if size == ONE:
        body = _only(body, row, column)
    if name == "inverse":
        return _inverse(body, row, column, size, *index)
    if name == "determinant" and (value := explicit_determinant(body, row, column, size)) is not None:
        return value
    if name == "cholesky" and size == ONE:
        return power(body, Fraction(1, 2))
    return _opaque(name, body, row, column, size, index)


def rebuilt(
    a: Matrix, body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...], columns: Poly | None = None
) -> Poly:
    """Return the entry at `index` of a's function of another matrix; a determinant of known size is not written out."""
    if a.name in ENTRY_MAKERS:
        return ENTRY_MAKERS[a.name](a.name, body, row, column, (size, columns or size), index)
    if not index and whole_number(size) is not None:
        return _opaque(a.name, body, row, column, size, index)
    return matrix(a.name, body, row, column, size, index)


_own_transpose: Memo[Poly, bool] = Memo()
"""Whether matrices over the same bound variables are symmetric, by their entry."""


def reindexed(a: Matrix, index: tuple[Ix, ...]) -> Poly:
    """Return the entry at `index` of the same function of the same matrix as `a`."""
    if a.name in SYMMETRIC and len(index) == 2 and index[1].key < index[0].key:
        if a.body not in _own_transpose.table:
            _own_transpose.table[a.body] = symmetric(a)
        if _own_transpose.table[a.body]:
            index = index[::-1]
    return poly_of(intern(Matrix(a.name, a.vars, a.ranges, a.body, index)))


def opened(a: Matrix) -> tuple[Var, Var, Poly]:
    """Return (row, column, entry) of the matrix that the function is taken of, over fresh variables."""
    row, column = fresh(), fresh()
    return row, column, argument_entry(a, of_var(row), of_var(column))


def argument_entry(a: Matrix, row: Ix, column: Ix) -> Poly:
    """Return the entry at (row, column) of the matrix that the function in `a` is taken of."""
    return substitute(a.body, {a.vars[0]: row, a.vars[1]: column})


def _opaque(name: str, body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...]) -> Poly:
    if size == ONE:
        body = _only(body, row, column)
    level = 1 + body.level
    variables = (("b", level, 0), ("b", level, 1))
    inside = substitute(body, {row: of_var(variables[0]), column: of_var(variables[1])})
    if name in SYMMETRIC | INVARIANT:
        transposed = substitute(body, {row: of_var(variables[1]), column: of_var(variables[0])})
        if transposed.key < inside.key:
            inside, index = transposed, index[::-1]
        elif transposed == inside and len(index) == 2 and index[1].key < index[0].key:
            index = index[::-1]
    return poly_of(intern(Matrix(name, variables, (size, size), inside, index)))


def _only(body: Poly, row: Var, column: Var) -> Poly:
    """Return the one entry of a 1 × 1 matrix."""
    return substitute(body, {row: of_const(ZERO), column: of_const(ZERO)})


def symmetric(a: Matrix) -> bool:
    """Return whether the matrix inside is its own transpose, by its form."""
    row, column = a.vars
    return substitute(a.body, {row: of_var(column), column: of_var(row)}) == a.body


def _scalar_factor(body: Poly, row: Var, column: Var) -> tuple[Poly, Poly]:
    """Return (scalar, rest) with body = scalar · rest, where the scalar depends on neither the row nor the column."""
    if body.is_zero:
        raise UndefinedTermError("the inverse of a matrix of zeros")
    taken = content(body)[1]
    moved = {a: e for a, e in taken.items() if not a.free & {row, column}}
    rest = body * monomial({a: -e for a, e in moved.items()}) if moved else body
    c = rest.sorted_items()[0][1]
    return monomial(moved).scale(c), rest.scale(1 / c)


def _inverse(body: Poly, row: Var, column: Var, size: Poly, i: Ix, j: Ix) -> Poly:
    scalar, rest = _scalar_factor(body, row, column)
    if scalar != ONE:
        applied(Law.INVERSE_OF_SCALED)
    if size == ONE:
        return power(body, -1)
    inner = rest.atom()
    if isinstance(inner, Matrix) and inner.name == "inverse" and inner.ranges[0] == size:
        where = [ix.variable() for ix in inner.index]
        if where == [row, column]:
            return argument_entry(inner, i, j) * power(scalar, -1)
        if where == [column, row]:
            return argument_entry(inner, j, i) * power(scalar, -1)
    return _opaque("inverse", rest, row, column, size, (i, j)) * power(scalar, -1)


# --- small matrices ------------------------------------------------------------------------------------------------


def has_small_inverse(poly: Poly) -> bool:
    """Return whether the inverse of a matrix of few rows occurs, whose entries are free of other such matrices."""
    return any(_is_small_inverse(a) for a in deep_atoms(poly))


def _is_small_inverse(a: Atom) -> bool:
    n = whole_number(a.ranges[0]) if isinstance(a, Matrix) and a.name == "inverse" else None
    return n is not None and n <= SMALL_ROWS and not any(isinstance(b, Matrix) for b in deep_atoms(a.body))  # type: ignore[attr-defined]


FEW_SUMMANDS = 8
"""The most summands of a sum that is written out where entries at numeric indices occur; a longer one stays a sum."""


def has_small_sum(poly: Poly) -> bool:
    """Return whether the term has a sum over few values and entries at numeric indices, which may be its summands."""
    atoms = deep_atoms(poly)
    at_numbers = any(isinstance(a, Access) and not all(ix.terms for ix in a.index) for a in atoms)
    return at_numbers and any(isinstance(a, Sum) and _is_small(a) for a in atoms)


def _is_small(a: Sum) -> bool:
    counts = [whole_number(n) for n in a.ranges]
    return prod(n or 0 for n in counts) <= FEW_SUMMANDS and all(n is not None for n in counts)


def written_out(poly: Poly, sums: bool = False) -> Poly:
    """Return the term with sums over few values written out, and inverses of small matrices by cofactors.

    Without `sums`, only sums that have such an inverse are written out.
    """

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Sum) and (_is_small(a) if sums else has_small_inverse(poly_of(a))):
            dummies, body = open_sum(a)
            counts = [whole_number(n) for _, n in dummies]
            if not sums and any(n is None or n > SMALL_ROWS for n in counts):
                return None
            total = ZERO
            for place in product(*(range(n or 0) for n in counts)):
                names = {v: of_const(number(k)) for (v, _), k in zip(dummies, place, strict=True)}
                total = total + written_out(substitute(body, names), sums)
            return total
        if isinstance(a, Matrix) and _is_small_inverse(a) and not any(ix.terms for ix in a.index):
            applied(Law.INVERSE_BY_COFACTORS)  # (A⁻¹)[i, j] is the cofactor of A[j, i] over the determinant
            i, j = (whole_number(ix.const) for ix in a.index)
            all_rows = range(whole_number(a.ranges[0]) or 0)
            rows, columns = [k for k in all_rows if k != j], [k for k in all_rows if k != i]
            minor = leibniz(a.body, *a.vars, rows, columns).scale((-1) ** ((i or 0) + (j or 0)))
            return minor * power(leibniz(a.body, *a.vars, list(all_rows), list(all_rows)), -1)
        return None

    return Rewriter(replace=value)(poly)


# --- conditions ----------------------------------------------------------------------------------------------------


def triangle(body: Poly, row: Var, column: Var, strict: bool) -> Poly:
    """Return the entry of the lower triangle of a matrix (without its diagonal if `strict`), and zeros elsewhere."""
    return body * index_condition(of_var(row).minus(of_var(column)).shifted(-ONE if strict else ZERO))


def invertible(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    """Return the condition that the matrix is invertible: no 0 on its diagonal if triangular, else determinant ≠ 0."""
    inner = body.atom()
    if isinstance(inner, Matrix) and inner.name == "upper factor":  # R of A = Q·R, where A has full rank
        original = (inner.body, *inner.vars)
        square = inner.ranges[0] == inner.ranges[1]
        return invertible(*(original + (inner.ranges[0],) if square else gram(*original, inner.ranges)), origin)
    for equivalent_of in SEEN_THROUGH:
        if (equivalent := equivalent_of(body, row, column)) is not None:
            return invertible(*equivalent, size, origin)
    if is_triangular(body, row, column) or is_triangular(body, column, row):
        place = of_const(ZERO) if size == ONE else of_var(fresh("q"))
        return condition("!= 0", substitute(body, {row: place, column: place}), origin)
    return (Clause((Atomic("!= 0", _opaque("determinant", body, row, column, size, ())),), origin=origin),)


def positive_definite(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    """Return the condition of positive definiteness: the smallest leading principal minor is positive (Sylvester)."""
    return (Clause((Atomic("> 0", smallest_minor(body, row, column, size)),), origin=origin),)


# --- derivatives ---------------------------------------------------------------------------------------------------


def derivative(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly | None:
    """Return the differential of the entry `a`, with `inner` the entry of dA at row k and column m; None if unknown."""
    if inner.is_zero:
        return ZERO
    if a.name in DERIVATIVES:
        return DERIVATIVES[a.name](a, k, m, inner)
    size = a.ranges[0]
    dummies = [(k, size), (m, size)]

    def inverse(i: Ix, j: Ix) -> Poly:
        return matrix("inverse", a.body, *a.vars, size, (i, j))

    if a.name == "inverse":
        applied(Law.DERIVATIVE_OF_INVERSE)
        i, j = a.index
        return -sum_over(inverse(i, of_var(k)) * inner * inverse(of_var(m), j), dummies)
    if a.name == "determinant":
        applied(Law.DERIVATIVE_OF_DETERMINANT)
        return poly_of(a) * sum_over(inverse(of_var(m), of_var(k)) * inner, dummies)
    if a.name == "cholesky":
        applied(Law.DERIVATIVE_OF_CHOLESKY)
        (i, j), p, q, v = a.index, fresh(), fresh(), fresh()
        entry = matrix("cholesky", a.body, *a.vars, size, (of_var(p), of_var(q)))

        def factor_inverse(i: Ix, j: Ix) -> Poly:
            return matrix("inverse", entry, p, q, size, (i, j))

        below = of_var(v).minus(j)  # Φ keeps what is below the diagonal, and half of the diagonal
        phi = index_condition(below) - index_equal(below).scale(fmpq(1, 2))
        transformed = factor_inverse(of_var(v), of_var(k)) * inner * factor_inverse(j, of_var(m))
        factor = matrix("cholesky", a.body, *a.vars, size, (i, of_var(v)))
        return sum_over(factor * phi * transformed, [(v, size), *dummies])
    return None


# --- sums over a shared row or column ------------------------------------------------------------------------------


def contracted(factors: Factors, ranges: Ranges) -> Poly | None:
    """Return the sum of a product over the ranges, with one sum carried out by a law of matrices; None if none applies.

    The factors are plain (no sums among them), and each mentions one of the variables.
    """
    matrices = [(a, e) for a, e in factors if isinstance(a, Matrix)]
    for a, e in matrices:
        if e == 1 and a.name == "inverse":
            value = _times_inverse(a, factors, ranges)
            if value is not None:
                applied(Law.INVERSE)
                return value
    for k, size in ranges.items():
        with_k = [(a, e) for a, e in factors if k in a.free]
        pair = [a for a, e in with_k for _ in range(e if isinstance(e, int) and e > 0 else 0) if isinstance(a, Matrix)]
        if len(pair) == 2 and sum(e for _, e in with_k) == 2 and all(a.ranges[0] == size for a in pair):
            product = _product(pair[0], pair[1], k) or _product(pair[1], pair[0], k)
            if product is not None:
                applied(Law.CHOLESKY)
                rest = monomial({a: e for a, e in factors if k not in a.free}) * product
                return sum_over(rest, [(v, n) for v, n in ranges.items() if v != k])
    return next((value for law in LAWS_FOR_SUMS if (value := law(factors, ranges)) is not None), None)


def _product(a: Matrix, b: Matrix, k: Var) -> Poly | None:
    """Return Σ_k a·b for a Cholesky factor L of S: L·Lᵀ = S, L⁻ᵀ·L⁻¹ = S⁻¹, S⁻¹·L = L⁻ᵀ; None for other factors."""
    if (
        len(a.index) != 2
        or len(b.index) != 2
        or k in a.body.free | b.body.free
        or any(k in ix.free and ix.variable() != k for ix in (*a.index, *b.index))
    ):
        return None
    summed_in_a, summed_in_b = [ix.variable() == k for ix in a.index], [ix.variable() == k for ix in b.index]
    if sum(summed_in_a) != 1 or sum(summed_in_b) != 1:
        return None
    i, j = a.index[summed_in_a.index(False)], b.index[summed_in_b.index(False)]
    if a.name == b.name == "cholesky" and summed_in_a == summed_in_b == [False, True] and a.body == b.body:
        return argument_entry(a, i, j)
    if a.name != "inverse":
        return None
    factor, row = _factor(a)
    if factor is not None and a.body == b.body and b.name == "inverse" and summed_in_a[row] and summed_in_b[row]:
        return matrix("inverse", factor.body, *factor.vars, a.ranges[0], (i, j))
    if b.name == "cholesky" and summed_in_b[0]:  # b is the factor L of S, and S⁻¹ = s·a with a scalar s: a·L = L⁻ᵀ/s
        scaled_inverse = matrix("inverse", b.body, *b.vars, b.ranges[0], a.index).single()
        if scaled_inverse is not None and dict(scaled_inverse[0]).get(a) == 1:
            scalar = monomial({c: e for c, e in scaled_inverse[0] if c is not a}).scale(scaled_inverse[1])
            m, n = fresh(), fresh()
            entry = matrix("cholesky", b.body, *b.vars, b.ranges[0], (of_var(m), of_var(n)))
            return matrix("inverse", entry, m, n, b.ranges[0], (j, i)) * power(scalar, -1)
    return None


def _factor(a: Matrix) -> tuple[Matrix | None, int]:
    """Return the Cholesky factor L where `a` is an entry of L⁻¹ or L⁻ᵀ, and which of its two indices is L⁻¹'s row."""
    inner = a.body.atom()
    if a.name != "inverse" or not isinstance(inner, Matrix) or inner.name != "cholesky":
        return None, 0
    where = [ix.variable() for ix in inner.index]
    return (inner, 0) if where == list(a.vars) else (inner, 1) if where == list(a.vars[::-1]) else (None, 0)


def _times_inverse(a: Matrix, factors: Factors, ranges: Ranges) -> Poly | None:
    """Return the sum with Σ_k A⁻¹[i,k]·A[k,j] = [i = j], or A·A⁻¹ likewise, carried out; None where neither occurs.

    `a` is the entry of A⁻¹. A[k,j] is looked for by its leading term, and A's other terms are subtracted. Where A is a
    Cholesky factor L of S, also Σ_k L⁻¹[i,k]·S[k,j] = L[j,i].
    """
    both_ways = symmetric(a)
    for place in (1, 0):
        value = _applied(a, place, a, place == 0 and not both_ways, factors, ranges)
        if value is not None:
            return value
    factor, row = _factor(a)
    return None if factor is None else _applied(a, 1 - row, factor, False, factors, ranges)


def _applied(a: Matrix, place: int, other: Matrix, turned: bool, factors: Factors, ranges: Ranges) -> Poly | None:
    """Return the sum of the factors, found to be a[…k…]·M[k,j]·rest with k at index `place` of a; else None.

    M is the matrix inside of `other`; if `turned`, M[j,k] is looked for. Without M's lower terms, Σ_k is [i = j] where
    `other` is `a`, and else an entry of the Cholesky factor.
    """
    k, i, size = a.index[place].variable(), a.index[1 - place], a.ranges[0]
    if k is None or ranges.get(k) != size or k in a.body.free or k in i.free:
        return None
    split = _split_leading_term(other)
    if split is None:
        return None
    leading, lower_terms = split
    other_factors = [(b, e) for b, e in factors if b is not a]
    for j in _positions(other_factors, k):
        names = dict(zip(other.vars, (j, of_var(k)) if turned else (of_var(k), j), strict=True))
        pattern = substitute(leading, names)
        for remaining, used in _without(other_factors, pattern, ranges, k):
            budget.spend(20)
            c = pattern.single()[1]  # type: ignore[index]
            rest = monomial(dict(remaining))
            outer = {v: n for v, n in ranges.items() if v != k and v not in used}
            if other is a:
                total = delta(i, j, rest, outer, size)
            else:
                total = sum_over(matrix("cholesky", other.body, *other.vars, size, (j, i)) * rest, list(outer.items()))
            if not lower_terms.is_zero:
                product = poly_of(a) * substitute(lower_terms, names) * rest
                total = total - sum_over(product, [(k, size), *outer.items()])
            return total.scale(1 / c)
    return None


def _split_leading_term(a: Matrix) -> tuple[Poly, Poly] | None:
    """Return the leading term (of highest degree) of the matrix inside among those in row and column, and the rest."""
    candidates = [t for t in a.body.sorted_items() if mono_free(t[0]) >= set(a.vars)]
    if not candidates:
        return None
    mono, c = max(candidates, key=lambda t: sum(e for _, e in t[0]))
    leading = Poly({mono: c})
    return leading, a.body - leading


def _positions(factors: Factors, k: Var) -> list[Ix]:
    """Return the index expressions that stand beside k in the factors: the candidates for j."""
    candidates: dict[Ix, None] = {}
    for a, _ in factors:
        if k not in a.free:
            continue
        for v in sorted(a.free):
            if v != k:
                candidates.setdefault(of_var(v))
        for b in [a, *(c for p in a.parts() for c in atoms_of(p))]:
            for ix in b.index if isinstance(b, (Access, Matrix)) else ():
                if k not in ix.free and not any(v[0] == "b" for v in ix.free):
                    candidates.setdefault(ix)
    return list(candidates)


def _without(factors: Factors, pattern: Poly, ranges: Ranges, k: Var) -> Iterator[tuple[Factors, set[Var]]]:
    """Yield the ways to divide the factors by the pattern (a monomial, perhaps with sums) so that no k is left.

    Each is the quotient, and the variables of `ranges` that the pattern's own sums use up.
    """
    single = pattern.single()
    if single is None:
        return
    flat, pattern_sums = _flattened(single[0])
    if flat is None:
        return
    for chosen in permutations([v for v in ranges if v != k], len(pattern_sums)):
        if any(ranges[v] != n for v, (_, n) in zip(chosen, pattern_sums, strict=True)):
            continue
        names = {w: of_var(v) for (w, _), v in zip(pattern_sums, chosen, strict=True)}
        wanted = substitute(flat, names).single()
        if wanted is None or wanted[1] != 1:
            continue
        exponents = dict(factors)
        for b, e in wanted[0]:
            exponents[b] = exponents.get(b, 0) - e
        remaining = [(b, e) for b, e in exponents.items() if e != 0]
        used_up = {k, *chosen}
        given = dict(factors)
        # k and the variables of the pattern's sums must not be left in the quotient: they are summed over with it.
        if all(e > 0 and b in given for b, e in wanted[0]) and not any(b.free & used_up for b, _ in remaining):
            if all(exponents[b] >= 0 for b, _ in wanted[0]):
                yield remaining, set(chosen)


def _flattened(mono: Mono) -> tuple[Poly | None, list[tuple[Var, Poly]]]:
    """Return the monomial with its sums opened, and their variables; None where that is no monomial."""
    sum_variables: list[tuple[Var, Poly]] = []
    flat = ONE
    for a, e in mono:
        if isinstance(a, Sum):
            if e != 1:
                return None, []
            dummies, body = open_sum(a)
            sum_variables += dummies
            flat = flat * body
        else:
            flat = flat * monomial({a: e})
    return (flat if len(flat) == 1 else None), sum_variables


def delta(i: Ix, j: Ix, rest: Poly, ranges: Ranges, size: Poly) -> Poly:
    """Return Σ over the ranges of [i = j]·rest, where i and j are indices of a matrix of this size."""
    if i == j:
        return sum_over(rest, list(ranges.items()))
    for here, there in ((j, i), (i, j)):
        v = here.variable()
        if v is not None and ranges.get(v) == size and (there.variable() is not None or not there.terms):
            other_ranges = [(w, n) for w, n in ranges.items() if w != v]
            return sum_over(Rewriter({v: there})(rest), other_ranges)
    return sum_over(index_equal(i.minus(j)) * rest, list(ranges.items()))


@rebuilds(Matrix)
def _rebuilt(a: Matrix, rewriter: Rewriter) -> Poly:
    index = tuple(ix.subst(rewriter.indices) for ix in a.index)
    if rewriter.replace is None and not (a.body.free - set(a.vars)) & rewriter.indices.keys():
        return reindexed(a, index)
    row, column = fresh(), fresh()
    names = dict(zip(a.vars, (row, column), strict=True))
    body = Rewriter(rewriter.indices, rewriter.replace)(with_names(names)(a.body))
    size, columns = a.ranges if rewriter.replace is None else (rewriter(n) for n in a.ranges)
    return rebuilt(a, body, row, column, size, index, columns)


CONTRACTS[Matrix] = contracted
