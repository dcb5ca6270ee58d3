"""Statements at known dimensions: numbers, or other names, in the place of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .canonical import canonical
from .forms import collected, sum_of
from .tree import Add, Mul, Node, Number, Power, Size, Statement, linear, mapped, number


def at_sizes(statement: Statement, sizes: Mapping[str, str]) -> Any:
    """Return the statement with dimensions replaced by numbers, or by other names, in canonical form."""

    def change(node: Any) -> Any:
        if isinstance(node, Size):
            text = sizes.get(node.name, node.name)
            return Number(text) if text.isdigit() else Size(text)
        return folded(mapped(node, change))

    return canonical(change(statement))


def folded(node: Node) -> Node:
    """Return sums and products with their numbers put together."""
    if isinstance(node, Power) and isinstance(node.base, Number) and Fraction(node.exponent).denominator == 1:
        base = Fraction(node.base.value)
        return number(base ** int(node.exponent)) if base or int(node.exponent) >= 0 else node
    if not isinstance(node, Add | Mul):
        return node
    return sum_of((c, factors) for factors, c in collected(linear(node)).items())
