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
    """Return the term with the common factor of linear recurrences' starts taken out of them."""
    known: dict[Loop, tuple[Poly, list[Value]] | None] = {}

    def scaled(a: Atom) -> Poly | None:
        if not isinstance(a, Rec):
            return None if has_loop(poly_of(a)) else poly_of(a)
        if a.loop not in known:
            known[a.loop] = _divided(a.loop)
        found = known[a.loop]
        if found is None:
            return poly_of(a)
        factor, values = found
        applied(Law.SCALED_CARRY)
        return factor * values[a.position](a.time, a.index)

    return Rewriter(replace=scaled)(poly)


def _divided(loop: Loop) -> tuple[Poly, list[Value]] | None:
    """Return a common factor of a loop's starts, and the carries of the loop without it; None where there is none."""
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
    """init / factor, for one of its factors."""
    if init == factor:
        return ONE
    ((mono, c),) = factor.items()
    return init * monomial({a: -e for a, e in mono}).scale(1 / c)


def _common(carries: list[Open]) -> Poly:
    """Return the common factor of the starts that is the same at every index: all of a start that is one number.

    A number can be divided out in any case: that which makes the first coefficient of the first start 1.
    """
    if len(carries) == 1 and carries[0].init.free.isdisjoint(carries[0].axes):
        return carries[0].init
    common, number = None, fmpq(1)
    for c in carries:
        coefficient, taken, _ = content(c.init)
        own = {a: e for a, e in taken.items() if a.free.isdisjoint(c.axes)}
        if common is None:
            common, number = own, coefficient
        common = {a: e for a, e in common.items() if own.get(a) == e}
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
