"""The sort of an expression, and that all of its parts have the sorts that they must have."""

from __future__ import annotations

from . import expression as e
from .functions import FUNCTIONS
from .pruned import parts


def sort(x: e.Expression) -> e.Sort:
    """The sort of an expression whose parts fit."""
    match x:
        case e.Number() | e.Infinity() | e.Divide() | e.ToReal() | e.Power():
            return "real"
        case e.Integer() | e.Size() | e.Index() | e.FloorDivide() | e.Modulo() | e.Floor() | e.ArgMax() | e.Least():
            return "integer"
        case e.Entry():
            return x.sort
        case e.Add() | e.Subtract() | e.Multiply():
            return sort(x.left)
        case e.Negate():
            return sort(x.operand)
        case e.IntegerPower():
            return sort(x.base)
        case e.Function():
            return FUNCTIONS[x.name].result
        case e.Sum() | e.Product() | e.Maximum() | e.Minimum():
            return sort(x.body)
        case e.If():
            return sort(x.then)
        case e.Given():
            return sort(x.value)
    return "boolean"


def misfit(x: e.Expression) -> str:
    """Which part has another sort than it must have; nothing where all fit."""
    for part in parts(x):
        if found := misfit(part):
            return found
    wanted = _wanted(x)
    for part, one in wanted:
        if sort(part) != one:
            return f"{type(part).__name__} of sort {sort(part)} in {type(x).__name__}, where {one} is wanted"
    return ""


def _wanted(x: e.Expression) -> list[tuple[e.Expression, e.Sort]]:
    match x:
        case e.Entry():
            return [(i, "integer") for i in x.indices]
        case e.Add() | e.Subtract() | e.Multiply() | e.Compare():
            return [(x.left, _numeric(x.left)), (x.right, sort(x.left))]
        case e.Negate():
            return [(x.operand, _numeric(x.operand))]
        case e.Divide():
            return [(x.left, "real"), (x.right, "real")]
        case e.FloorDivide() | e.Modulo():
            return [(x.left, "integer"), (x.right, "integer")]
        case e.ToReal():
            return [(x.operand, "integer")]
        case e.Floor():
            return [(x.operand, "real")]
        case e.Power():
            return [(x.base, "real"), (x.exponent, "real")]
        case e.IntegerPower():
            return [(x.base, _numeric(x.base)), (x.exponent, "integer")]
        case e.Function():
            return list(zip(x.arguments, FUNCTIONS[x.name].arguments, strict=True))
        case e.Maximum() | e.Minimum() | e.ArgMax():
            return [(x.count, "integer"), (x.body, _numeric(x.body)), (x.where, "boolean")]
        case e.Sum() | e.Product():
            return [(x.count, "integer"), (x.body, _numeric(x.body))]
        case e.ForAll() | e.Exists() | e.Least():
            return [*([(x.count, "integer")] if x.count is not None else []), (x.body, "boolean")]  # type: ignore
        case e.And() | e.Or():
            return [(part, "boolean") for part in x.parts]
        case e.Not():
            return [(x.part, "boolean")]
        case e.If():
            return [(x.condition, "boolean"), (x.otherwise, sort(x.then))]
        case e.Given():
            return [(x.condition, "boolean")]
    return []


def _numeric(x: e.Expression) -> e.Sort:
    """Integers and reals alike."""
    return "integer" if sort(x) == "integer" else "real"
