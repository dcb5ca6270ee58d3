"""Where an expression is defined, as a formula: by its form, with no step that forgets a condition but `If`'s.

`IsDefined(entry)` stands for the same question about an entry of a tensor; `of_entry` says what it comes to. The
formulas are read from left to right: a part that is not defined stands behind one that is false.
"""

from __future__ import annotations

from fractions import Fraction

from . import expression as e
from .expression import And, Compare, Exists, Expression, ForAll, If, Integer, IsDefined, Not, Number, Or, Truth
from .functions import FUNCTIONS
from .pruned import parts
from .sorts import sort

TRUE = Truth(True)


def all_of(*formulas: Expression) -> Expression:
    """All of them, without those that are `true`, and without an `And` of one."""
    kept = tuple(f for f in formulas if f != TRUE)
    return kept[0] if len(kept) == 1 else And(kept) if kept else TRUE


def defined(x: Expression) -> Expression:
    """The formula that says where the expression is defined."""
    match x:
        case e.Entry():
            return all_of(*map(defined, x.indices), IsDefined(x))
        case e.Divide(left, right):
            return all_of(defined(left), defined(right), Not(Compare("=", right, Number(Fraction(0)))))
        case e.FloorDivide(left, right) | e.Modulo(left, right):
            return all_of(defined(left), defined(right), Not(Compare("=", right, Integer(0))))
        case e.Power(base, exponent):
            return all_of(defined(base), defined(exponent), _power(base, exponent))
        case e.IntegerPower(base, exponent):
            return all_of(defined(base), defined(exponent), _integer_power(base, exponent))
        case e.Function(name, arguments):
            return all_of(*map(defined, arguments), FUNCTIONS[name].domain(*arguments))
        case e.Sum(v, n, body) | e.Product(v, n, body):
            return all_of(defined(n), _for_all(v, n, defined(body)))
        case e.ForAll(v, count, body) | e.Exists(v, count, body):
            return all_of(TRUE if count is None else defined(count), _for_all(v, count, defined(body)))
        case e.Maximum(v, n, body, where) | e.Minimum(v, n, body, where) | e.ArgMax(v, n, body, where):
            each = all_of(defined(where), If(where, defined(body), TRUE) if defined(body) != TRUE else TRUE)
            return all_of(defined(n), _for_all(v, n, each), Exists(v, n, where))
        case e.Least(v, count, body):
            # Defined for all is more than for those up to the least one: where the two differ, nothing is claimed.
            bounded = TRUE if count is None else defined(count)
            return all_of(bounded, _for_all(v, count, defined(body)), Exists(v, count, body))
        case e.If(condition, then, otherwise):
            yes, no = defined(then), defined(otherwise)
            return all_of(defined(condition), TRUE if yes == no == TRUE else If(condition, yes, no))
        case e.Given(condition, value):
            return all_of(defined(condition), condition, defined(value))
    return all_of(*map(defined, parts(x)))


def _for_all(variable: str, count: Expression | None, body: Expression) -> Expression:
    return TRUE if body == TRUE else ForAll(variable, count, body)


def _power(base: Expression, exponent: Expression) -> Expression:
    zero = Number(Fraction(0))
    if isinstance(exponent, Number):
        if exponent.value.denominator == 1:
            return TRUE if exponent.value >= 0 else Not(Compare("=", base, zero))
        return Compare("≤" if exponent.value > 0 else "<", zero, base)
    at_zero = And((Compare("=", base, zero), Compare("<", zero, exponent)))
    return Or((Compare("<", zero, base), at_zero))


def _integer_power(base: Expression, exponent: Expression) -> Expression:
    whole = Compare("≤", Integer(0), exponent)
    if isinstance(exponent, Integer) and exponent.value >= 0:
        return TRUE
    return whole if sort(base) == "integer" else Or((whole, Not(Compare("=", base, Number(Fraction(0))))))


def of_entry(tensor: e.Tensor, entry: Expression, variables: tuple[str, ...]) -> Expression:
    """Where an entry of a tensor is defined that is `entry` at these variables: within the shape, and where that is."""
    axes = zip(map(e.Index, variables[len(tensor.times) :]), tensor.shape, strict=True)
    inside = [And((Compare("≤", Integer(0), i), Compare("<", i, n))) for i, n in axes]
    return all_of(*inside, defined(entry))
