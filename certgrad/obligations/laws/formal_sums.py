"""Products and exponentials of sums that are equal, written alike.

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
from functools import lru_cache
from itertools import product
from math import prod

from flint import fmpq

from certgrad.obligations.terms.atoms import Exp, Fn, Product, Sum
from certgrad.obligations.terms.index import of_const, whole_number
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Atom, Mono, Poly, monomial, number, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.walk import deep_atoms

from .order import opened

GENERATOR = "⟨⟩"
"""The name of ⟨r⟩ as a function of r."""
MAX_PLACES = 64
"""Places of a product whose factors are counted, at most."""


def has_products(poly: Poly) -> bool:
    """Return whether a product, or the exponential of a sum over an index set, stands in the term."""
    return any(is_product_or_exponential(a) for a in deep_atoms(poly))


def collected(poly: Poly, vanishes: Callable[[Poly], bool]) -> Poly:
    """The term with equal products written alike, those of exponentials too. `vanishes` says that a sum is 0."""
    groups: dict[Mono, Poly] = {}
    for mono, c in poly.sorted_items():
        products = tuple((a, e) for a, e in mono if is_product_or_exponential(a))
        left = Poly({tuple((a, e) for a, e in mono if not is_product_or_exponential(a)): c})
        groups[products] = groups.get(products, ZERO) + left
    kept: dict[Mono, Poly] = {}
    for products, rest in groups.items():
        equal = next((m for m in kept if _equal(products, m, vanishes)), products)
        kept[equal] = kept.get(equal, ZERO) + rest
    if len(kept) == len(groups):
        return poly
    applied(Law.PRODUCT_BY_FORMAL_SUM)
    total = ZERO
    for products, rest in kept.items():
        total = total + rest * monomial(dict(products))
    return total


def is_product_or_exponential(a: Atom) -> bool:
    if isinstance(a, Exp):
        return a.structured and any(isinstance(b, Sum) for b, _ in a.mono)
    return isinstance(a, Product)


def _equal(one: Mono, other: Mono, vanishes: Callable[[Poly], bool]) -> bool:
    """Return whether the formal sums are the same, and so are the sums whose exponentials are taken."""
    counts = _count_factors(one), _count_factors(other)
    if None not in counts and counts[0] != counts[1]:
        return False  # with ⟨r⟩ = 1 for each r the formal sums are these numbers
    return vanishes(_formal(one) - _formal(other)) and vanishes(_exponent(one) - _exponent(other))


@lru_cache(maxsize=1024)
def _count_factors(products: Mono) -> Fraction | None:
    """Return the sum of the exponents of all factors, where ranges and conditions are numbers; else None."""
    total = Fraction(0)
    for a, e in products:
        if isinstance(a, Product):
            sizes = [whole_number(n) for n in a.ranges]
            if any(n is None for n in sizes) or prod(n or 0 for n in sizes) > MAX_PLACES:
                return None
            for place in product(*(range(n or 0) for n in sizes)):
                at_place = Rewriter({v: of_const(number(k)) for v, k in zip(a.vars, place, strict=True)})
                if (value := at_place(a.where).constant()) is None:
                    return None
                total += e * Fraction(int(value.p), int(value.q))
    return total


def _formal(products: Mono) -> Poly:
    """Σ e·Σ_{k∈S} ⟨f(k)⟩ for the product of all Π_{k∈S} f(k)ᵉ."""
    total = ZERO
    for a, e in products:
        if isinstance(a, Product):
            dummies, body, where = opened(a)
            term = sum_over(where * poly_of(intern(Fn(GENERATOR, (body,)))), dummies)
            total = total + term.scale(fmpq(e.numerator, e.denominator))
    return total


def _exponent(products: Mono) -> Poly:
    """Σ e·p for the product of all exp(p)ᵉ."""
    total = ZERO
    for a, e in products:
        if isinstance(a, Exp):
            total = total + Poly({a.mono: fmpq(e.numerator, e.denominator)})
    return total
