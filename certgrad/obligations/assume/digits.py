"""Equations of places in row-major order, digit by digit: 4·j + i = 4·l + k says j = l and i = k, where i, k < 4.

Of index variables alone isl knows that. Here it is read off where digits are remainders of numbers that nothing bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from certgrad.obligations.terms.index import Ix, combine, of_const, of_term, whole_number
from certgrad.obligations.terms.integers import Quotient
from certgrad.obligations.terms.polynomials import ONE, number

from .isl import Condition

Feasible = Callable[[Condition], bool]
Part = tuple[int, Ix]
"""A factor, and an expression that stands as a whole."""


def digits(ix: Ix, feasible: Feasible) -> list[Ix]:
    """Expressions that are all 0 exactly where this one is; itself, where it is not taken apart.

    As m·A + B = 0 with −m < B < m says A = 0 and B = 0.
    """
    parts = _parts(ix)
    for m in sorted({abs(c) for c, _ in parts if abs(c) > 1}):
        low = combine([(c, e) for c, e in parts if c % m])
        high = combine([(c // m, e) for c, e in parts if not c % m])
        beyond = (low.shifted(number(-m)), low.scaled(-1).shifted(number(-m)))
        if low.terms and high.terms and not any(feasible((e, ">=")) for e in beyond):
            return [low, *digits(high, feasible)]
    return [ix]


def _parts(ix: Ix) -> list[Part]:
    """The expression as a combination in which each remainder e − m·⌊e/m⌋ stands as a whole."""
    out: list[Part] = []
    for t, c in ix.terms:
        m = whole_number(t.divisor) if isinstance(t, Quotient) else None
        if isinstance(t, Quotient) and m is not None and not c % m:
            factor = -c // m
            out.append((factor, combine([(1, t.ix), (-m, of_term(t))])))
            ix = ix.minus(out[-1][1].scaled(factor))
    constant = whole_number(ix.const)
    if constant is None:
        return [(1, ix)]
    return [*out, *((c, of_term(t)) for t, c in ix.terms), *([(constant, of_const(ONE))] if constant else [])]
