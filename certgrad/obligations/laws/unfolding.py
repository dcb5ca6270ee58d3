"""Carries of loops, written by their values one step earlier or one step later: c[t + 1] is the step of c[t]."""

from __future__ import annotations

from certgrad.obligations.terms.atoms import Max, Product, Sum
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import Ranges
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, poly_of
from certgrad.obligations.terms.power import power
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import max_over, open_sum, sum_over
from certgrad.obligations.terms.walk import mentions

from .order import opened
from .range_products import product_over
from .recurrences import entry, generic_step, has_loop, linear_part, stepped


def unfolded(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term with each carry at the earliest time that can be shown: c[t + 1] as the step of c[t]."""

    def earlier(a: Atom) -> Poly | None:
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            return sum_over(unfolded(body, {**ranges, **dict(dummies)}), dummies)
        if isinstance(a, (Max, Product)):
            dummies, body, where = opened(a)
            inner_ranges = {**ranges, **dict(dummies)}
            over = max_over if isinstance(a, Max) else product_over
            return over(unfolded(body, inner_ranges), dummies, unfolded(where, inner_ranges))
        if isinstance(a, Rec):
            # At another number than 1 the carry stays: it would be unfolded step by step, all the way to time 0.
            goes_back = bool(a.time.terms) or a.time.const == ONE or a.time.const.constant() is None
            step_value = stepped(a, ranges) if goes_back else None
            return poly_of(a) if step_value is None else unfolded(step_value, ranges)
        return None

    return Rewriter(replace=earlier)(poly)


def folded(poly: Poly) -> Poly:
    """Return the term with each carry at a varying time t written by its value at t + 1.

    That is c[t] = (c[t + 1] − b(t))/a(t), for a step a·c + b with a > 0.

    An output that a scan stacks is a term in c[t + 1], the carry after a step; so written, terms in c[t] compare
    with it. The additional step may read rows beyond the end of an array: whatever stood there, the term has the same
    value.
    """

    def later(a: Atom) -> Poly | None:
        if not isinstance(a, Rec):
            return None if has_loop(poly_of(a)) else poly_of(a)
        system = generic_step(a.loop)
        chosen = system.carries[a.position]
        at_time = {system.step: a.time}
        carry_now = entry(a.loop, a.position, of_var(system.step), chosen.index)
        factor, added = linear_part(chosen.step, carry_now)
        if not a.time.terms or not factor.positive or len(factor) > 1:
            return poly_of(a)
        if mentions(factor, [a.loop.key]) or mentions(added, [a.loop.key]):
            return poly_of(a)
        after = entry(a.loop, a.position, a.time.shifted(ONE), a.index)
        applied(Law.LATER_CARRY)
        added, factor = folded(added), folded(factor)  # they may read other loops
        return (after - chosen.at(added, a.index, at_time)) * power(chosen.at(factor, a.index, at_time), -1)

    return Rewriter(replace=later)(poly)
