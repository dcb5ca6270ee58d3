"""Equal products, and equal exponentials of sums, written alike.

Two products are compared through formal sums. Let ⟨r⟩ be a generator for each real number r, and give Π_{k∈S} f(k)ᵉ
the formal sum Σ_{k∈S} e·⟨f(k)⟩. Products (of products) with the same formal sum are equal wherever they are defined:
each number r then has the same total exponent in both. Where no exponent of r is negative, both have the same power of
r, zero or not; where one is, r ≠ 0, as its inverse is defined. So nothing is divided by, and Π_{k<j} f·Π_{k>j} f is
Π_{k≠j} f at zeros too. In a formal sum ⟨f(k)⟩ is a function of f(k) of which nothing is known, so that sums over index
sets decide whether two of them are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import fmpq

from certgrad.obligations.terms.atoms import Exp, Fn, Product
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.session import Memo, intern
from certgrad.obligations.terms.sums import sum_over

from .order import opened
from .range_products import is_product_or_exponential, substitutions_at_places

GENERATOR = "⟨⟩"
"""The name of ⟨r⟩ as a function of r."""
MAX_PLACES = 64
"""The most places of a product whose factors are counted; with more, only formal sums tell products apart."""
_counts: Memo[Mono, Fraction | None] = Memo()


def collected(poly: Poly, vanishes: Callable[[Poly], bool]) -> Poly:
    """Return the term with equal products, and equal exponentials of sums, written alike so that they add up.

    `vanishes` returns whether a term, here a difference of formal sums, is 0.
    """
    groups: dict[Mono, Poly] = {}
    for mono, c in poly.sorted_items():
        products = tuple((a, e) for a, e in mono if is_product_or_exponential(a))
        cofactor = Poly({tuple((a, e) for a, e in mono if not is_product_or_exponential(a)): c})
        groups[products] = groups.get(products, ZERO) + cofactor
    merged: dict[Mono, Poly] = {}
    for products, rest in groups.items():
        representative = next((m for m in merged if _equal(products, m, vanishes)), products)
        merged[representative] = merged.get(representative, ZERO) + rest
    if len(merged) == len(groups):
        return poly
    applied(Law.PRODUCT_BY_FORMAL_SUM)
    total = ZERO
    for products, rest in merged.items():
        total = total + rest * monomial(dict(products))
    return total


def _equal(one: Mono, other: Mono, vanishes: Callable[[Poly], bool]) -> bool:
    """Return whether both products have the same formal sum, and their exponentials the same exponent."""
    counts = _count_factors(one), _count_factors(other)
    if None not in counts and counts[0] != counts[1]:
        return False  # with ⟨r⟩ = 1 for each r the formal sums are these numbers
    return vanishes(_formal(one) - _formal(other)) and vanishes(_exponent(one) - _exponent(other))


def _count_factors(products: Mono) -> Fraction | None:
    """Return the sum of the exponents of all factors, where ranges and conditions are numbers; else None."""
    if products not in _counts.table:
        _counts.table[products] = _counted(products)
    return _counts.table[products]


def _counted(products: Mono) -> Fraction | None:
    total = Fraction(0)
    for a, e in products:
        if not isinstance(a, Product):
            continue
        places = substitutions_at_places(a, MAX_PLACES)
        values = None if places is None else [at_place(a.where).constant() for at_place in places]
        if values is None or None in values:
            return None
        total += e * sum(Fraction(int(value.p), int(value.q)) for value in values if value is not None)
    return total


def _formal(products: Mono) -> Poly:
    """Return the formal sum Σ e·Σ_{k∈S} ⟨f(k)⟩ of the product of all (Π_{k∈S} f(k))ᵉ."""
    total = ZERO
    for a, e in products:
        if isinstance(a, Product):
            dummies, body, where = opened(a)
            term = sum_over(where * poly_of(intern(Fn(GENERATOR, (body,)))), dummies)
            total = total + term.scale(fmpq(e.numerator, e.denominator))
    return total


def _exponent(products: Mono) -> Poly:
    """Return the exponent Σ e·p of the product of all exp(p)ᵉ."""
    total = ZERO
    for a, e in products:
        if isinstance(a, Exp):
            total = total + Poly({a.mono: fmpq(e.numerator, e.denominator)})
    return total
