"""The relations of two numbers: when each holds, and how it is written, turned around and denied."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .tree import Relation

COMPARES: dict[Relation, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}
SIGNS: dict[str, str] = {">": ">", ">=": "≥", "<": "<", "<=": "≤", "=": "=", "!=": "≠"}
SWAPPED: dict[Relation, Relation] = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "!=": "!="}
"""The relation with its sides exchanged."""
OPPOSITE: dict[Relation, Relation] = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "!=", "!=": "="}


def as_written(text: str) -> str:
    """Return a printed text with relations as users write them: `x ≠ 0 or y = −1` as `x != 0 or y == -1`."""
    for relation, sign in SIGNS.items():
        text = text.replace(sign, relation)
    return text.replace(" = ", " == ").replace("−", "-")
