"""Signs of terms by their form: of products, sums, powers and functions by the signs of their parts."""

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
"""Most conditions in a weight whose truth values are all tried; a weight with more may have any sign."""


def _least_value(weight: Poly) -> fmpq:
    """Return the least value of a term over all truth values of its conditions on indices."""
    conditions = sorted({a for mono in weight for a, _ in mono}, key=lambda a: a.key)
    values = []
    for truth in product((True, False), repeat=len(conditions)):
        failing = {a for a, holds in zip(conditions, truth, strict=True) if not holds}
        values.append(sum((c for mono, c in weight.items() if not any(a in failing for a, _ in mono)), fmpq(0)))
    return min(values)


def _spread(weights: Mapping[Sum, fmpq]) -> Poly:
    """Return n·Σ f² − (Σ f)² for f = Σ_a w_a·f_a, where `weights` has the sums Σ f_a over the same n places.

    It is n² times a variance, hence at least 0.
    """
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
    """Signs of terms by their form. Subclasses say what assumptions about a whole term, or about an atom, exclude."""

    @abstractmethod
    def signs(self, poly: Poly) -> int:
        """Return the signs that a term can have."""

    @abstractmethod
    def by_match(self, poly: Poly) -> int:
        """Return the signs that assumptions about the same term do not exclude."""

    @abstractmethod
    def by_bounds(self, a: Atom) -> int:
        """Return the signs that assumed bounds on the atom do not exclude."""

    def by_form(self, poly: Poly) -> int:
        """Return the possible signs of a sum by those of its summands."""
        total = ZERO
        for mono, c in poly.items():
            total = plus(total, times(POS if c > 0 else NEG, self.mono_signs(mono)))
        return total

    def of_masked_sum(self, poly: Poly) -> int:
        """Return the signs of Σ_v w(v)·f(v), where the weight w is a term in conditions on indices, and f is a product.

        The sum has the sign of f, if w ≥ 0 whichever of the conditions hold, and w > 0 at the first or the last v; it
        may also be 0 if only w ≥ 0 is known. Any sign for a term of another form.
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
        # The common factor of all summands is f, what is left is w.
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
        """Return the signs of a term such as a variance by Cauchy and Schwarz: (Σ_{v<n} f(v))² ≤ n·Σ_{v<n} f(v)².

        A term −k·(Σ f)² + r with k ≥ 0 is at least r − k·n·Σ f², whose sign is a new question. Σ f may be a combination
        Σ_a w_a·S_a of sums: its square is recognised by the square of one sum S, and the products S·S_a give the w_a.
        Any sign where that shows nothing.
        """
        for mono, c in poly.items():
            squared_sums = [a for a, e in mono if e == 2 and isinstance(a, Sum)]
            for first in squared_sums:
                outer = {a: e for a, e in mono if a is not first}
                if c > 0 or any(r.free for r in first.ranges) or self.mono_signs(tuple(outer.items())) & NEG:
                    continue
                # (w₁·S₁ + w₂·S₂)² = w₁²·S₁² + 2·w₁·w₂·S₁·S₂ + …: with w₁ = 1, half of the mixed coefficient is w₂.
                weights = {}
                for second in {a for m in poly for a, _ in m if isinstance(a, Sum) and a.ranges == first.ranges}:
                    product = monomial({**outer, **({first: 2} if second is first else {first: 1, second: 1})})
                    ((product_of_both, _),) = product.items()
                    weight = poly.coefficient(product_of_both) / (c if second is first else 2 * c)
                    if weight != 0:
                        weights[second] = weight
                least = poly + monomial(outer).scale(c) * _spread(weights)
                if not self.signs(least) & NEG:
                    applied(Law.CAUCHY_SCHWARZ)
                    return self.signs(least) | POS if self.signs(least) & POS else NONNEG
        return ANY_SIGN

    def mono_signs(self, mono: Mono) -> int:
        """Return the possible signs of a monomial."""
        out = POS
        for a, e in mono:
            out = times(out, self.power_signs(a, e))
        return out

    def power_signs(self, a: Atom, e: Exponent) -> int:
        """Return the possible signs of aᵉ where it has a value; the set is never empty."""
        if a.positive:
            return POS
        signs = self.atom_signs(a)
        if isinstance(e, Fraction):
            return POS if e < 0 else signs & NONNEG or NONNEG
        if e < 0:
            # 1/0 can stand in a lane that is not selected: an empty set of signs would exclude the case.
            signs = signs & NONZERO or NONZERO
        if e % 2 == 0:
            return (signs & ZERO) | (POS if signs & NONZERO else 0)
        return signs

    def atom_signs(self, a: Atom) -> int:
        """Return the possible signs of an atom, by its kind and by the assumptions about it."""
        if a.positive:
            return POS
        if isinstance(a, (Pred, Side)):
            signs = self.signs(a.poly)
            if signs == POS:
                return POS
            return ZERO if signs == NEG or (isinstance(a, Pred) and not signs & POS) else NONNEG
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
            # A sum over a range that may be empty may be 0.
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
        """Return the signs of an integer term by the bounds of the indices and counts in it: n − rank(i) is at least 1.

        Any sign for a term without indices as numbers, or without known bounds.
        """
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
        """Return the possible signs of a function's value by what is known of the function."""
        function = FUNCTIONS.get(a.name)
        if function is not None and function.sign:
            return self.signs(a.args[0]) if function.sign == "of its argument" else _SIGNS[function.sign]
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
