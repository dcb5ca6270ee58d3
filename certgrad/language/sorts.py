"""The sort of an expression."""

from __future__ import annotations

from collections.abc import Iterable

from certgrad.language import tree as t

from .functions import FUNCTIONS


def sort(x: t.Node) -> t.Sort:
    """Return the sort (real, integer or boolean) of an expression whose parts fit."""
    match x:
        case t.SortedEntry():
            return x.sort
        case t.Integer() | t.Size() | t.Axis() | t.Index() | t.Chosen() | t.Least() | t.Truth():
            return "integer"
        case t.Add() | t.Mul():
            return _common_sort(x.terms if isinstance(x, t.Add) else x.factors)
        case t.Subtract():
            return _common_sort((x.left, x.right))
        case t.Negate():
            return sort(x.operand)
        case t.Power():
            return sort(x.base) if x.exponent.isdigit() else "real"
        case t.Apply():
            return FUNCTIONS[x.function].result if x.function in FUNCTIONS else "real"
        case t.Fold() | t.Minimum():
            return sort(x.body)
        case t.If():
            return sort(x.then)
        case t.Given():
            return sort(x.value)
        case t.Number() | t.Constant() | t.Infinity() | t.Divide() | t.ToReal() | t.Array() | t.Entry():
            return "real"
        case t.Matrix() | t.Carry() | t.Carried():
            return "real"
    return "boolean"


def _common_sort(parts: Iterable[t.Node]) -> t.Sort:
    """Return the common sort: integer if all parts are."""
    return "integer" if all(sort(part) == "integer" for part in parts) else "real"
