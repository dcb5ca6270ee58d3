"""Roots of products and quotients: (A·B)^q = A^q·B^q and (A/D)^q = A^q·D^(−q), for fractional q, under assumptions.

The first needs that A and B have a sign in common, so that |A|·|B| = A·B; the second that D > 0. What is under a root
is never negative where the root is defined, and that is recorded where it is made.
"""

from __future__ import annotations

from fractions import Fraction

from certgrad.obligations.assume.decided import decided
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS
from certgrad.obligations.terms.atoms import Base
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.power import cleared, content, power
from certgrad.obligations.terms.rational import factored

LONG = 40
"""Terms of a polynomial under a root from which on it is not factored."""
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
    return decided(total, facts) if total.piecewise else total


def _factors(poly: Poly, facts: Facts) -> Factors | None:
    """Return the term under a root as factors that are not negative where the root is defined; else None."""
    above, denominators = cleared(poly)
    below = [(poly_of(a), -k) for a, k in denominators.items()]
    below += [(poly_of(a), int(e)) for a, e in content(above)[1].items() if isinstance(e, int) and e < 0]
    if any(facts.signs(d) != POS for d, _ in below):
        above, below = poly, []
    for d, k in below[len(denominators) :]:
        above = above * power(d, -k)
    pieces = _pieces(above, facts)
    if pieces is None:
        return [*below, (above, 1)] if below else None
    return [*below, *pieces]


def _pieces(poly: Poly, facts: Facts) -> Factors | None:
    found = factored(poly) if 1 < len(poly) < LONG else None
    if found is None or len(found[1]) < 2:
        return None
    c, pieces = found[0], []
    for f, k in found[1]:
        signs = facts.signs(f)
        if not signs & NEG:
            pieces.append((f, k))
        elif not signs & POS:
            pieces.append((-f, k))
            c = c if k % 2 == 0 else -c
        else:
            return None
    return [*pieces, (Poly({(): c}), 1)] if c > 0 else None
