"""Ranges of sums are joined and split: into rows and columns, in row-major order, and where a condition changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import TypeGuard

from .index import of_atom, of_var
from .index_terms import at_least, divided
from .integers import Quotient, Remainder, RowMajor, quotient, remainder
from .law import Law, applied
from .polynomials import ONE, ZERO, Atom, Factors, Poly, monomial, number
from .predicates import IxPred
from .rewriting import Rewriter
from .variables import Var, fresh
from .walk import indices_of

Dummies = list[tuple[Var, Poly]]
"""Variables that are summed over, each from 0 to its range."""
Summed = tuple[Poly, Dummies]
"""A term, and the variables that it is to be summed over."""


def in_one_range(variables: list[Var], ranges: dict[Var, Poly], factors: Factors) -> Summed | None:
    """Return Σ_{i<q} Σ_{j<m} f(i·m + j) as f(v) with the range v < q·m; None where f reads i or j in another way.

    The product of the `factors` is f. The two indices are ⌊v/m⌋ and v mod m: the ranges are joined only where no
    quotient or remainder of v is left.
    """
    if not any(a.structured for a, _ in factors):
        return None
    body = monomial(dict(factors))
    for i, j in _rows_of(variables, ranges, body):
        v, m = fresh(), ranges[j]
        whole = Rewriter({i: quotient(of_var(v), m), j: remainder(of_var(v), m)})(body)
        if not any(v in t.free for ix in indices_of(whole) for t in ix.atoms):
            other_ranges = [(w, ranges[w]) for w in variables if w not in (i, j)]
            applied(Law.SUM_BY_ROWS)
            return whole, [*other_ranges, (v, ranges[i] * m)]
    return None


def _rows_of(variables: list[Var], ranges: dict[Var, Poly], body: Poly) -> list[tuple[Var, Var]]:
    """Return pairs (i, j) of the variables such that i·m + j occurs in an index, where m is the range of j."""
    pairs: dict[tuple[Var, Var], None] = {}
    for ix in indices_of(body):
        for t in ix.atoms:
            if isinstance(t, RowMajor):
                i, j = t.major.variable(), t.minor.variable()
                if i in ranges and j in ranges and ranges[j] == t.stride:
                    pairs[i, j] = None
        affine = [v for v in variables if ix.coefficient(v)]
        for i, j in permutations(affine, 2):
            if ranges[j] * number(ix.coefficient(j)) == number(ix.coefficient(i)):
                pairs[i, j] = None
    return list(pairs)


def in_row_major_order(poly: Poly, dummies: Dummies) -> Summed:
    """Return Σ_{v<q·m} f(⌊v/m⌋, v mod m) as f(i, j) with the ranges i < q and j < m, for each such variable v."""
    divisors = _divisors(poly)
    for v, n in dummies:
        for divisor in divisors.get(v, ()):
            rows = divided(n, divisor)
            if rows is None:
                continue
            applied(Law.SUM_BY_ROWS)
            (poly,), i, j = in_rows_and_columns([poly], v, divisor, "f")
            other_dummies = [(w, m) for w, m in dummies if w != v]
            return in_row_major_order(poly, [*other_dummies, (i, rows), (j, divisor)])
    return poly, dummies


def in_rows_and_columns(polys: list[Poly], v: Var, divisor: Poly, kind: str) -> tuple[list[Poly], Var, Var]:
    """Return the terms at v = i·divisor + j, and the new variables i and j, where j < divisor."""
    i, j = fresh(kind), fresh(kind)
    # As an atom first, so that quotients and remainders by the divisor are seen to be i and j.
    divide = Rewriter({v: of_atom(RowMajor(of_var(i), of_var(j), divisor))})
    row, column = fresh(kind), fresh(kind)
    rename = Rewriter({i: of_var(row), j: of_var(column)})
    return [rename(divide(p)) for p in polys], row, column


def divisors_of(poly: Poly, v: Var) -> list[Poly]:
    """Return the divisors m of quotients ⌊v/m⌋ and remainders v mod m in the term."""
    return _divisors(poly).get(v, [])


def _divisors(poly: Poly) -> dict[Var, list[Poly]]:
    """Return, by variable v, the divisors m of quotients ⌊v/m⌋ and remainders v mod m."""
    by_key: dict[Var, dict[str, Poly]] = {}
    for ix in indices_of(poly):
        for t in ix.atoms:
            if isinstance(t, (Quotient, Remainder)) and (v := t.ix.variable()) is not None:
                by_key.setdefault(v, {}).setdefault(t.divisor.key, t.divisor)
    return {v: [divisors[k] for k in sorted(divisors)] for v, divisors in by_key.items()}


def split_at_conditions(poly: Poly, dummies: Dummies) -> Iterator[Summed] | None:
    """Return the parts of a sum whose range is cut where an index condition changes; None where there is no such cut.

    Σ_{i<n} f = Σ_{i<a} f + Σ_{i<n−a} f(i + a), for a condition [i ≥ a] in f.
    """
    for v, n in dummies:
        lows = {-a.ix.const for mono in poly for a, _ in mono if _is_low(a, v)}
        cuts = _ascending([ZERO, *lows, n]) if lows else None
        if cuts is not None:
            applied(Law.SUM_CUT)
            return _parts_between_cuts(poly, v, cuts, [(w, r) for w, r in dummies if w != v])
    return None


def _is_low(a: Atom, v: Var) -> TypeGuard[IxPred]:
    """Return whether the atom is [v + const ≥ 0]."""
    return isinstance(a, IxPred) and len(a.ix.terms) == 1 and a.ix.terms[0] == (v, 1)


def _parts_between_cuts(poly: Poly, v: Var, cuts: list[Poly], others: Dummies) -> Iterator[Summed]:
    """Yield the term and the ranges between each two cuts, where every condition on the variable alone is decided."""
    for start, stop in pairwise(cuts):

        def value(a: Atom, start: Poly = start) -> Poly | None:
            if _is_low(a, v):
                return ONE if at_least(start + a.ix.const) == ONE else ZERO
            return None

        part = Rewriter({v: of_var(v).shifted(start)})(Rewriter(replace=value)(poly))
        yield part, [*others, (v, stop - start)]


def _ascending(cuts: list[Poly]) -> list[Poly] | None:
    """Return the cuts in ascending order, each once; None where their order is not known at all sizes.

    None too where a cut is not between the first and the last of the given ones, the ends of the range.
    """
    first, last = cuts[0], cuts[-1]
    ordered: list[Poly] = []
    for cut in sorted(set(cuts), key=lambda c: c.key):
        place = 0
        for k, earlier in enumerate(ordered):
            if at_least(cut - earlier) == ONE:
                place = k + 1
            elif at_least(earlier - cut) != ONE:
                return None
        ordered.insert(place, cut)
    # A condition that holds throughout, or nowhere, does not cut.
    within_range = [c for c in ordered if at_least(c - first) == ONE and at_least(last - c) == ONE]
    if len(within_range) != len(ordered) or within_range[0] != first or within_range[-1] != last:
        return None
    return within_range
