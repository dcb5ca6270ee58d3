"""Comparisons of real numbers with infinities, decided: for readers to whom an infinity is no number.

Where every entry is a number or not defined, a number is less than ∞, greater than −∞, and equal to neither.
"""

from __future__ import annotations

from .definedness import defined
from .expression import Compare, Expression, Given, If, Infinity, Truth
from .pruned import parts, with_parts


def decided(x: Expression) -> Expression:
    """The expression with such comparisons, and choices by them, decided; each is defined where it was."""
    x = with_parts(x, decided)
    match x:
        case Compare(relation, Infinity(positive), other) if not _mentions_infinity(other):
            return Given(defined(other), Truth(relation != "=" and not positive))
        case Compare(relation, other, Infinity(positive)) if not _mentions_infinity(other):
            return Given(defined(other), Truth(relation != "=" and positive))
        case If(Given(condition, Truth(value)), then, otherwise):
            return Given(condition, then if value else otherwise)
    return x


def _mentions_infinity(x: Expression) -> bool:
    return isinstance(x, Infinity) or any(map(_mentions_infinity, parts(x)))
