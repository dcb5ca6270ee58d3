"""Predicates on products, by the signs of the factors: [f·g > 0] = [f > 0]·[g > 0] + [−f > 0]·[−g > 0].

x² > 1 and |x| > 1 are then the same predicates, and each boundary is that of one factor, which can be solved for.
"""

from __future__ import annotations

from itertools import product

from certgrad.obligations.assume.decided import bound_free
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.power import pred, side
from certgrad.obligations.terms.predicates import Pred, Side
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.session import Memo

MAX_FACTORS = 3
"""The most factors of a predicate's term; with more, the predicate is not split."""
_splits: Memo[Atom, Poly | None] = Memo()


def split_products(poly: Poly) -> Poly:
    """Return the same term with its predicates of products, outside sums, as predicates of the factors."""
    return replaced(poly, _by_factors) if poly.piecewise else poly


def _by_factors(a: Atom) -> Poly | None:
    if not isinstance(a, (Pred, Side)) or not bound_free(a):
        return None
    if a not in _splits.table:
        _splits.table[a] = _split_by_factor_signs(a)
    return _splits.table[a]


def _split_by_factor_signs(a: Pred | Side) -> Poly | None:
    """Return Σ of Π [±f > 0] over the signs of the factors f that make the product positive; None if there are none.

    A factor to an even power may have either sign.
    """
    if a.poly.piecewise or len(a.poly) >= 40:
        return None
    parts = factored(a.poly)
    if parts is None or not 1 < len(parts[1]) <= MAX_FACTORS:
        return None
    make = pred if isinstance(a, Pred) else side
    positive = parts[0] > 0
    applied(Law.SIGN_OF_PRODUCT)
    total = ZERO
    for signs in product((1, -1), repeat=len(parts[1])):
        negative_factors = sum(1 for s, (_, k) in zip(signs, parts[1], strict=True) if s < 0 and k % 2)
        if (negative_factors % 2 == 0) != positive:
            continue
        term = ONE
        for s, (factor, _) in zip(signs, parts[1], strict=True):
            term = term * make(_numerator(factor).scale(s))
        total = total + term
    return total


def _numerator(factor: Poly) -> Poly:
    """Return a for a factor 1/a, which has the sign of a; any other factor as it is."""
    single = factor.single()
    if single and len(single[0]) == 1 and single[0][0][1] == -1:
        return poly_of(single[0][0][0]).scale(single[1])
    return factor
