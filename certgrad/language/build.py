"""Nodes with one variable, as programs write them."""

from __future__ import annotations

from collections.abc import Callable

from .tree import (
    TRUE,
    Chosen,
    Exists,
    Fold,
    ForAll,
    Kind,
    Least,
    Minimum,
    Range,
    Statement,
    Term,
)


def _fold(kind: Kind) -> Callable[..., Fold]:
    def over(variable: str, count: Term, body: Term, where: Statement = TRUE) -> Fold:
        return Fold(kind, (Range(variable, count),), body, () if where == TRUE else (where,))

    return over


sum_over, product_over, maximum_over = _fold("sum"), _fold("product"), _fold("maximum")
"""The sum, product or maximum of the body over those 0 ≤ variable < count for which `where` holds."""


def minimum_over(variable: str, count: Term, body: Term, where: Statement = TRUE) -> Minimum:
    """Return the minimum of the body over 0 ≤ variable < count for which `where` holds."""
    return Minimum((Range(variable, count),), body, () if where == TRUE else (where,))


def argmax_over(variable: str, count: Term, body: Term, where: Statement = TRUE) -> Chosen:
    """Return the first 0 ≤ variable < count at which the body is greatest, among those for which `where` holds.

    The body need not be defined where `where` does not hold.
    """
    return Chosen("argmax", (Range(variable, count),), (body,), () if where == TRUE else (where,), 0)


def least_over(variable: str, count: Term, holds: Statement) -> Least:
    """Return the least 0 ≤ variable < count at which the formula holds."""
    return Least((Range(variable, count),), holds)


def for_all(variable: str, count: Term, holds: Statement) -> ForAll:
    """Return the statement that `holds` is true for all 0 ≤ variable < count."""
    return ForAll((Range(variable, count),), holds)


def for_some(variable: str, count: Term, holds: Statement) -> Exists:
    """Return the statement that `holds` is true for some 0 ≤ variable < count."""
    return Exists((Range(variable, count),), holds)
