"""Γ and its relatives by their recurrences: arguments that differ by a whole number are brought to one of them.

With k ≥ 0 and n! the factorial of n (DLMF 5.5.1, 5.15.5, 25.11.3):

    log|Γ(p)| = log|Γ(p + k)| − Σ_{j<k} log|p + j|          ψ(p) = ψ(p + k) − Σ_{j<k} 1/(p + j)
    ψ⁽ⁿ⁾(p) = ψ⁽ⁿ⁾(p + k) − (−1)ⁿ·n!·Σ_{j<k} (p + j)⁻ⁿ⁻¹    ζ(s, p) = ζ(s, p + k) + Σ_{j<k} (p + j)⁻ˢ

They hold wherever the left side is defined: p is then none of 0, −1, −2, … (for ζ, p > 0), so that no p + j is 0, and
p + k is no pole either. Going up is therefore free of conditions; going down would not be. A number is brought to the
interval from 0, left out, to 1, from both sides: none of the numbers in between is 0, as it is no pole.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, factorial, floor

from flint import fmpq

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS
from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, number
from certgrad.obligations.terms.power import exp_of, fn, log_of, power
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.walk import deep_atoms

FURTHEST = 16
"""The most steps of a recurrence: an argument that is further from the others is left as it is."""
_NAMES = frozenset({"lgamma", "digamma", "polygamma", "zeta"})


def over_one_shift(poly: Poly, facts: Facts) -> Poly:
    """Return the term with arguments of Γ and its relatives shifted, so that equal functions are written alike.

    Γ(p + 2) and Γ(p + 1) become Γ(p + 2) and Γ(p + 2)/(p + 1), say, in terms of their logarithms. Arguments that are
    numbers are brought to 0 < p ≤ 1; other ones upwards, until all constant parts have the greatest floor.
    """
    floors = [
        floor(_constant(a.args[-1]))
        for a in deep_atoms(poly)
        if isinstance(a, Fn) and a.name in _NAMES and a.args[-1].constant() is None
    ]
    top = max(floors, default=0)

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Fn) or a.name not in _NAMES:
            return None
        p = a.args[-1]
        c = p.constant()
        k = top - floor(_constant(p)) if c is None else 1 - ceil(Fraction(int(c.p), int(c.q)))
        if not k or abs(k) > FURTHEST:
            return None
        return _shifted(a, k, facts)

    return replaced(poly, value)


def _constant(poly: Poly) -> Fraction:
    c = poly.coefficient(())
    return Fraction(int(c.p), int(c.q))


def _shifted(a: Fn, k: int, facts: Facts) -> Poly | None:
    """Return f(p) as f(p + k) minus the steps between (plus, for k < 0); None where a step is not known as a term."""
    p = a.args[-1]
    moved = fn(a.name, *a.args[:-1], p + number(k))
    between = [p + number(j) for j in (range(k) if k > 0 else range(k, 0))]
    total = ZERO
    for q in between:
        step = _step(a, q, facts)
        if step is None:
            return None
        total = total + step
    return moved - total if k > 0 else moved + total


def _step(a: Fn, q: Poly, facts: Facts) -> Poly | None:
    """Return f(q + 1) − f(q) for the function f of the atom; None for a polygamma function of unknown or high order."""
    if a.name == "lgamma":
        return _log_of_size(q, facts)
    if a.name == "digamma":
        return power(q, -1)
    if a.name == "zeta":
        return -exp_of(-(a.args[0] * log_of(q)))
    order = a.args[0].constant()
    if order is None or order.q != 1 or not 0 < order <= FURTHEST:
        return None
    n = int(order)
    return power(q, -n - 1).scale((-1) ** n * factorial(n))


def _log_of_size(q: Poly, facts: Facts) -> Poly:
    """Return log|q| for q ≠ 0."""
    signs = facts.signs(q)
    if signs == POS:
        return log_of(q)
    if signs == NEG:
        return log_of(-q)
    return log_of(q * q).scale(fmpq(1, 2))
