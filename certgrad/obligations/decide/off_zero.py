"""Predicates inside of sums and loops, on terms that are not 0 by the hypotheses: either p > 0 or −p > 0.

Outside of sums and loops, a proof goes through the signs of a term one by one. That is not possible inside, where the
term has a sign of its own at each summed index and at each step.
"""

from __future__ import annotations

from collections.abc import Mapping

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ZERO as SIGN_ZERO
from certgrad.obligations.terms.atoms import Base, Sum
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.index import Ix, solved
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, poly_of
from certgrad.obligations.terms.power import power, pred
from certgrad.obligations.terms.predicates import IxEq, Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.spectra import same_place
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import atoms_of, deep_atoms


def off_zero(poly: Poly, facts: Facts) -> Poly:
    """Return the term with predicates and divisors on p and on −p in one form, where p is not 0.

    [−p > 0] becomes 1 − [p > 0], or the other way round, by the order of p and −p; 1/sign(p) becomes sign(p). Of two
    values that are all different, the difference is 0 at equal places alone; powers of 1/p and 1/(−p) that are made 1
    at equal places get one form too. A term that has nothing of the kind inside of sums and loops stays as it is.
    """
    inner_atoms = [
        b for a in deep_atoms(poly) if isinstance(a, (Sum, Rec)) and a.piecewise for b in deep_atoms(poly_of(a))
    ]
    if not any(type(b) is IxEq or (isinstance(b, Pred) and _opposite(b, facts) is not None) for b in inner_atoms):
        return poly
    return _OffZero(facts)(poly)


def _opposite(a: Pred, facts: Facts) -> Poly | None:
    """Return [p > 0] as 1 − [−p > 0], where p is not 0 and −p comes first; else None.

    For p = λ_j − λ_i with values that are all different, it is 1 − [i = j] − [−p > 0].
    """
    p = a.poly
    if (-p).key >= p.key:
        return None
    if not facts.signs(p) & SIGN_ZERO:
        return ONE - pred(-p)
    equality = same_place(p)
    return None if equality is None or facts.signs(p + equality) & SIGN_ZERO else ONE - equality - pred(-p)


def _off_equal_places(base: Poly, e: int) -> Poly | None:
    """Return the power (±p + c·[i = j])^e, where p is 0 at i = j, in a form that is the same for p and −p; else None.

    It is (±1)^e·((p + [i = j])^e − [i = j]) + c^e·[i = j], with the first of p and −p. So 1/(λᵢ − λⱼ) has one form.
    """
    for equal in atoms_of(base):
        if type(equal) is not IxEq or (at := solved(equal.ix)) is None:
            continue
        at_equal, equality = Rewriter(dict([at])), poly_of(equal)
        p = Poly({m: c for m, c in base.items() if equal not in dict(m)})
        c = at_equal(base).constant()
        if c and at_equal(p).is_zero:
            first = min(p, -p, key=lambda q: q.key)
            sign = -1 if e % 2 and first != p else 1
            return (power(first + equality, e) - equality).scale(sign) + equality.scale(c**e)
    return None


class _OffZero(Rewriter):
    """Rewrites terms as `off_zero` does."""

    def __init__(self, facts: Facts, names: Mapping[Var, Ix] | None = None) -> None:
        super().__init__(names, replace=self._value)
        self.facts = facts

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _OffZero(self.facts, {**self.indices, **names})

    def mono(self, mono: Mono) -> Poly:
        factor, rest = ONE, []
        for a, e in mono:
            base = self(a.poly) if type(a) is Base and isinstance(e, int) and e < 0 else None
            if base is not None and _is_sign(base):
                factor = factor * base if e % 2 else factor
            elif base is not None and isinstance(e, int) and (power_off_zero := _off_equal_places(base, e)) is not None:
                applied(Law.OFF_ZERO)
                factor = factor * power_off_zero
            else:
                rest.append((a, e))
        return factor * super().mono(tuple(rest))

    def _value(self, a: Atom) -> Poly | None:
        if not a.piecewise:
            return poly_of(a)
        if isinstance(a, Pred) and (value := _opposite(a, self.facts)) is not None:
            applied(Law.OFF_ZERO)
            return value
        return None


def _is_sign(poly: Poly) -> bool:
    """Return whether the term is 2·[φ] − 1 or its opposite, which is 1 or −1."""
    return any(
        poly in (p, -p)
        for m in poly
        for a, _ in m
        if isinstance(a, Pred) and (p := poly_of(a).scale(2) - ONE) is not None
    )
