"""Terms that are zero by laws that relate functions to each other, where the normal form does not show it."""

from __future__ import annotations

from collections.abc import Callable

from certgrad.obligations.assume.decided import decide_predicates
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.laws.directions import angles_cancel
from certgrad.obligations.laws.inverses import without_inverses
from certgrad.obligations.laws.logarithms import in_logarithms, logarithms_cancel
from certgrad.obligations.laws.multiple_angles import over_single_angles
from certgrad.obligations.laws.roots import split_cube_roots, split_roots
from certgrad.obligations.laws.shifts import over_one_shift
from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.budget import BudgetError, at_most_steps
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.power import UndefinedTermError, cleared
from certgrad.obligations.terms.walk import deep_atoms

STEPS = 10_000
"""The most steps of one attempt by laws that relate functions; then it fails."""
NESTED = 3
"""The most levels of roots inside of roots that are split; deeper ones stay."""


def vanishes_by_laws(poly: Poly, facts: Facts) -> bool:
    """Return whether the term is 0 where the assumptions hold, by the laws of the functions in it."""
    if not any(isinstance(a, Fn) for a in deep_atoms(poly)):
        return False
    try:
        with at_most_steps(STEPS):
            return _vanishes(poly, facts)
    except (BudgetError, UndefinedTermError):
        return False


def _vanishes(poly: Poly, facts: Facts) -> bool:
    """Return whether a term is 0 by laws that relate functions to each other. The laws are noted only if it is.

    First each law that rewrites functions is applied; where the result is not seen to be 0, its logarithms or angles
    may cancel.
    """

    def simplified(p: Poly) -> Poly:
        p = decide_predicates(p, facts) if p.piecewise else p
        for _ in range(NESTED):
            split = split_roots(p, facts)
            if split is None:
                break
            p = split
        return p

    def is_zero(p: Poly) -> bool:
        return p.is_zero or cleared(simplified(cleared(p, fractions=True)[0]), fractions=True)[0].is_zero

    form, used_laws = poly, []
    for law, rewrite in _REWRITES:
        before, form = form, rewrite(form, facts)
        used_laws += [law] if form != before else []
    if not (used_laws and is_zero(form)):
        if logarithms_cancel(form, is_zero):
            used_laws.append(Law.LOGARITHMS_CANCEL)
        elif angles_cancel(form, facts, simplified, is_zero):
            used_laws.append(Law.ANGLES_CANCEL)
        else:
            return False
    for law in used_laws:
        applied(law)
    return True


_REWRITES: tuple[tuple[Law, Callable[[Poly, Facts], Poly]], ...] = (
    (Law.INVERSE_FUNCTIONS, lambda p, facts: without_inverses(p)),
    (Law.INVERSE_HYPERBOLIC, lambda p, facts: in_logarithms(p)),
    (Law.ADDITION_THEOREM, over_single_angles),
    (Law.GAMMA_RECURRENCE, over_one_shift),
    (Law.CBRT_OF_PRODUCT, split_cube_roots),
)
