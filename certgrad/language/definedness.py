"""Where an expression is defined, as a formula: by its form. Only `If` drops a condition: that of the other branch.

`IsDefined(entry)` stands for the same question about an entry of an array. The formulas are read from left to right: a
part that is not defined stands behind one that is false.

An expression is defined:
- an entry, where its indices are within the array's shape and the array is defined there;
- `Divide`: where the divisor is not 0; a function: where `functions.FUNCTIONS` says;
- `Power`: by multiplication where the exponent is whole, and then where it is not negative or the base is not 0; else
  it is exp(exponent·log(base)) for a base > 0, and 0 for the base 0 and a positive exponent;
- `If`: where its condition is, and then the branch that it takes; the other one need not be;
- `Given(condition, value)`: where the condition holds and the value is defined;
- a binder: where its body is for each value of its variables; an extremum and `Chosen`: for each for which `where`
  holds, and where there is such; `Least`: where its body holds for some value, and is defined for those up to it;
- `Infinity`: see there; everything else: where its parts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certgrad.language import tree as t

from .functions import FUNCTIONS
from .tree import TRUE, ZERO, Both, Compare, Exists, ForAll, If, IsDefined, Not, Statement


def all_of(*formulas: Statement) -> Statement:
    """Return the conjunction of the statements without those that are `TRUE`; one of them alone as it is."""
    kept = tuple(f for f in formulas if f != TRUE)
    return kept[0] if len(kept) == 1 else Both(kept)


def defined(x: t.Node) -> Statement:
    """Return the formula that says where the expression is defined."""
    match x:
        case t.Entry():
            return all_of(*map(defined, x.index), IsDefined(x))
        case t.Divide(left, right):
            return all_of(defined(left), defined(right), Not(Compare("=", right, ZERO)))
        case t.Power(base, exponent):
            return all_of(defined(base), _power(base, Fraction(exponent)))
        case t.Apply(name, arguments):
            return all_of(*map(defined, arguments), FUNCTIONS[name].domain(*arguments))
        case t.ForAll(over, holds) | t.Exists(over, holds):
            return all_of(_sizes(over), _for_all(over, defined(holds)))
        case t.Fold(kind, over, body, ()) if kind in ("sum", "product"):
            return all_of(_sizes(over), _for_all(over, defined(body)))
        case t.Fold(_, over, body, where) | t.Minimum(over, body, where):
            return _extremum(over, (body,), where)
        case t.Chosen(_, over, bodies, where, _, place):
            return all_of(_extremum(over, bodies, where), *map(defined, place))
        case t.Least(over, holds):
            # Defined for all is more than for those up to the least one: where the two differ, nothing is claimed.
            return all_of(_sizes(over), _for_all(over, defined(holds)), Exists(over, holds))
        case t.If(condition, then, otherwise):
            yes, no = defined(then), defined(otherwise)
            return all_of(defined(condition), TRUE if yes == no == TRUE else If(condition, yes, no))
        case t.Given(condition, value):
            return all_of(defined(condition), condition, defined(value))
        case t.Where(guards, then):
            return all_of(defined(Both(guards)), _implication(Both(guards), defined(then)))
    return all_of(*map(defined, t.children(x)))


def _sizes(over: Sequence[t.Range]) -> Statement:
    return all_of(*(defined(r.size) for r in over))


def _for_all(over: tuple[t.Range, ...], holds: Statement) -> Statement:
    return TRUE if holds == TRUE else ForAll(over, holds)


def _implication(condition: Statement, holds: Statement) -> Statement:
    return TRUE if holds == TRUE else If(condition, holds, TRUE)


def _extremum(over: tuple[t.Range, ...], bodies: Sequence[t.Term], where: Sequence[Statement]) -> Statement:
    """Return where an extremum is defined: at all kept values the bodies are, and there is a kept value."""
    kept = all_of(*where)
    each = all_of(defined(kept), _implication(kept, all_of(*map(defined, bodies))))
    return all_of(_sizes(over), _for_all(over, each), Exists(over, kept))


def _power(base: t.Term, exponent: Fraction) -> Statement:
    """Return the condition on the base of a power: ≠ 0, ≥ 0, > 0 or none."""
    if exponent.denominator == 1:
        return TRUE if exponent >= 0 else Not(Compare("=", base, ZERO))
    return Compare("<=" if exponent > 0 else "<", ZERO, base)
