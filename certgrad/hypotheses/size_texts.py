"""Sizes that are not polynomials in dimensions: JAX's text of a quotient, a remainder, a maximum, as a number."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}


def names_in(size: str) -> set[str]:
    """The dimensions that the text mentions."""
    tree = _parsed(size)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


class NoSizeError(ValueError):
    """A number that is no size, such as how often a loop runs."""


def size_at(size: str, dims: Mapping[str, int]) -> int:
    """The number, given those of the dimensions. Raises NoSizeError for a text of another form."""
    return dims[size] if size in dims else _value(_parsed(size), dims)


def most(size: str, largest: int) -> int:
    """A bound of the number's magnitude where every dimension is at most `largest`. Raises NoSizeError as `size_at`."""
    return _most(_parsed(size), largest)


def _most(node: ast.expr, largest: int) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return abs(node.value)
    if isinstance(node, ast.Name):
        return largest
    if isinstance(node, ast.UnaryOp):
        return _most(node.operand, largest)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _most(node.left, largest) + _most(node.right, largest)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _most(node.left, largest) * _most(node.right, largest)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return int(_most(node.left, largest) ** _most(node.right, largest))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
        left, right = (_most(a, largest) for a in node.args)
        return {"floordiv": left, "mod": right}.get(node.func.id, max(left, right))
    raise NoSizeError(f"no size: {ast.unparse(node)}")


@lru_cache(maxsize=256)
def _parsed(size: str) -> ast.expr:
    try:
        return ast.parse(size, mode="eval").body
    except SyntaxError as error:
        raise NoSizeError(f"no size: {size}") from error


def _value(node: ast.expr, dims: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return dims[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, dims)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, dims), _value(node.right, dims))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return function(_value(node.args[0], dims), _value(node.args[1], dims))
    raise NoSizeError(f"no size: {ast.unparse(node)}")
