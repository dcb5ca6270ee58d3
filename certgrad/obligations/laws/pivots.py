"""Elimination with pivots: A[σ(i), j] = Σ_k L[i, k]·U[k, j], where σ puts the pivots' rows in order.

LAPACK returns both factors in one matrix F: L is what is below its diagonal, with ones on the diagonal, and U is the
rest. At step k the pivot is the first of the entries of column k, from row k on, whose modulus is greatest. Where no
other one has that modulus, at no step, σ is locally constant, the leading minors of P·A but the last are not 0, and F
is a rational function of A. Where det(A) ≠ 0 too, differentiating the equation determines dF: with
W = L⁻¹·P·dA·U⁻¹,

    dL = L·(W below the diagonal)          dU = (W on and above the diagonal)·U
"""

from __future__ import annotations

from certgrad.obligations.assume.conditions import Atomic, Clause, Clauses
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal
from certgrad.obligations.terms.integers import PIVOTS, chosen
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.rewriting import substitute, without_stops
from certgrad.obligations.terms.spectra import of_matrix
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh

from .matrices import DERIVATIVES, LAWS_FOR_SUMS, SEEN_THROUGH, Factors, Ranges, argument_entry, matrix
from .order import comparison

FACTORS, GAP = "lu", "pivot gap"


def factors(body: Poly, row: Var, column: Var, size: Poly, index: tuple[Ix, ...]) -> Poly:
    """Return an entry of F; of a 1 × 1 matrix, its one entry."""
    if size == ONE:
        return substitute(body, {row: of_const(ZERO), column: of_const(ZERO)})
    return of_matrix(FACTORS, body, row, column, (size, size), index)


def pivot(body: Poly, row: Var, column: Var, size: Poly, place: Ix) -> Ix:
    """Return σ(place): the row of A that comes to the place."""
    if size == ONE:
        return of_const(ZERO)
    body = without_stops(body)
    bound: tuple[Var, Var] = (("b", 1 + body.level, 0), ("b", 1 + body.level, 1))
    entry = substitute(body, {row: of_var(bound[0]), column: of_var(bound[1])})
    rule, free = comparison(PIVOTS, bound, (size, size), (entry,))
    return chosen(rule, 0, (place, *free))


