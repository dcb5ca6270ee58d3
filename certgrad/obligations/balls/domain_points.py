"""Domain conditions decided at exact rational points, for the witness search. Independent of the calculus."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np


def inside(conditions: tuple[str, ...], values: Mapping[str, Any]) -> bool:
    """Every condition holds at every index after broadcasting. Functions are decided in floats, away from 0."""
    arrays = {name: np.array(value, dtype=object) for name, value in values.items()}
    return all(bool(np.all(_truth(ast.parse(text.strip(), mode="eval").body, arrays))) for text in conditions)


def _truth(node: ast.expr, arrays: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = [np.asarray(_truth(v, arrays)) for v in node.values]
        out = parts[0]
        for part in parts[1:]:
            out = np.logical_and(out, part) if isinstance(node.op, ast.And) else np.logical_or(out, part)
        return out
    assert isinstance(node, ast.Compare)
    out = np.asarray(True)
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        out = np.logical_and(out, _relation(op, left, right, arrays))
        left = right
    return out


def _relation(op: ast.cmpop, left: ast.expr, right: ast.expr, arrays: Mapping[str, Any]) -> Any:
    if isinstance(op, ast.NotIn):
        x = np.asarray(_value(left, arrays), dtype=object)
        poles = isinstance(right, ast.Name) and right.id == "nonpositive_integers"
        return np.vectorize(lambda v: not (Fraction(v).denominator == 1 and (not poles or v <= 0)), otypes=[bool])(x)
    difference = np.asarray(_value(left, arrays) - _value(right, arrays), dtype=object)
    tests = {
        ast.Gt: lambda d: d > 0,
        ast.GtE: lambda d: d >= 0,
        ast.Lt: lambda d: d < 0,
        ast.LtE: lambda d: d <= 0,
        ast.NotEq: lambda d: d != 0,
        ast.Eq: lambda d: d == 0,
    }
    return np.vectorize(tests[type(op)], otypes=[bool])(difference)


_FUNCTIONS = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "log": math.log, "abs": abs, "sqrt": math.sqrt}


def _value(node: ast.expr, arrays: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return Fraction(repr(node.value))
    if isinstance(node, ast.Name):
        return arrays[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, arrays)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function: Any = _FUNCTIONS[node.func.id]
        return np.vectorize(lambda v: Fraction(function(v)), otypes=[object])(_value(node.args[0], arrays))
    assert isinstance(node, ast.BinOp)
    left, right = _value(node.left, arrays), _value(node.right, arrays)
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Div):
        return left / right
    return left ** int(right)
