"""Predicates and floors whose values follow from assumptions."""

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
    """Return whether no variable in the atom is bound by a sum around it."""
    return not any(v[0] == "b" for v in a.free)


def has_bound_predicate(poly: Poly) -> bool:
    """Return whether the term has a predicate on a bound variable, which no region decides."""
    return any(isinstance(a, Pred) and not bound_free(a) for a in deep_atoms(poly))


def predicates(poly: Poly) -> list[Pred | Side]:
    """Return the predicates [p > 0] that mention no variable of a sum around them, innermost first."""
    outside_sums = [a for a in deep_atoms(poly) if isinstance(a, (Pred, Side)) and bound_free(a)]
    return sorted(outside_sums, key=lambda a: (sum(isinstance(b, (Pred, Side)) for b in deep_atoms(a.poly)), a.key))


def rounded(poly: Poly, facts: Facts) -> Poly:
    """Return the term with ⌊p⌋ replaced by k = 0 or −1 where the facts show k ≤ p < k + 1.

    The facts hold at a point, and around it ⌊p⌋ is k only if p ≠ k. So a term is left as it is if a side [p > 0] of a
    boundary, which stands for values around the point, has a floor in it.
    """
    if not _has_floor(poly) or any(isinstance(a, Side) and _has_floor(a.poly) for a in deep_atoms(poly)):
        return poly

    def value(a: Atom) -> Poly | None:
        """Return 0 or −1 for a floor that the facts decide; None for any other atom."""
        if isinstance(a, Fn) and a.name == "floor" and bound_free(a):
            (p,) = a.args
            for least in (ZERO, -ONE):
                if not facts.signs(p - least) & NEG and facts.signs(least + ONE - p) == POS:
                    return least
        return None

    return replaced(poly, value)


def over_one_floor(poly: Poly) -> Poly:
    """Return the term with ⌊k − p⌋ as k − ⌊p⌋ − [p > ⌊p⌋], where ⌊p⌋ and ⌊k − p⌋ both occur and k is an integer.

    A term with a floor inside of a side of a boundary is left as it is (see `rounded`).
    """
    floors = {a for a in deep_atoms(poly) if isinstance(a, Fn) and a.name == "floor"}
    if len(floors) < 2 or any(isinstance(a, Side) and _has_floor(a.poly) for a in deep_atoms(poly)):
        return poly
    turned: dict[Atom, Poly] = {}
    for first, second in combinations(sorted(floors, key=lambda a: a.key), 2):
        k = first.args[0] + second.args[0]
        if first not in turned and is_integer_term(k):
            below = poly_of(first)
            turned[second] = k - below - pred(first.args[0] - below)
    if not turned:
        return poly
    applied(Law.FLOOR_OF_NEGATED)
    return replaced(poly, turned.get)


def _has_floor(poly: Poly) -> bool:
    return any(isinstance(a, Fn) and a.name == "floor" for a in deep_atoms(poly))


def decide_predicates(poly: Poly, facts: Facts, around: bool = False) -> Poly:
    """Return the term with each predicate that the facts decide replaced by 1 or 0.

    With `around`, the term is valid in a neighbourhood of the point: no fact that holds only at the point was used in
    it. Then a side [p > 0] whose p becomes 0 is 0, as p is 0 around the point as well. This is so for
    `min(r·A, clip(r)·A)` where nothing is clipped.
    """

    def value(a: Atom) -> Poly | None:
        """Return 0 or 1 for a predicate that the facts decide; None for any other atom."""
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
        decided = replaced(poly, value)
        if decided == poly:
            break
        poly = decided
    return poly
