"""That all parts of a program's expression have the sorts that they must have."""

from __future__ import annotations

from certgrad.language import tree as t
from certgrad.language.functions import FUNCTIONS
from certgrad.language.sorts import sort


def misfit(x: t.Node) -> str:
    """Which part of a program's expression has another sort than it must have; nothing where all fit."""
    for part in t.children(x):
        if wrong := misfit(part):
            return wrong
    for part, wanted in _wanted(x):
        if sort(part) != wanted:
            return f"{type(part).__name__} of sort {sort(part)} in {type(x).__name__}, where {wanted} is wanted"
    return ""


def _wanted(x: t.Node) -> list[tuple[t.Node, t.Sort]]:
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
            return [] if x.size == t.WHILE_A_TEST_HOLDS else [(x.size, "integer")]
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
    """Integers and reals alike."""
    return "integer" if sort(x) == "integer" else "real"