def told_apart(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    """Return the condition that every pivot is told apart from the other entries that could be taken.

    It says that the least gap between the modulus of a pivot and that of such an entry is positive.
    """
    if size == ONE:
        return ()
    return (Clause((Atomic("> 0", of_matrix(GAP, body, row, column, (size, size), ())),), origin=origin),)


def _lower(a: Matrix, i: Ix, k: Ix) -> Poly:
    """Return L[i, k] of the matrix that `a` is the F of."""
    below = index_condition(i.minus(k).shifted(-ONE))
    return below * factors(a.body, *a.vars, a.ranges[0], (i, k)) + index_equal(i.minus(k))


def _upper(a: Matrix, k: Ix, j: Ix) -> Poly:
    """Return U[k, j] of the matrix that `a` is the F of."""
    return index_condition(j.minus(k)) * factors(a.body, *a.vars, a.ranges[0], (k, j))


def _permuted(a: Matrix, i: Ix, j: Ix) -> Poly:
    """Return A[σ(i), j]."""
    return argument_entry(a, pivot(a.body, *a.vars, a.ranges[0], i), j)


def upper_of(body: Poly, row: Var, column: Var) -> Matrix | None:
    """Return F where the term is the entry of U at the row and column; else None."""
    single = body.single()
    for a, e in single[0] if single is not None else ():
        if isinstance(a, Matrix) and a.name == FACTORS and e == 1 and not a.body.free & {row, column}:
            return a if body == _upper(a, of_var(row), of_var(column)) else None
    return None


def _lower_of(body: Poly, row: Var, column: Var) -> Matrix | None:
    """Return F where the term is the entry of L at the row and column; else None."""
    for mono, _ in body.items():
        for a, e in mono:
            if isinstance(a, Matrix) and a.name == FACTORS and e == 1 and not a.body.free & {row, column}:
                return a if body == _lower(a, of_var(row), of_var(column)) else None
    return None


def seen_through(body: Poly, row: Var, column: Var) -> tuple[Poly, Var, Var] | None:
    """Return (entry, row, column) of A where the term is A's factor U, which is invertible where A is; else None."""
    for places in ((row, column), (column, row)):
        lu = upper_of(body, *places)
        if lu is not None:
            return lu.body, *lu.vars
    return None


def _derivative(a: Matrix, k: Var, m: Var, inner: Poly) -> Poly:
    """Return the entry of dF by the formulas above: dL below the diagonal, dU on and above it.

    `inner` is the entry of dA at row k and column m.
    """
    applied(Law.DERIVATIVE_OF_PIVOTED)
    size, (i, j) = a.ranges[0], a.index
    p, q, r, s, between = (fresh() for _ in range(5))
    lower, upper = _lower(a, of_var(p), of_var(q)), _upper(a, of_var(p), of_var(q))
    # The differential of P·A at (r, s).
    moved = substitute(inner, {k: pivot(a.body, *a.vars, size, of_var(r)), m: of_var(s)})

    def w_entry(x: Ix, y: Ix) -> Poly:
        """Return W[x, y]."""
        lower_inverse = matrix("inverse", lower, p, q, size, (x, of_var(r)))
        upper_inverse = matrix("inverse", upper, p, q, size, (of_var(s), y))
        return sum_over(lower_inverse * moved * upper_inverse, [(r, size), (s, size)])

    v = of_var(between)
    below = index_condition(v.minus(j).shifted(-ONE)) * _lower(a, i, v) * w_entry(v, j)
    above = index_condition(v.minus(i)) * w_entry(i, v) * _upper(a, v, j)
    return index_condition(i.minus(j).shifted(-ONE)) * sum_over(below, [(between, size)]) + index_condition(
        j.minus(i)
    ) * sum_over(above, [(between, size)])


# --- sums over a shared row or column ------------------------------------------------------------------------------


def contracted(given: Factors, ranges: Ranges) -> Poly | None:
    """Return Σ_k L[i, k]·U[k, j] without L's diagonal, or Σ_k U⁻¹[i, k]·L⁻¹[k, j]; None for other products."""
    for k, size in ranges.items():
        factors_with_k = [(a, e) for a, e in given if k in a.free]
        matrices = [a for a, e in factors_with_k if isinstance(a, Matrix) and e in (1, 2) for _ in range(int(e))]
        if len(matrices) != 2 or any(a.ranges != (size, size) for a in matrices):
            continue
        if any(k in a.body.free or len(a.index) != 2 for a in matrices):
            continue
        guards = {a for a, e in factors_with_k if not isinstance(a, Matrix)}
        value = None
        for first, second in (matrices, matrices[::-1]):
            value = value or _product(first, second, k, guards) or (None if guards else _inverses(first, second, k))
        if value is not None:
            applied(Law.PIVOTED)
            rest = monomial({a: e for a, e in given if k not in a.free})
            return sum_over(value * rest, [(v, n) for v, n in ranges.items() if v != k])
    return None


def _product(one: Matrix, other: Matrix, k: Var, guards: set[Atom]) -> Poly | None:
    """Return Σ_k [k < i]·[k ≤ j]·F[i, k]·F[k, j] = A[σ(i), j] − [i ≤ j]·F[i, j]; None for other factors.

    `guards` are the conditions on k. With only one of the two above, the summands where the other fails are added.
    """
    if one.name != FACTORS or other.name != FACTORS or one.body != other.body:
        return None
    (i, k_in_one), (k_in_other, j) = one.index, other.index
    if k_in_one.variable() != k or k_in_other.variable() != k or k in {*i.free, *j.free}:
        return None
    k_before_i, k_up_to_j = index_condition(i.minus(k_in_one).shifted(-ONE)), index_condition(j.minus(k_in_one))
    total = _permuted(one, i, j) - _upper(one, i, j)
    if _all_of(k_before_i * k_up_to_j, guards):
        return total
    if _all_of(k_before_i, guards):
        missing = k_before_i * index_condition(k_in_one.minus(j).shifted(-ONE))
    elif _all_of(k_up_to_j, guards):
        missing = k_up_to_j * index_condition(k_in_one.minus(i))
    else:
        return None
    return total + sum_over(missing * poly_of(one) * poly_of(other), [(k, one.ranges[0])])


def _all_of(condition: Poly, guards: set[Atom]) -> bool:
    """Return whether the condition is the product of the guards."""
    single = condition.single()
    return single is not None and single[1] == 1 and dict(single[0]) == dict.fromkeys(guards, 1)


def _inverses(one: Matrix, other: Matrix, k: Var) -> Poly | None:
    """Return Σ_k U⁻¹[i, k]·L⁻¹[k, j] = A⁻¹[i, σ(j)]; None for other factors."""
    if one.name != "inverse" or other.name != "inverse":
        return None
    for turned_one in (False, True):
        upper = upper_of(one.body, *(one.vars[::-1] if turned_one else one.vars))
        i, k_in_one = one.index[::-1] if turned_one else one.index
        if upper is None or k_in_one.variable() != k or k in i.free:
            continue
        for turned_other in (False, True):
            lower = _lower_of(other.body, *(other.vars[::-1] if turned_other else other.vars))
            k_in_other, j = other.index[::-1] if turned_other else other.index
            if lower is None or k_in_other.variable() != k or k in j.free or upper.body != lower.body:
                continue
            place = pivot(upper.body, *upper.vars, upper.ranges[0], j)
            return matrix("inverse", upper.body, *upper.vars, upper.ranges[0], (i, place))
    return None


def permutation_of(entry: Poly, place: Ix) -> tuple[Poly, Var, Var, Poly] | None:
    """Return the matrix whose pivot at the place the term is, as LAPACK numbers them, with its row, column and size."""
    a = entry.atom()
    if not isinstance(a, Matrix) or a.name != INTERCHANGES or a.index != (place,):
        return None
    row, column = fresh(), fresh()
    return argument_entry(a, of_var(row), of_var(column)), row, column, a.ranges[0]


INTERCHANGES = "lu pivots"
"""The name of LAPACK's pivots: with which row each row is exchanged, one exchange after another."""

DERIVATIVES[FACTORS] = _derivative
LAWS_FOR_SUMS.append(contracted)
SEEN_THROUGH.append(seen_through)
