"""Comparisons of real numbers with infinities, decided: for readers to whom an infinity is no number.

Where every entry is a number or not defined, a number is less than ∞, greater than −∞, and equal to neither.
"""

from __future__ import annotations

from typing import Any

from .definedness import defined
from .tree import FALSE, TRUE, Compare, Given, If, Infinity, Node, Relation, Statement, mapped, walk


def decide_infinite_comparisons(x: Any) -> Any:
    """Return the expression with comparisons of a number with ±∞, and choices by them, decided.

    Each part is defined where it was before.
    """
    x = mapped(x, decide_infinite_comparisons)
    match x:
        case Compare(relation, Infinity(positive), other) if not _mentions_infinity(other):
            return Given(defined(other), _beyond(relation, positive))
        case Compare(relation, other, Infinity(positive)) if not _mentions_infinity(other):
            return Given(defined(other), _beyond(relation, not positive))
        case If(Given(condition, value), then, otherwise) if value in (TRUE, FALSE):
            return Given(condition, then if value == TRUE else otherwise)
    return x


def _beyond(relation: Relation, greater: bool) -> Statement:
    """Return the relation of +∞ (or −∞) to a number as a statement."""
    return TRUE if relation == "!=" or relation in ((">", ">=") if greater else ("<", "<=")) else FALSE


def _mentions_infinity(x: Node) -> bool:
    return any(isinstance(n, Infinity) for n in walk(x))
