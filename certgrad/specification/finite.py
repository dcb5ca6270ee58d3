"""Comparisons of real numbers with infinities, decided: for readers to whom an infinity is no number.

Where every entry is a number or not defined, a number is less than ∞, greater than −∞, and equal to neither.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from .definedness import defined
from .expression import Compare, Expression, Given, If, Infinity, Truth
from .pruned import parts


def decided(x: Expression) -> Expression:
    """The expression with such comparisons, and choices by them, decided; each is defined where it was."""
    x = _parts_decided(x)
    match x:
        case Compare(relation, Infinity(positive), other) if not _mentions_infinity(other):
            return Given(defined(other), Truth(relation != "=" and not positive))
        case Compare(relation, other, Infinity(positive)) if not _mentions_infinity(other):
            return Given(defined(other), Truth(relation != "=" and positive))
        case If(Given(condition, Truth(value)), then, otherwise):
            return Given(condition, then if value else otherwise)
    return x


def _parts_decided(x: Expression) -> Expression:
    changed: dict[str, Any] = {}
    for f in fields(x):  # type: ignore[arg-type]
        value = getattr(x, f.name)
        if isinstance(value, Expression):
            changed[f.name] = decided(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expression):
            changed[f.name] = tuple(map(decided, value))
    return replace(x, **changed) if changed else x  # type: ignore[type-var]


def _mentions_infinity(x: Expression) -> bool:
    return isinstance(x, Infinity) or any(map(_mentions_infinity, parts(x)))
