"""The sort of an expression, and that all parts of a program's have the sorts that they must have."""

from __future__ import annotations

from collections.abc import Iterable

from certgrad.language import tree as t

from .functions import FUNCTIONS


def sort(x: t.Node) -> t.Sort:
    """The sort of an expression whose parts fit."""
    match x:
        case t.SortedEntry():
            return x.sort
        case t.Integer() | t.Size() | t.Axis() | t.Index() | t.Chosen() | t.Least() | t.Truth():
            return "integer"
        case t.Add() | t.Mul():
            return _joined(x.terms if isinstance(x, t.Add) else x.factors)
        case t.Subtract():
            return _joined((x.left, x.right))
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


def _joined(parts: Iterable[t.Node]) -> t.Sort:
    """Return the common sort: integer if all parts are."""
    return "integer" if all(sort(part) == "integer" for part in parts) else "real"


def misfit(x: t.Node) -> str:
    """Return the part of a program's expression with another sort than it must have; "" where all fit."""
    for part in t.children(x):
        if wrong := misfit(part):
            return wrong
    for part, wanted in _wanted(x):
        if sort(part) != wanted:
            return f"{type(part).__name__} of sort {sort(part)} in {type(x).__name__}, where {wanted} is wanted"
    return ""


def _wanted(x: t.Node) -> list[tuple[t.Node, t.Sort]]:
    """Return the sort that each part of a node must have."""
    match x:
        case t.Entry():
            return [(i, "integer") for i in x.index]
        case t.Add() | t.Mul():
            parts = x.terms if isinstance(x, t.Add) else x.factors
            return [(part, _numeric(parts[0])) for part in parts]
        case t.Subtract() | t.Compare():
            return [(x.left, _numeric(x.left)), (x.right, sort(x.left))]
        case t.Negate():
            return [(x.operand, _numeric(x.operand))]
        case t.Divide():
            return [(x.left, "real"), (x.right, "real")]
        case t.ToReal():
            return [(x.operand, "integer")]
        case t.Power():
            return [(x.base, _numeric(x.base))]
        case t.Apply():
            return list(zip(x.arguments, FUNCTIONS[x.function].arguments, strict=True))
        case t.Range():
            return [] if x.size == t.ENDLESS else [(x.size, "integer")]
        case t.Fold() | t.Minimum():
            return [(x.body, _numeric(x.body)), *((w, _BOOLEAN) for w in x.where)]
        case t.Chosen():
            return [*((b, _numeric(b)) for b in x.bodies), *((w, _BOOLEAN) for w in x.where)]
        case t.ForAll() | t.Exists() | t.Least():
            return [(x.holds, "boolean")]
        case t.Both() | t.Either():
            return [(part, "boolean") for part in x.parts]
        case t.Not():
            return [(x.part, "boolean")]
        case t.If():
            return [(x.condition, "boolean"), (x.otherwise, sort(x.then))]
        case t.Given():
            return [(x.condition, "boolean")]
    return []


_BOOLEAN: t.Sort = "boolean"


def _numeric(x: t.Node) -> t.Sort:
    """Return the sort of an expression as a number: integer or real."""
    return "integer" if sort(x) == "integer" else "real"
