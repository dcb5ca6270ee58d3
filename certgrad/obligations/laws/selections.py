"""What selections take, and what they take on both sides alike.

A choice is read where its condition holds: masked scores are given −10⁹, and their exponentials 0. What stands on both
sides of a seam, ([p > 0] + [−p > 0])·p, is p, also where p is 0. Outside loops the regions of the predicates tell that.
A step of a loop has none, and what it does is differentiated as it is written: ([r > 0] + [−r > 0])·r + … has there the
derivative of r, and not one that is 0 where r is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from certgrad.obligations.terms.atoms import Exp
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.power import exp_of, pred
from certgrad.obligations.terms.predicates import PREDICATES, Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.walk import atoms_of, deep_atoms


def taken(which: Poly, yes: Poly, no: Poly) -> tuple[Poly, Poly]:
    """Both choices of a selection, with exponentials of what its condition multiplies read where they are taken.

    The condition is a predicate or the contrary of one; the choices stay as they are elsewhere.
    """
    condition, holds = which.atom(), True
    if condition is None:
        condition, holds = (ONE - which).atom(), False
    if condition is None or type(condition) not in PREDICATES:
        return yes, no
    return _where(condition, holds, yes), _where(condition, not holds, no)


def _where(condition: Atom, holds: bool, term: Poly) -> Poly:
    chosen = {a for a in deep_atoms(term) if type(a) is Exp and condition in dict(a.mono)}
    if not chosen:
        return term

    def replace(a: Atom) -> Poly | None:
        if not isinstance(a, Exp) or a not in chosen:
            return None
        return exp_of(monomial({b: e for b, e in a.mono if b != condition})) if holds else ONE

    applied(Law.EXP_OF_CHOSEN)
    return Rewriter(replace=replace)(term)


def on_both_sides(term: Poly) -> Poly:
    """The term with q·p for q·p·[p > 0] + q·p·[−p > 0], for the monomials q for which both are parts of it."""
    found = next(_parts(term), None) if term.piecewise else None
    if found is None:
        return term
    applied(Law.BOTH_SIDES)
    with_signs, without = found
    return on_both_sides(term - with_signs + without)


def _parts(term: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Parts q·p·([p > 0] + [−p > 0]) of the term, each with q·p."""
    signs = {a for a in atoms_of(term) if type(a) is Pred}
    for a in sorted(signs, key=lambda a: a.key):
        opposite = pred(-a.poly)
        if opposite.atom() not in signs:
            continue
        for without in _multiples(term, a):
            both = without * poly_of(a) + without * opposite
            if all(term.coefficient(mono) == c for mono, c in both.items()):
                yield both, without


def _multiples(term: Poly, a: Atom) -> Iterator[Poly]:
    """What q·p can be: by the parts of the term in which one monomial of p stands with [p > 0]."""
    p: Poly = a.poly  # type: ignore[attr-defined]
    lead, leading = p.sorted_items()[0]
    for mono, c in term.sorted_items():
        if any(b == a for b, _ in mono) and (cofactor := _divided(mono, (*lead, (a, 1)))) is not None:
            yield p * Poly({cofactor: c / leading})


def _divided(mono: Mono, by: Mono) -> Mono | None:
    """mono / by, where every factor of `by` stands in it as often at least."""
    left = dict(mono)
    for b, e in by:
        left[b] = left.get(b, 0) - e
        if left[b] < 0:
            return None
    return tuple((b, left[b]) for b, _ in mono if left[b] != 0)
