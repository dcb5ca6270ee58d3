"""Signs of terms by their form: what products, sums, powers and functions make of the signs of their parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from flint import fmpq

from certgrad.language.functions import FUNCTIONS
from certgrad.obligations.terms.atoms import Base, Fn, IndexNumber, Max, Product, Sum
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.index_terms import as_index, at_least, bounds
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.power import content
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, Pred, Side
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.rounded import bounds_of_number, is_number_of_places
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh, is_index

from .signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO, plus, signs_of_product, times

_SIGNS = {">= 0": NONNEG, "> 0": POS}
MOST_CONDITIONS = 4
"""Conditions whose truth values are all tried, at most, for a weight's sign; beyond, it has any sign."""


def _least_value(weight: Poly) -> fmpq:
    """Return the least value of a term over all truth values of its conditions on indices."""
    conditions = sorted({a for mono in weight for a, _ in mono}, key=lambda a: a.key)
    values = []
    for truth in product((True, False), repeat=len(conditions)):
        failing = {a for a, holds in zip(conditions, truth, strict=True) if not holds}
        values.append(sum((c for mono, c in weight.items() if not any(a in failing for a, _ in mono)), fmpq(0)))
    return min(values)


def _spread(weights: Mapping[Sum, fmpq]) -> Poly:
    """Return n·Σ f² − (Σ f)² of f = Σ w_a·f_a, for sums Σ f_a over the same ranges."""
    first = next(iter(weights))
    names = {v: fresh() for v in first.vars}
    dummies = [(names[v], r) for v, r in zip(first.vars, first.ranges, strict=True)]
    body = total = Poly({})
    for a, w in weights.items():
        renamed = substitute(Poly({a.body: w}), {v: of_var(names[u]) for v, u in zip(a.vars, first.vars, strict=True)})
        body, total = body + renamed, total + poly_of(a).scale(w)
    size = ONE
    for n in first.ranges:
        size = size * n
    return size * sum_over(body * body, dummies) - total * total


