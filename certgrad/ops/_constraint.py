"""Constraints on parameters, such as `eps > 0`: checked when an op is called, assumed by its proof."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from certgrad.errors import DomainError

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def check_constraint(text: str, names: set[str]) -> None:
    """Raise DomainError unless `text` compares arithmetic of these names and numbers."""
    holds(text, dict.fromkeys(names, 1.0))


def holds(text: str, values: Mapping[str, float]) -> bool:
    """Whether the comparison holds for these values; not for NaN."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        node = None
    if not isinstance(node, ast.Compare):
        raise DomainError(f"The constraint '{text}' is no comparison. Write one such as 'eps > 0'.")
    operands = [_value(operand, values, text) for operand in (node.left, *node.comparators)]
    for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
        if type(op) not in _COMPARE:
            raise DomainError(f"The constraint '{text}' compares with something else than > >= < <= !=.")
        if not _COMPARE[type(op)](left, right):
            return False
    return True


def _value(node: ast.expr, values: Mapping[str, float], text: str) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values, text)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.left, values, text), _value(node.right, values, text))
    raise DomainError(
        f"The constraint '{text}' holds '{ast.unparse(node)}', which is no parameter, number or arithmetic of them. "
        f"The parameters are {', '.join(sorted(values)) or 'none'}."
    )
