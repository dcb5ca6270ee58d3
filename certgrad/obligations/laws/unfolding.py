"""What loops carry, a step earlier: c[t + 1] is the step of c[t]."""

from __future__ import annotations

from certgrad.obligations.terms.atoms import Max, Product, Sum
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.index_terms import Ranges
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import max_over, open_sum, sum_over

from .order import opened
from .range_products import product_over
from .recurrences import has_loop, stepped


def unfolded(poly: Poly, ranges: Ranges) -> Poly:
    """Every carry as early as it can be shown to go back: c[t + 1] as the step of c[t]."""

    def earlier(a: Atom) -> Poly | None:
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            return sum_over(unfolded(body, {**ranges, **dict(dummies)}), dummies)
        if isinstance(a, (Max, Product)):
            dummies, body, where = opened(a)
            here = {**ranges, **dict(dummies)}
            over = max_over if isinstance(a, Max) else product_over
            return over(unfolded(body, here), dummies, unfolded(where, here))
        if isinstance(a, Rec):
            # Any other number would be gone back from to 0, step by step.
            few = bool(a.time.terms) or a.time.const == ONE or a.time.const.constant() is None
            back = stepped(a, ranges) if few else None
            return poly_of(a) if back is None else unfolded(back, ranges)
        return None

    return Rewriter(replace=earlier)(poly)
