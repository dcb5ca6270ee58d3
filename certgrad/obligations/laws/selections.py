"""What a selection takes, read where its condition holds: masked scores are given −10⁹, and their exponentials 0."""

from __future__ import annotations

from certgrad.obligations.terms.atoms import Exp
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, monomial
from certgrad.obligations.terms.power import exp_of
from certgrad.obligations.terms.predicates import PREDICATES
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.walk import deep_atoms


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
