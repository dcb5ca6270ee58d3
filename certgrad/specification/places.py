"""Expressions of indices alone, compiled to Python functions: indices of entries, and which entries a window has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from certgrad.language import tree as t

Compiled = Callable[[Mapping[str, int]], Any]
RELATIONS = {"=": "==", **{sign: sign for sign in ("<", "<=", ">", ">=", "!=")}}
QUOTIENTS = {"quotient": "//", "remainder": "%"}
SMALL = 60
"""Expressions with more nodes are not compiled."""


class _MixedError(Exception):
    """An expression has other parts than integers and indices, or a divisor that may be 0, or is too large."""


def of_indices(x: t.Node) -> Compiled | None:
    """Return a Python function of the indices for an expression of indices alone; None for any other expression.

    Such an expression is defined at all indices, as it divides by nonzero integers only.
    """
    try:
        source = _source(x, [SMALL])
    except _MixedError:
        return None
    return _compiled(source)


@lru_cache(maxsize=8192)
def _compiled(source: str) -> Compiled:
    function: Compiled = eval(f"lambda at: {source}", {"__builtins__": {}})
    return function


def _source(x: t.Node, left: list[int]) -> str:
    """Return the text of a Python expression for an integer or a condition, in which `at` gives the indices.

    `left` holds one number, which counts down with each node. Raises _MixedError below 0, and for other nodes.
    """
    left[0] -= 1
    if left[0] < 0:
        raise _MixedError

    def joined(sign: str, parts: Sequence[t.Node]) -> str:
        return f"({f' {sign} '.join([_source(part, left) for part in parts])})"

    match x:
        case t.Integer(value=value):
            return f"({int(value)})"
        case t.Index(name=name):
            return f"at[{name!r}]"
        case t.Add(terms=terms) if terms:
            return joined("+", terms)
        case t.Mul(factors=factors) if factors:
            return joined("*", factors)
        case t.Subtract():
            return joined("-", (x.left, x.right))
        case t.Negate():
            return f"(-{_source(x.operand, left)})"
        # Python rounds a quotient of integers down, as the language does; the divisor is a number other than 0.
        case t.Apply(function=function, arguments=(above, t.Integer(value=below))) if function in QUOTIENTS and below:
            return f"({_source(above, left)} {QUOTIENTS[function]} ({int(below)}))"
        case t.Compare():
            return joined(RELATIONS[x.relation], (x.left, x.right))
        case t.Both(parts=parts) if parts:
            return joined("and", parts)
        case t.Either(parts=parts) if parts:
            return joined("or", parts)
        case t.Not():
            return f"(not {_source(x.part, left)})"
        case t.If():
            then, otherwise = _source(x.then, left), _source(x.otherwise, left)
            return f"({then} if {_source(x.condition, left)} else {otherwise})"
    raise _MixedError
