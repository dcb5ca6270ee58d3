"""Order: comparisons that a strictly increasing function relates are one comparison.

Wherever what is compared is defined, and with n > 0:

    Σ c·log P + q has the sign of exp(n·q)·Π_{c>0} P^(n·c) − Π_{c<0} P^(−n·c), all P being positive;
    exp(p) − exp(q) has the sign of p − q, and f·(exp(p) − exp(q)) that of ±(p − q) where the sign of f is known;
    A − B has the sign of Aⁿ − Bⁿ, if A ≥ 0 and B ≥ 0, and a product of roots that of what these are of;
    f(u) − f(v) has the sign of u − v for a strictly increasing f, that of v − u for a decreasing one.

What is compared is brought from the left to the right: to terms without logarithms and roots, where linear arithmetic
knows what follows from what. Where a side is defined at some points only, that must be shown from what is assumed: a
comparison may stand in a lane that is not selected, where it means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import lcm

from certgrad.language.functions import FUNCTIONS, everywhere
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.assume.simplify import difference_of_exponents
from certgrad.obligations.terms.atoms import Exp, Fn
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly
from certgrad.obligations.terms.power import content, pred, side
from certgrad.obligations.terms.predicates import Pred, Side
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

from .logarithms import exponentiated, in_logarithms

MOST = 4
"""The highest degree of roots that are compared by powers; others stay."""
ROUNDS = 3
"""The most laws that are applied to a comparison, one after another; then it stays as it is."""


def compared(poly: Poly, facts: Facts) -> Poly:
    """Return a term with the same sign wherever the assumptions hold and both compared terms are defined."""
    for _ in range(ROUNDS):
        if poly.piecewise or not _of_interest(poly):
            return poly
        simpler = next((q for law in _LAWS if (q := law(poly, facts)) is not None), None)
        if simpler is None:
            return poly
        applied(Law.MONOTONE)
        poly = simpler
    return poly


def _of_interest(poly: Poly) -> bool:
    return any(
        isinstance(a, Exp)
        or (isinstance(a, Fn) and a.name in _SEEN)
        or (isinstance(e, Fraction) and not isinstance(a, Fn))
        for m in poly
        for a, e in m
    )


def _by_logarithms(poly: Poly, facts: Facts) -> Poly | None:
    if any(isinstance(a, Fn) and a.name == "acosh" and facts.signs(a.args[0] - ONE) & NEG for a in atoms_of(poly)):
        return None
    plain = in_logarithms(poly)
    logs = [a for a in atoms_of(plain) if isinstance(a, Fn) and a.name == "log"]
    if not logs or any(facts.signs(a.args[0]) != POS for a in logs):
        return None
    sides = exponentiated(plain)
    return None if sides is None else sides[0] - sides[1]


def _by_exponents(poly: Poly, facts: Facts) -> Poly | None:
    c, factors, rest = content(poly)
    difference, negative = difference_of_exponents(rest), c < 0
    for a, e in factors.items() if difference is not None else ():
        signs = POS if a.positive else facts.signs(Poly({((a, 1),): ONE.coefficient(())}))
        if signs not in (POS, NEG) or (signs == NEG and not isinstance(e, int)):
            return None
        negative ^= signs == NEG and e % 2 == 1
    return -difference if difference is not None and negative else difference


def _by_powers(poly: Poly, facts: Facts) -> Poly | None:
    """Return a term without roots that has the sign of `poly`, a product or a difference of two; None where unknown."""
    _, _, rest = content(poly, only_positive=True)
    if len(rest) == 1:  # a root has the sign of what is under it, which is not negative
        ((mono, c),) = rest.sorted_items()
        of_roots = [(a, e) for a, e in mono if isinstance(e, Fraction)]
        if not of_roots or not all(e > 0 and _not_negative(a, e, facts) for a, e in of_roots):
            return None
        return Poly({tuple((a, 1 if isinstance(e, Fraction) else e) for a, e in mono): c})
    if len(rest) != 2:
        return None
    (first, c), (second, d) = rest.sorted_items()
    if c * d > 0:
        return None
    n = lcm(*(e.denominator for mono in (first, second) for _, e in mono if isinstance(e, Fraction)))
    if not 1 < n <= MOST or not all(_not_negative(a, e, facts) for mono in (first, second) for a, e in mono):
        return None
    # The difference of two terms ≥ 0 has the sign of the difference of their n-th powers.
    a, b = Poly({first: abs(c)}), Poly({second: abs(d)})
    return (a**n - b**n).scale(1 if c > 0 else -1)


def _not_negative(a: Atom, e: object, facts: Facts) -> bool:
    if a.positive:
        return True
    signs = facts.signs(Poly({((a, 1),): ONE.coefficient(())}))
    return not signs & NEG and not (signs & ZERO and isinstance(e, int | Fraction) and e < 0)


_BOUNDED = {"asin": ZERO | POS, "acos": ZERO | POS, "erf_inv": POS}
"""Functions of p that are defined where 1 − p² has one of these signs."""
_LOGARITHMIC = frozenset({"log", "asinh", "acosh", "atanh"})
_MONOTONE = {
    name: known.monotone
    for name, known in FUNCTIONS.items()
    if known.monotone and (known.domain is everywhere or name in _BOUNDED) and name not in _LOGARITHMIC
}
_SEEN = _LOGARITHMIC | _MONOTONE.keys()


def _by_arguments(poly: Poly, facts: Facts) -> Poly | None:
    """Return ±(u − v) for f(u) − f(v) with a monotone f, ±(u + v) for f(u) + f(v) if f is odd too; else None."""
    if len(poly) != 2:
        return None
    (first, c), (second, d) = poly.sorted_items()
    if abs(c) != abs(d) or any(len(m) != 1 or m[0][1] != 1 for m in (first, second)):
        return None
    a, b = first[0][0], second[0][0]
    if not (isinstance(a, Fn) and isinstance(b, Fn)) or a.name != b.name or a.name not in _MONOTONE:
        return None
    u, v = a.args[0], b.args[0]
    if a.name in _BOUNDED and any(facts.signs(ONE - p * p) & ~_BOUNDED[a.name] for p in (u, v)):
        return None
    if c == d:
        if FUNCTIONS[a.name].parity != "odd":
            return None
        v = -v
    difference = u - v if c > 0 else v - u
    return difference if _MONOTONE[a.name] == "increasing" else -difference


_LAWS = (_by_logarithms, _by_exponents, _by_powers, _by_arguments)


def compared_facts(facts: Facts) -> list[Fact]:
    """Return the facts with their terms replaced by those of `compared`, for all facts that this changes.

    Where a fact holds at every index, only facts of that kind are used to replace its term.
    """
    out: list[Fact] = []
    for fact in facts.facts:
        if not fact.poly.piecewise and _of_interest(fact.poly):
            poly = compared(fact.poly, _everywhere(facts) if fact.universal else facts)
            new_fact = replace(fact, poly=poly)
            if poly != fact.poly and new_fact not in facts.facts:
                out.append(new_fact)
    return out


def _everywhere(facts: Facts) -> Facts:
    """Return the assumptions that hold at every index."""
    return Facts(integers=facts.integers).extended(f for f in facts.facts if f.universal)


def with_comparisons(poly: Poly, facts: Facts) -> Poly:
    """Return the term with the comparisons in its predicates in the form that `compared` gives them."""

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Pred | Side):
            return None
        new_term = compared(a.poly, facts)
        if new_term == a.poly or new_term.is_zero:
            return None
        return pred(new_term) if isinstance(a, Pred) else side(new_term)

    return replaced(poly, value) if any(isinstance(a, Pred | Side) for a in deep_atoms(poly)) else poly


def compared_clauses(clauses: Iterable[Clause], facts: Facts) -> tuple[Clause, ...]:
    """Return the clauses with comparisons in the form of `compared`, by the facts that hold at every index."""
    return tuple(_compared_clause(c, facts) for c in clauses)


def _compared_clause(clause: Clause, facts: Facts) -> Clause:
    comparisons = [a for a in clause.alternatives if a.signs is not None and _of_interest(a.poly)]
    if not comparisons:
        return clause
    everywhere = _everywhere(facts)
    alternatives = tuple(
        replace(a, poly=compared(a.poly, everywhere)) if a in comparisons else a for a in clause.alternatives
    )
    return replace(clause, alternatives=alternatives)
