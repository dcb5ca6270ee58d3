"""Other forms of inverses and determinants, which close an obligation where their normal form does not.

- `factored`: (F·G)⁻¹ = G⁻¹·F⁻¹ and det(F·G) = det F·det G, for square F and G. F·G is invertible where both are.
- `updated`: for an invertible M, det(M + u·vᵀ) = det M·(1 + vᵀM⁻¹u), and where that is not 0,
  (M + u·vᵀ)⁻¹ = M⁻¹ − M⁻¹u·vᵀM⁻¹/(1 + vᵀM⁻¹u)  (Sherman and Morrison). M is diagonal without a 0, or a matrix that is
  assumed to have a determinant.
- `by_first_columns`: entries of the inverse of a matrix that is a complex one on real and imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ZERO
from certgrad.obligations.laws.matrices import matrix
from certgrad.obligations.terms.atoms import Sum
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import power
from certgrad.obligations.terms.predicates import IxEq
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import deep_atoms

from .cases import Region, nonzero_part
from .complex_blocks import by_first_columns

NAMES = ("inverse", "determinant")


def vanishes_in_another_form(poly: Poly, region: Region) -> bool:
    """Return whether the term is shown to be 0 in one of the forms at the head of the file."""
    if not any(isinstance(a, Matrix) and a.name in NAMES for a in deep_atoms(poly)):
        return False
    turned = by_first_columns(poly, region)
    if turned != poly and nonzero_part(turned, region) is None:
        applied(Law.COMPLEX_BLOCKS)
        return True
    for form, law in ((factored, Law.INVERSE_OF_PRODUCT), (updated, Law.RANK_ONE_UPDATE)):
        further = form(poly, region.facts)
        if further != poly:
            facts = [replace(f, poly=form(f.poly, region.facts)) for f in region.facts.facts if _of_determinant(f)]
            if nonzero_part(further, region.where(*facts)) is None:
                applied(law)
                return True
    return False


def _of_determinant(fact: Fact) -> bool:
    atom = fact.poly.atom()
    return isinstance(atom, Matrix) and atom.name == "determinant"


# --- products ------------------------------------------------------------------------------------------------------


def factored(poly: Poly, facts: Facts) -> Poly:
    """Return the term with inverses and determinants of products as products of inverses and determinants."""

    def value(a: Atom) -> Poly | None:
        split = _factors(a) if isinstance(a, Matrix) and a.name in NAMES else None
        if split is None:
            return None
        assert isinstance(a, Matrix)
        left_factor, right_factor, k = split
        size, (row, column) = a.ranges[0], a.vars
        if a.name == "determinant":
            first_factor = matrix("determinant", left_factor, row, k, size, ())
            return factored(first_factor * matrix("determinant", right_factor, k, column, size, ()), facts)
        (i, j), between = a.index, fresh()
        first_factor = matrix("inverse", right_factor, k, column, size, (i, of_var(between)))
        return factored(
            sum_over(
                first_factor * matrix("inverse", left_factor, row, k, size, (of_var(between), j)), [(between, size)]
            ),
            facts,
        )

    return Rewriter(replace=value)(poly)


def _factors(a: Matrix) -> tuple[Poly, Poly, Var] | None:
    """Return F over (row, k), G over (k, column) and k, where the matrix is Σ_k F·G for k up to its rows; else None.

    F has the factors that hang together with the row by shared variables other than k, as in Σ_kl a[i,l]·b[l,k]·c[k,j].
    """
    single = a.body.single()
    sums = [b for b, e in single[0] if isinstance(b, Sum) and e == 1] if single is not None else []
    if single is None or len(sums) != 1:
        return None
    row, column = a.vars
    dummies, body = open_sum(sums[0])
    outside = {b: e for b, e in single[0] if b is not sums[0]}
    inner = body.single()
    if inner is None:
        return None
    ranges = dict(dummies)
    factors: Mono = (*inner[0], *outside.items())
    for k in [v for v, n in dummies if n == a.ranges[0]]:
        # All variables that factors link to the row, but k: k then is all that the row's factors share with the others.
        row_side, previous = {row}, None
        while previous != row_side:
            previous = set(row_side)
            for b, _ in factors:
                shared = b.free & ({row, column, *ranges} - {k})
                if shared & row_side:
                    row_side |= shared
        if column in row_side:
            continue
        left_factors = {b: e for b, e in factors if b.free & row_side}
        right_factors = {b: e for b, e in factors if b not in left_factors}
        if not any(k in b.free for b in left_factors) or not any(k in b.free for b in right_factors):
            continue
        first = sum_over(monomial(left_factors), [(v, n) for v, n in dummies if v in row_side])
        second = sum_over(monomial(right_factors), [(v, n) for v, n in dummies if v != k and v not in row_side])
        return first.scale(single[1] * inner[1]), second, k
    return None


# --- updates of rank one -------------------------------------------------------------------------------------------


def updated(poly: Poly, facts: Facts) -> Poly:
    """Return the term with inverses and determinants of M + u·vᵀ by those of M."""

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Matrix) or a.name not in NAMES:
            return None
        return next(_updates(a, facts), None)

    return Rewriter(replace=value)(poly)


def _updates(a: Matrix, facts: Facts) -> Iterator[Poly]:
    """Yield the inverse or determinant `a` by the update formula, for each summand u·vᵀ of its matrix.

    M is the rest of the matrix, of which an inverse must be known.
    """
    row, column = a.vars
    size = a.ranges[0]
    for mono, c in a.body.sorted_items():
        rest = a.body - Poly({mono: c})
        if rest.is_zero or any(b.free >= {row, column} for b, _ in mono):
            continue
        u = monomial({b: e for b, e in mono if column not in b.free}).scale(c)
        v = monomial({b: e for b, e in mono if column in b.free})
        inverse = _known_inverse(rest, a, facts)
        if inverse is None or (a.name == "determinant" and _diagonal(rest, row, column) is not None):
            continue
        p, q = fresh(), fresh()
        over = [(p, size), (q, size)]
        v_at_p = substitute(v, {column: of_var(p)})
        u_at_q = substitute(u, {row: of_var(q)})
        # 1 + vᵀM⁻¹u
        scale = ONE + sum_over(v_at_p * inverse(of_var(p), of_var(q)) * u_at_q, over)
        if a.name == "determinant":
            yield matrix("determinant", rest, row, column, size, ()) * scale
            continue
        i, j = a.index
        left_vector = sum_over(inverse(i, of_var(q)) * u_at_q, [(q, size)])
        right_vector = sum_over(v_at_p * inverse(of_var(p), j), [(p, size)])
        yield inverse(i, j) - left_vector * right_vector * power(scale, -1)


def _known_inverse(rest: Poly, a: Matrix, facts: Facts) -> Callable[[Ix, Ix], Poly] | None:
    """Return (i, j) ↦ the entry of the inverse of the matrix `rest`; None where it is not known to have one."""
    row, column = a.vars
    size = a.ranges[0]
    entries = _diagonal(rest, row, column)
    if entries is not None:
        if facts.signs(entries) & ZERO:
            return None
        return lambda i, j: index_equal(i.minus(j)) * power(substitute(entries, {row: i}), -1)
    determinant = matrix("determinant", rest, row, column, size, ())
    if facts.signs(determinant) & ZERO:
        return None
    return lambda i, j: matrix("inverse", rest, row, column, size, (i, j))


def _diagonal(body: Poly, row: Var, column: Var) -> Poly | None:
    """Return d over the row, where the matrix is diag(d) by its form; else None."""
    total = NOTHING
    for mono, c in body.items():
        equalities = [
            b for b, e in mono if isinstance(b, IxEq) and poly_of(b) == index_equal(of_var(row).minus(of_var(column)))
        ]
        if not equalities:
            return None
        rest = monomial({b: e for b, e in mono if b is not equalities[0]}).scale(c)
        total = total + substitute(rest, {column: of_var(row)})
    return total
