"""Predicates whose value assumptions determine."""

from __future__ import annotations

from itertools import combinations

from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.power import is_integer_term, pred
from certgrad.obligations.terms.predicates import Pred, Side
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.walk import deep_atoms

from .facts import Facts
from .signs import NEG, POS


def bound_free(a: Atom) -> bool:
    """Return whether the atom mentions no variable of a sum around it."""
    return not any(v[0] == "b" for v in a.free)


def predicates(poly: Poly) -> list[Pred | Side]:
    """Return predicates that stand outside every sum, innermost first."""
    found = [a for a in deep_atoms(poly) if isinstance(a, (Pred, Side)) and bound_free(a)]
    return sorted(found, key=lambda a: (sum(isinstance(b, (Pred, Side)) for b in deep_atoms(a.poly)), a.key))


def rounded(poly: Poly, facts: Facts) -> Poly:
    """The term with ⌊p⌋ replaced by 0 or −1 where the facts show that p lies between that number and the next.

    That is so at the point, and around it only where p is not that number: what is read from the sides stays.
    """
    if not _has_floor(poly) or any(isinstance(a, Side) and _has_floor(a.poly) for a in deep_atoms(poly)):
        return poly

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Fn) and a.name == "floor" and bound_free(a):
            (p,) = a.args
            for least in (ZERO, -ONE):
                if not facts.signs(p - least) & NEG and facts.signs(least + ONE - p) == POS:
                    return least
        return None

    return replaced(poly, value)


def over_one_floor(poly: Poly) -> Poly:
    """The term with ⌊k − p⌋ written by ⌊p⌋ where both are there and k is whole: k − ⌊p⌋, less 1 where p is not whole.

    What is read from the sides of a boundary stays, as above.
    """
    found = {a for a in deep_atoms(poly) if isinstance(a, Fn) and a.name == "floor"}
    if len(found) < 2 or any(isinstance(a, Side) and _has_floor(a.poly) for a in deep_atoms(poly)):
        return poly
    turned: dict[Atom, Poly] = {}
    for one, other in combinations(sorted(found, key=lambda a: a.key), 2):
        k = one.args[0] + other.args[0]
        if one not in turned and is_integer_term(k):
            below = poly_of(one)
            turned[other] = k - below - pred(one.args[0] - below)
    if not turned:
        return poly
    applied(Law.FLOOR_OF_NEGATED)
    return replaced(poly, turned.get)


def _has_floor(poly: Poly) -> bool:
    return any(isinstance(a, Fn) and a.name == "floor" for a in deep_atoms(poly))


def decide_predicates(poly: Poly, facts: Facts, around: bool = False) -> Poly:
    """Return the term with each predicate that the facts decide replaced by 1 or 0.

    `around` says that the term holds around the point, so that facts were not put into it which hold at the point
    alone. A side [p > 0] of which p is then identically 0 is decided as 0: around the point, too, p > 0 does not hold
    (`min(r·A, clip(r)·A)` where nothing is clipped).
    """

    def value(a: Atom) -> Poly | None:
        if around and isinstance(a, Side) and a.poly.piecewise and replaced(a.poly, value).is_zero:
            return ZERO
        if isinstance(a, (Pred, Side)) and bound_free(a):
            signs = facts.signs(a.poly)
            if signs == POS:
                return ONE
            if signs == NEG or (isinstance(a, Pred) and not signs & POS):
                return ZERO
        return None

    for _ in range(4):  # a decided predicate can decide one around it
        new = replaced(poly, value)
        if new == poly:
            break
        poly = new
    return poly