class FormSigns(ABC):
    """Signs of terms by their form. What is known of a whole term, or of a single atom, comes from elsewhere."""

    @abstractmethod
    def signs(self, poly: Poly) -> int:
        """The signs that a term can have."""

    @abstractmethod
    def by_match(self, poly: Poly) -> int:
        """The signs that assumptions about the same term leave."""

    @abstractmethod
    def by_bounds(self, a: Atom) -> int:
        """The signs that bounds on the atom leave."""

    def by_form(self, poly: Poly) -> int:
        total = ZERO
        for mono, c in poly.items():
            total = plus(total, times(POS if c > 0 else NEG, self.mono_signs(mono)))
        return total

    def of_masked_sum(self, poly: Poly) -> int:
        """Return the signs of Σ_v w(v)·f(v), where w has conditions on indices alone and the sign of f is known.

        It is f's where w ≥ 0 whichever conditions hold, and w > 0 at the first or the last v, of which there is one.
        """
        sums = [(mono[0][0], c) for mono, c in poly.items() if len(mono) == 1 and mono[0][1] == 1]
        first = sums[0][0] if len(sums) == len(poly) else None
        if not isinstance(first, Sum) or len(first.vars) > 1 or not first.ranges[0].positive:
            return ANY_SIGN
        v, body = first.vars[0], Poly({})
        for a, c in sums:
            if not isinstance(a, Sum) or a.vars != first.vars or a.ranges != first.ranges:
                return ANY_SIGN
            body = body + Poly({a.body: c})
        c, taken, weight = content(body)
        weight = weight.scale(c)
        conditions = sorted({a for mono in weight for a, _ in mono}, key=lambda a: a.key)
        if len(conditions) > MOST_CONDITIONS or not all(isinstance(a, INDEX_PREDICATES) for a in conditions):
            return ANY_SIGN
        signs = self.mono_signs(tuple(taken.items()))
        if signs not in (POS, NEG) or not _least_value(weight) >= 0:
            return ANY_SIGN
        ends = (of_const(Poly({})), of_const(first.ranges[0] - ONE))
        attained = any(_least_value(substitute(weight, {v: end})) > 0 for end in ends)
        return signs if attained else signs | ZERO

    def of_squared_sums(self, poly: Poly) -> int:
        """Return the signs of a variance by Cauchy and Schwarz: (Σ_{v<n} f(v))² ≤ n·Σ_{v<n} f(v)².

        If the term is −k·(Σ f)² + r with k ≥ 0, it is at least r − k·n·Σ f². The square of a combination Σ w_a·S_a of
        sums is found by one of them, whose products with the others give the w_a.
        """
        for mono, c in poly.items():
            squared_sums = [a for a, e in mono if e == 2 and isinstance(a, Sum)]
            for first in squared_sums:
                outer = {a: e for a, e in mono if a is not first}
                if c > 0 or any(r.free for r in first.ranges) or self.mono_signs(tuple(outer.items())) & NEG:
                    continue
                weights = {}
                for other in {a for m in poly for a, _ in m if isinstance(a, Sum) and a.ranges == first.ranges}:
                    product = monomial({**outer, **({first: 2} if other is first else {first: 1, other: 1})})
                    ((product_of_both, _),) = product.items()
                    weight = poly.coefficient(product_of_both) / (c if other is first else 2 * c)
                    if weight != 0:
                        weights[other] = weight
                least = poly + monomial(outer).scale(c) * _spread(weights)
                if not self.signs(least) & NEG:
                    applied(Law.CAUCHY_SCHWARZ)
                    return self.signs(least) | POS if self.signs(least) & POS else NONNEG
        return ANY_SIGN

    def mono_signs(self, mono: Mono) -> int:
        out = POS
        for a, e in mono:
            out = times(out, self.power_signs(a, e))
        return out

    def power_signs(self, a: Atom, e: Exponent) -> int:
        if a.positive:
            return POS
        signs = self.atom_signs(a)
        if isinstance(e, Fraction):
            return POS if e < 0 else signs & NONNEG or NONNEG
        if e < 0:
            # 1/0 can stand in a lane that is not selected: it says nothing, and never that there is no such case.
            signs = signs & NONZERO or NONZERO
        if e % 2 == 0:
            return (signs & ZERO) | (POS if signs & NONZERO else 0)
        return signs

    def atom_signs(self, a: Atom) -> int:
        """Return the possible signs of an atom, by its kind and by the facts about it."""
        if a.positive:
            return POS
        if isinstance(a, (Pred, Side)):
            inside = self.signs(a.poly)
            if inside == POS:
                return POS
            return ZERO if inside == NEG or (isinstance(a, Pred) and not inside & POS) else NONNEG
        if isinstance(a, INDEX_PREDICATES):
            return NONNEG
        if isinstance(a, IndexNumber) and is_index(a.var):
            return NONNEG & (self.by_match(poly_of(a)) & self.by_bounds(a))
        if isinstance(a, Sum):
            body = self.mono_signs(a.body)
            if body & POS and body & NEG:
                return ANY_SIGN
            if is_number_of_places(a) and bounds_of_number(a)[0] == ONE:
                return POS
            return body if all(r.positive for r in a.ranges) else body | ZERO
        if isinstance(a, Max):
            return self.signs(a.body)
        if isinstance(a, Product):
            return signs_of_product(self.signs(a.body))
        if isinstance(a, Base):
            return self.signs(a.poly)
        if isinstance(a, Fn):
            return self._fn_signs(a) & self.by_match(poly_of(a))
        return self.by_match(poly_of(a)) & self.by_bounds(a)

    def of_place(self, poly: Poly) -> int:
        """Return the signs of an integer by the bounds of the places and counts in it: n − rank(i) is at least 1."""
        if not any(isinstance(a, IndexNumber) for mono in poly for a, _ in mono):
            return ANY_SIGN
        ix = as_index(poly)
        least, most = bounds(ix, {}) if ix is not None else (None, None)
        out = ANY_SIGN
        for end, factor in ((least, 1), (most, -1)):
            if end is not None and at_least(end.scale(factor)) == ONE:
                strict = at_least(end.scale(factor) - ONE) == ONE
                out &= (POS if strict else NONNEG) if factor > 0 else (NEG if strict else NONPOS)
        return out

    def _fn_signs(self, a: Fn) -> int:
        known = FUNCTIONS.get(a.name)
        if known is not None and known.sign:
            return self.signs(a.args[0]) if known.sign == "of its argument" else _SIGNS[known.sign]
        if a.name == "log":
            return self.signs(a.args[0] - ONE)
        if a.name == "whole_power" and self.signs(a.args[0]) == POS:
            return POS
        if a.name == "polygamma" and (m := a.args[0].constant()) is not None and m.p % 2:
            return POS
        if a.name == "floor":
            signs = self.signs(a.args[0])
            return signs | ZERO if signs & POS else signs
        return ANY_SIGN
