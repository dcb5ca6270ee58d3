"""Expressions in place of index variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .expression import ArgMax, Exists, Expression, ForAll, Index, Least, Maximum, Minimum, Product, Sum
from .pruned import parts, with_parts

BINDERS = (Sum, Product, Maximum, Minimum, ArgMax, Least, ForAll, Exists)


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with others for index variables. Bound variables get new names where these would be captured."""
    if isinstance(expression, Index):
        return values.get(expression.name, expression)
    if isinstance(expression, BINDERS):
        name = expression.variable
        inner = {k: v for k, v in values.items() if k != name}
        taken = {n for v in inner.values() for n in variables(v)}
        new = name
        while new in taken:
            new += "'"
        if new != name:
            inner[name] = Index(new)
        count = None if expression.count is None else substitute(expression.count, values)
        changed: dict[str, Any] = {"variable": new, "count": count, "body": substitute(expression.body, inner)}
        if isinstance(expression, (Maximum, Minimum, ArgMax)):
            changed["where"] = substitute(expression.where, inner)
        return replace(expression, **changed)
    return with_parts(expression, lambda x: substitute(x, values))


def variables(expression: Expression) -> Iterator[str]:
    """The names of all index variables that stand in an expression."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Index):
            yield node.name
        stack.extend(parts(node))
