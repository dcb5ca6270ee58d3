"""Roots of products and quotients: (A·B)^q = A^q·B^q and (A/D)^q = A^q·D^(−q), for fractional q, under assumptions.

The first needs that A and B have a sign in common, so that |A|·|B| = A·B; the second that D > 0. What is under a root
is never negative where the root is defined, and that is recorded where it is made.

Cube roots need no assumption: cbrt is the inverse of a cube, which is multiplicative and one to one on all of ℝ. So
cbrt(A·B) = cbrt(A)·cbrt(B), and with it cbrt(A/D) = cbrt(A)/cbrt(D) where D ≠ 0, as it is where A/D is defined.
"""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from certgrad.obligations.assume.decided import decide_predicates
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS
from certgrad.obligations.terms.atoms import Base, Fn
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.power import cleared, content, fn, number_power, power
from certgrad.obligations.terms.predicates import INDEX_PREDICATES
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.walk import deep_atoms

THIRD = Fraction(1, 3)
LONG = 40
"""A polynomial under a root that has this number of terms, or more, is not factored."""
Factors = list[tuple[Poly, int]]


def split_roots(poly: Poly, facts: Facts) -> Poly | None:
    """Return the term with the roots of products and quotients split; None where there are none to split."""
    changes: dict[Atom, Factors] = {}
    for m in poly:
        for a, e in m:
            if isinstance(a, Base) and isinstance(e, Fraction) and a not in changes:
                factors = _factors(a.poly, facts)
                if factors is not None:
                    changes[a] = factors
    if not changes:
        return None
    applied(Law.ROOT_OF_FACTORS)
    total = ZERO
    for m, c in poly.items():
        part = monomial({a: e for a, e in m if a not in changes}).scale(c)
        for a, e in m:
            for f, k in changes.get(a, ()):
                part = part * power(power(f, e), k)
        total = total + part
    return decide_predicates(total, facts) if total.piecewise else total


def _factors(poly: Poly, facts: Facts) -> Factors | None:
    """Return the term under a root as factors (f, k), none negative where the root is defined; else None."""
    above, denominators = cleared(poly)
    below = [(poly_of(a), -k) for a, k in denominators.items()]
    below += [(poly_of(a), int(e)) for a, e in content(above)[1].items() if isinstance(e, int) and e < 0]
    if any(facts.signs(d) != POS for d, _ in below):  # then the quotient stays under one root
        above, below = poly, []
    for d, k in below[len(denominators) :]:
        above = above * power(d, -k)
    pieces = _pieces(above, facts)
    if pieces is None:
        return [*below, (above, 1)] if below else None
    return [*below, *pieces]


def _pieces(poly: Poly, facts: Facts) -> Factors | None:
    factorisation = factored(poly) if 1 < len(poly) < LONG else None
    if factorisation is None or len(factorisation[1]) < 2:
        return None
    c, pieces = factorisation[0], []
    for f, k in factorisation[1]:
        signs = facts.signs(f)
        if not signs & NEG:
            pieces.append((f, k))
        elif not signs & POS:
            pieces.append((-f, k))
            c = c if k % 2 == 0 else -c
        else:
            return None
    return [*pieces, (Poly({(): c}), 1)] if c > 0 else None


def split_cube_roots(poly: Poly, facts: Facts) -> Poly:
    """Return the term with cube roots of products as products of cube roots; those of known sign as powers."""

    def root(a: Atom) -> Poly | None:
        return _cube_root(a.args[0], facts) if isinstance(a, Fn) and a.name == "cbrt" else None

    return replaced(poly, root)


def _cube_root(poly: Poly, facts: Facts) -> Poly | None:
    """Return the cube root as a product of those of the factors: ±|f|^(1/3) where the sign of f is known, else cbrt f.

    None where a condition stands in the term.
    """
    if poly.piecewise or any(type(a) in INDEX_PREDICATES for a in deep_atoms(poly)):
        return None  # what selects stays beside the divisors that it keeps from 0
    above, denominators = cleared(poly)
    c, taken, rest = content(above)
    scale, polynomial_factors = (factored(rest) if 1 < len(rest) < LONG else None) or (fmpq(1), [(rest, 1)])
    c, factors = c * scale, list[tuple[Poly, Exponent]](polynomial_factors)
    total = number_power(abs(c), THIRD).scale(1 if c > 0 else -1)
    for a, e in (*taken.items(), *((a, -k) for a, k in denominators.items())):
        factors.append((poly_of(a), e))
    for f, e in factors:
        signs = facts.signs(f)
        magnitude = f if not signs & NEG else -f if not signs & POS else None
        factor_root = fn("cbrt", f) if magnitude is None else power(magnitude, THIRD).scale(1 if magnitude is f else -1)
        total = total * power(factor_root, e)
    return total
