"""Functions of their inverses: erf(erf_inv p) = p where −1 < p < 1, and erf_inv(erf p) = p for all p.

Both hold wherever the left side is defined. (For sines see `multiple_angles`, for logarithms the normal form.)
"""

from __future__ import annotations

from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.polynomials import Atom, Poly
from certgrad.obligations.terms.rewriting import replaced

_INVERSE = {"erf": "erf_inv", "erf_inv": "erf"}


def without_inverses(poly: Poly) -> Poly:
    """Return the term with p for erf(erf_inv p) and for erf_inv(erf p)."""
    return replaced(poly, _argument)


def _argument(a: Atom) -> Poly | None:
    argument = a.args[0].single() if isinstance(a, Fn) and a.name in _INVERSE else None
    if argument is None or abs(argument[1]) != 1 or len(argument[0]) != 1 or argument[0][0][1] != 1:
        return None
    b = argument[0][0][0]
    if not isinstance(b, Fn) or not isinstance(a, Fn) or b.name != _INVERSE[a.name]:
        return None
    return b.args[0].scale(argument[1])  # both functions are odd
