"""Logarithms: the inverse hyperbolic functions in their terms, and when a combination of them is 0.

    asinh p = log(p + √(1 + p²)) for all p,  acosh p = log(p + √(p² − 1)) for p ≥ 1,
    atanh p = ½·log(1 + p) − ½·log(1 − p) for −1 < p < 1:

each holds wherever the function is defined. A real number r is 0 if exp(n·r) = 1 for a whole number n that is not 0, so
that Σ c·log p + q = 0 with rational c follows from Π p^(n·c)·exp(n·q) = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from flint import fmpq

from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, monomial
from certgrad.obligations.terms.power import exp_of, log_of, power
from certgrad.obligations.terms.rewriting import replaced

from .grouped import by_cofactor

HALF = Fraction(1, 2)
MOST_FACTORS = 8
"""The most factors of a product of arguments that is multiplied out; a combination with more is not decided."""


def in_logarithms(poly: Poly) -> Poly:
    """Return the term with asinh, acosh and atanh written as logarithms."""
    return replaced(poly, _logarithm)


def _logarithm(a: Atom) -> Poly | None:
    if not isinstance(a, Fn) or a.name not in ("asinh", "acosh", "atanh"):
        return None
    (p,) = a.args
    if a.name == "atanh":
        return (log_of(ONE + p) - log_of(ONE - p)).scale(fmpq(1, 2))
    radicand = p * p + (ONE if a.name == "asinh" else -ONE)
    return log_of(p + (power(radicand, HALF) if not radicand.is_zero else radicand))


def _is_log(a: Atom) -> bool:
    return isinstance(a, Fn) and a.name == "log"


def exponentiated(poly: Poly) -> tuple[Poly, Poly] | None:
    """Return (P, Q) with poly = (log P − log Q)/n for some n > 0, where P and Q are positive where poly is defined.

    None where poly has no logarithm, or one that is multiplied by more than a number, or where P and Q would have more
    than `MOST_FACTORS` factors.
    """
    groups, rest = by_cofactor(poly, _is_log)
    if groups.keys() != {""}:
        return None
    return _exponentiated(groups[""], rest)


def _exponentiated(logs: list[tuple[Atom, Fraction]], rest: Poly) -> tuple[Poly, Poly] | None:
    n = lcm(*(c.denominator for _, c in logs))
    if sum(abs(c) * n for _, c in logs) > MOST_FACTORS:
        return None
    above, below = ONE, ONE
    for a, c in logs:
        assert isinstance(a, Fn)
        p, k = a.args[0], int(n * c)
        above, below = (above * power(p, k), below) if k > 0 else (above, below * power(p, -k))
    return above * exp_of(rest.scale(n)), below


def logarithms_cancel(poly: Poly, vanishes: Callable[[Poly], bool]) -> bool:
    """Return whether the term is a sum of combinations of logarithms, each times a factor, that are all 0.

    Summands without a logarithm belong to the combination if there is only one; with several, there must be none.
    """
    groups, rest = by_cofactor(poly, _is_log)
    if not groups or (len(groups) > 1 and not rest.is_zero):
        return False
    divided = _divided(rest, _cofactor(poly))
    if divided is None:
        return False
    for parts in groups.values():
        sides = _exponentiated(parts, divided)
        if sides is None or not vanishes(sides[0] - sides[1]):
            return False
    return True


def _cofactor(poly: Poly) -> list[tuple[Atom, Exponent]]:
    """Return the factors beside the first logarithm."""
    first = next(mono for mono, _ in poly.sorted_items() if any(_is_log(a) for a, _ in mono))
    return [(a, e) for a, e in first if not _is_log(a)]


def _divided(poly: Poly, factors: list[tuple[Atom, Exponent]]) -> Poly | None:
    """Return poly/Π aᵉ where each summand has the factor Π aᵉ, so that no division by 0 is possible; else None."""
    if any(dict(mono).get(a, 0) < e for mono in poly for a, e in factors):
        return None
    return poly * monomial({a: -e for a, e in factors}) if factors else poly
