"""Sums that take in a term beside them, or lose their last term to one.

A sum takes in a term that is its next one, before its first term or behind its last one:

    f(−1) + Σ_{v<n} f(v) = Σ_{v<n+1} f(v − 1)          Σ_{v<n} f(v) + f(n) = Σ_{v<n+1} f(v)

A sum up to a place e loses the term at e: Σ_{v<n, v≤e} f(v) − f(e) = Σ_{v<n, v≤e−1} f(v), where 0 ≤ e < n. So the start
of a group of rows is its end less its size, which is the end of the group before.

Where f(−1) is 0, as a condition fails there, a sum over entries that are read from the second on is extended to the
first. Loops whose first step stands by itself leave such sums, inside logarithms and quotients too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flint import fmpq

from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.terms.atoms import Access, Sum
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Mono, Poly, poly_of
from certgrad.obligations.terms.predicates import IxPred
from certgrad.obligations.terms.ranges import Dummies
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms


def with_ends(poly: Poly, indices: Indices) -> Poly:
    """Return the term with sums that take in a summand beside them as their next term, or lose their last one to it."""
    return _WithEnds(indices, {})(poly) if poly.structured else poly


def without_last(poly: Poly, indices: Indices) -> Poly:
    """Return the term with sums up to a place made shorter, where a summand beside them takes away their last term."""
    return _WithEnds(indices, {}, longer=False)(poly) if poly.structured else poly


class _WithEnds(Rewriter):
    """Rewrites polynomials by `with_ends`, or by `without_last` where it is not to make sums `longer`."""

    def __init__(self, context: Indices, names: Mapping[Var, Ix], longer: bool = True) -> None:
        super().__init__(names, replace=lambda a: None if a.structured else poly_of(a))
        self.context = context
        self.ways = [self._lengthened, self._shortened] if longer else [self._shortened]

    def __call__(self, poly: Poly) -> Poly:
        poly = super().__call__(poly)
        while (changed := self._changed(poly)) is not None:
            applied(Law.SUM_CUT)
            poly = changed
        return poly

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        context = replace(self.context, ranges={**self.context.ranges, **ranges})
        inside = _WithEnds(context, {**self.indices, **names}, longer=len(self.ways) > 1)
        inside.loops = self.loops
        return inside

    def _changed(self, poly: Poly) -> Poly | None:
        if len(poly) < 2 or not poly.structured:
            return None
        ways = (way(poly, *term) for way in self.ways for term in poly.sorted_items())
        return next(filter(None, ways), None)

    def _lengthened(self, poly: Poly, mono: Mono, c: fmpq) -> Poly | None:
        """Return the polynomial with a sum in its term c·mono made longer by another of its terms; else None.

        Also by a term f(−1) that is 0, where all entries in the sum are read from the second on.
        """
        for v, n, other_dummies, body, cofactor in _sums_of(mono, c):
            if other_dummies:
                continue
            # f(−1) comes before the sum, whose variable then moves by one; f(n) comes behind it.
            for place, shift in ((-ONE, -ONE), (n, ZERO)):
                try:
                    end = resolved(cofactor * Rewriter({v: of_const(place)})(body), self.context)
                except ArithmeticError:  # undefined there
                    continue
                end_term = end.single()
                present = end_term is not None and end_term[0] != mono and poly.coefficient(end_term[0]) == end_term[1]
                if present or (end.is_zero and place == -ONE and _reads_later(body, v)):
                    longer_sum = sum_over(Rewriter({v: of_var(v).shifted(shift)})(body), [(v, n + ONE)])
                    return poly - Poly({mono: c}) - end + cofactor * longer_sum
        return None

    def _shortened(self, poly: Poly, mono: Mono, c: fmpq) -> Poly | None:
        """Return the polynomial with a sum in its term c·mono without its last summand, if another term takes it away.

        None where there is no such pair. The sum goes up to a place `last`, by a condition [last − v ≥ 0].
        """
        for v, n, other_dummies, body, cofactor in _sums_of(mono, c):
            single = body.single()
            for bound in [b for b, _ in single[0] if isinstance(b, IxPred)] if single is not None else ():
                if bound.ix.coefficient(v) != -1:
                    continue
                last = bound.ix.plus(of_var(v))
                if any(w in last.free for w, _ in other_dummies):
                    continue
                end = resolved(cofactor * sum_over(Rewriter({v: last})(body), other_dummies), self.context)
                end_term = end.single()
                if end_term is None or end_term[0] == mono or poly.coefficient(end_term[0]) != -end_term[1]:
                    continue
                if self._is_place(last, n):
                    before = index_condition(bound.ix.shifted(-ONE))
                    return poly - Poly({mono: c}) + end + cofactor * sum_over(body * before, [*other_dummies, (v, n)])
        return None

    def _is_place(self, ix: Ix, size: Poly) -> bool:
        """Return whether the index is within an axis of this size wherever the term stands."""
        ends = (ix, ix.scaled(-1).shifted(size - ONE))
        return all(not self.context.feasible((end.scaled(-1).shifted(-ONE), ">=")) for end in ends)


def _sums_of(mono: Mono, c: fmpq) -> Iterator[tuple[Var, Poly, Dummies, Poly, Poly]]:
    """Yield (v, range of v, other variables, summand, cofactor) for each variable v of each sum in the term c·mono."""
    for a, e in mono:
        if isinstance(a, Sum) and e == 1:
            cofactor = Poly({tuple((b, k) for b, k in mono if b is not a): c})
            dummies, body = open_sum(a)
            for v, n in dummies:
                yield v, n, [pair for pair in dummies if pair[0] != v], body, cofactor


def _reads_later(body: Poly, v: Var) -> bool:
    """Return whether all entries that depend on v are read at v + 1 or later, so that v may be −1."""
    read = [ix for a in deep_atoms(body) if isinstance(a, Access) for ix in a.index if v in ix.free]
    steps = [ix.const.constant() if ix.terms == ((v, 1),) else None for ix in read]
    return bool(steps) and all(c is not None and c >= 1 for c in steps)
