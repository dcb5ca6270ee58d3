"""Statements whose conclusion never holds: they say that their guards do not hold together."""

from __future__ import annotations

from fractions import Fraction

from . import tree as t
from .forms import in_whole_numbers
from .relations import COMPARES, OPPOSITE


def negated_guards(where: t.Where) -> t.Statement | None:
    """`r ≥ −200` for `0 > 1 wherever r < −200`; None where the conclusion may hold, or a guard has no opposite."""
    asked = where.then
    if not isinstance(asked, t.Compare) or not all(isinstance(side, t.Number) for side in (asked.left, asked.right)):
        return None
    left, right = (Fraction(side.value) for side in (asked.left, asked.right) if isinstance(side, t.Number))
    parts = [opposite(guard) for guard in where.guards]
    if COMPARES[asked.relation](left, right) or not parts:
        return None
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else t.Either(known)


def opposite(guard: t.Statement) -> t.Statement | None:
    """Return the negation of a guard; None where it is no comparison."""
    if not isinstance(guard, t.Compare):
        return None
    inner = in_whole_numbers(guard.left.statement) if isinstance(guard.left, t.Truth) else None
    if inner is not None and guard.right == t.ZERO and guard.relation in ("=", "!="):
        return inner if guard.relation == "=" else opposite(inner)
    return t.Compare(OPPOSITE[guard.relation], guard.left, guard.right)
