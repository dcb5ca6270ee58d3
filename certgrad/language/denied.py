"""Statements whose conclusion never holds: they say that their guards do not hold together."""

from __future__ import annotations

from fractions import Fraction

from . import tree as t
from .forms import in_whole_numbers
from .relations import COMPARES, OPPOSITE


def negated_guards(where: t.Where) -> t.Statement | None:
    """Return `r ≥ −200` for `0 > 1 wherever r < −200`; None if the conclusion may hold, or a guard has no opposite."""
    conclusion = where.then
    if not isinstance(conclusion, t.Compare) or not all(
        isinstance(side, t.Number) for side in (conclusion.left, conclusion.right)
    ):
        return None
    left, right = (Fraction(side.value) for side in (conclusion.left, conclusion.right) if isinstance(side, t.Number))
    parts = [opposite(guard) for guard in where.guards]
    if COMPARES[conclusion.relation](left, right) or not parts:
        return None
    opposites = tuple(part for part in parts if part is not None)
    if len(opposites) < len(parts):
        return None
    return opposites[0] if len(opposites) == 1 else t.Either(opposites)


def opposite(guard: t.Statement) -> t.Statement | None:
    """Return the negation of a guard; None where it is no comparison."""
    if not isinstance(guard, t.Compare):
        return None
    inner = in_whole_numbers(guard.left.statement) if isinstance(guard.left, t.Truth) else None
    if inner is not None and guard.right == t.ZERO and guard.relation in ("=", "!="):
        return inner if guard.relation == "=" else opposite(inner)
    return t.Compare(OPPOSITE[guard.relation], guard.left, guard.right)
