"""Recurrences that are linear in their start: what starts λ times as large is λ times as large at every time.

Where c[s + 1] = A(s)·c[s], with nothing added, and c[0] = λ·d[0] for a number λ that is the same at every index, c[t] =
λ·d[t] for d[s + 1] = A(s)·d[s], by induction on t. A backward pass that starts at 1 and is multiplied by the cotangent
at the end is then one that starts with the cotangent.
"""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.determined import Loop, Rec
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.power import content
from certgrad.obligations.terms.rewriting import Rewriter

from .recurrences import Open, System, Value, fresh_carry, has_loop, open_loop, replacing, solve


def from_common_starts(poly: Poly) -> Poly:
    """Return the term with c[t] as λ·d[t] wherever the starts of a linear recurrence c have a common factor λ."""
    divisions: dict[Loop, tuple[Poly, list[Value]] | None] = {}

    def scaled(a: Atom) -> Poly | None:
        if not isinstance(a, Rec):
            return None if has_loop(poly_of(a)) else poly_of(a)
        if a.loop not in divisions:
            divisions[a.loop] = _divided(a.loop)
        division = divisions[a.loop]
        if division is None:
            return poly_of(a)
        factor, values = division
        applied(Law.SCALED_CARRY)
        return factor * values[a.position](a.time, a.index)

    return Rewriter(replace=scaled)(poly)


def _divided(loop: Loop) -> tuple[Poly, list[Value]] | None:
    """Return (λ, values): a common factor of a loop's starts, and the loop's carries with the starts divided by it.

    None where there is no common factor, or the loop is not linear.
    """
    if any(v[0] == "b" for v in loop.free):
        return None
    system = open_loop(loop)
    factor = _common([c for c in system.carries if not c.init.is_zero])
    if factor == ONE or not _linear(system):
        return None
    carries = [c if c.init.is_zero else replace(c, init=_quotient_by_factor(c.init, factor)) for c in system.carries]
    solved = solve(System(system.step, carries))
    return factor, [solved[c.name] for c in carries]


def _quotient_by_factor(init: Poly, factor: Poly) -> Poly:
    """Return init / factor, where `factor` is `init` or a monomial that divides it."""
    if init == factor:
        return ONE
    ((mono, c),) = factor.items()
    return init * monomial({a: -e for a, e in mono}).scale(1 / c)


def _common(carries: list[Open]) -> Poly:
    """Return a factor that the starts of all carries share, and that is the same at every index.

    It is the whole start where there is one carry, whose start is the same at every index. Else it has the factors that
    all starts have with the same exponent, and the numeric coefficient of the first start: a number can always be
    divided out.
    """
    if len(carries) == 1 and carries[0].init.free.isdisjoint(carries[0].axes):
        return carries[0].init
    common, number = None, fmpq(1)
    for c in carries:
        coefficient, taken, _ = content(c.init)
        fixed_factors = {a: e for a, e in taken.items() if a.free.isdisjoint(c.axes)}
        if common is None:
            common, number = fixed_factors, coefficient
        common = {a: e for a, e in common.items() if fixed_factors.get(a) == e}
    return monomial(common or {}).scale(number)


def _linear(system: System) -> bool:
    """Return whether each step is linear in what the loop carries, with nothing added."""
    factor = access(fresh_carry(), ())
    names = [c.name for c in system.carries]
    larger = Rewriter(replace=replacing(names, lambda a: factor * access(a.tensor, a.index)))
    nothing = Rewriter(replace=replacing(names, lambda a: ZERO))
    try:
        return all(larger(c.step) == factor * c.step and nothing(c.step).is_zero for c in system.carries)
    except ArithmeticError:  # a step divides by what it carries
        return False
