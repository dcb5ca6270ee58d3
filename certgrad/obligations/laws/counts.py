"""Counts: Σ_{k∈S} b(k) for a term b that is 0 or 1. It is a whole number, and 0 only where every b(k) is.

So [Σ_S b ≥ 1] = 1 − Π_S (1 − b), and [Σ_S b ≥ 2] = 1 − Π_{k∈S, k≠j} (1 − b(k)) where b(j) = 1: comparisons of counts
become products, which have laws of their own (`range_products`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, prod

from flint import fmpq

from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.terms.atoms import Product, Sum
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, number, poly_of
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, Pred
from certgrad.obligations.terms.rewriting import Rewriter, replaced
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

from .range_products import Dummies, decided_places, is_truth, others, product_over


@dataclass(frozen=True)
class Count:
    """A term of the form scale·(Σ b + offset), where b is 0 or 1 and the sum is over `dummies`."""

    scale: fmpq
    offset: fmpq
    b: Poly
    dummies: Dummies

    @property
    def none(self) -> Poly:
        """Return Π (1 − b), which is 1 where the count Σ b is 0, and else 0."""
        return product_over(ONE - self.b, self.dummies)

    @property
    def threshold(self) -> int:
        """Return the least count at which the term is positive; with a negative scale, at which it is not positive."""
        return floor(-self.offset) + 1 if self.scale > 0 else ceil(-self.offset)


MAX_COUNT = 3
"""The largest number that a count is compared with for a proof value by value; with a larger one, that is not tried."""


def is_count(poly: Poly) -> bool:
    """Return whether the term is a count Σ b, b being 0 or 1, times a number and plus a number."""
    return next(_as_count(poly), None) is not None


def by_products(poly: Poly, indices: Indices) -> Poly:
    """Return the term with each predicate [Σ b ≥ 1] or [Σ b ≥ 2] as products (see the head of the file).

    [Σ b ≥ 2] stays where `indices` do not show a place at which b is 1.
    """

    def value(a: Atom) -> Poly | None:
        for count in _as_count(a.poly) if isinstance(a, Pred) else ():
            enough = _enough(count, indices)
            if enough is not None:
                applied(Law.COUNT)
                return enough if count.scale > 0 else ONE - enough
        return None

    return replaced(poly, value)


def by_value(poly: Poly, compared: Poly) -> list[Poly]:
    """Return one term for each value 0, 1, … of the count in `compared`; if they are all 0, `poly` is 0.

    `compared` is the term of a predicate of `poly`. The last value is the greatest threshold of all predicates about
    that count, and stands for all counts from there on. The first term is `poly` times the indicator of "the count is
    0"; in the others that indicator is 0. Empty where `compared` is no count, or a threshold is above `MAX_COUNT`.
    """
    count = next(_as_count(compared), None)
    none = None if count is None else count.none.atom()
    if count is None or none is None:
        return []
    comparisons: dict[Atom, Count] = {}
    for a in deep_atoms(poly):
        for compared_count in _as_count(a.poly) if isinstance(a, Pred) else ():
            if compared_count.none.atom() is none:
                comparisons[a] = compared_count
    largest = max((compared_count.threshold for compared_count in comparisons.values()), default=0)
    if not 1 <= largest <= MAX_COUNT:
        return []
    applied(Law.COUNT)
    terms = []
    for n in range(largest + 1):
        values: dict[Atom, Poly] = {
            a: ONE if (n >= c.threshold) == (c.scale > 0) else ZERO for a, c in comparisons.items()
        }
        part = replaced(poly, values.get)
        if n == 0:
            terms.append(part * poly_of(none))
            continue
        part = replaced(part, lambda a: ZERO if a is none else None)
        terms.append(part if n == largest else _term_at_count(part, count, compared, n))
    return terms


def _sums(poly: Poly) -> list[Sum]:
    return [a for a in atoms_of(poly) if isinstance(a, Sum)]


def _as_count(poly: Poly) -> Iterator[Count]:
    """Yield each way to write a term as scale·(Σ b + offset) with b 0 or 1.

    All sums of the term must have the same ranges, so that they become one. The scale is tried as the least coefficient
    of the summand, with either sign.
    """
    sums = _sums(poly)
    if not sums or any(a.ranges != sums[0].ranges for a in sums):
        return
    dummies: Dummies = [(fresh(), n) for n in sums[0].ranges]
    body, rest = ZERO, ZERO
    for mono, c in poly.items():
        ((a, e),) = mono if len(mono) == 1 else ((None, 0),)
        if isinstance(a, Sum) and e == 1:
            names = {v: of_var(w) for v, (w, _) in zip(a.vars, dummies, strict=True)}
            body = body + Rewriter(names).mono(a.body).scale(c)
        else:
            rest = rest + Poly({mono: c})
    if body.is_zero or any(type(a) in INDEX_PREDICATES for a in atoms_of(body)):
        return  # places are counted by their bounds
    places = prod((n for _, n in dummies), start=ONE)
    least_coefficient = min(abs(c) for _, c in body.items())
    for scale in (least_coefficient, -least_coefficient):
        for shift in (ZERO, ONE):  # with 1, a summand −b' that is −1 or 0 becomes b = 1 − b': Σ_S −b' = Σ_S b − |S|
            b = body.scale(1 / scale) + shift
            offset = (rest.scale(1 / scale) - shift * places).constant()
            if offset is not None and is_truth(b):
                yield Count(scale, offset, b, dummies)


def _enough(count: Count, indices: Indices) -> Poly | None:
    """Return [Σ b ≥ threshold] by products; None above 2, and at 2 where no place is known to have b = 1."""
    if count.threshold <= 0:
        return ONE
    if count.threshold == 1:
        return ONE - count.none
    product = count.none.atom()
    if count.threshold > 2 or not isinstance(product, Product):
        return None
    for place, value in decided_places(product, indices):
        if value.is_zero:
            return ONE - others(product, place)
    return None


def _term_at_count(poly: Poly, count: Count, compared: Poly, n: int) -> Poly:
    """Return the term at the value n of the count, with one of its sums expressed by the others."""
    equation = compared - number((n + count.offset) * count.scale)
    a = max(_sums(compared), key=lambda a: a.key)
    c = equation.coefficient(((a, 1),))
    value = poly_of(a) - equation.scale(1 / c)
    return replaced(poly, lambda b: value if b is a else None)
