"""Ranks and dtypes of a rule's arguments by its calls, as evidence for a choice.

A call says nothing of sizes. One with vectors alone does not say that no matrices are meant: it says which arguments
are numbers beside the others. One of which nothing but numbers can be read says nothing of these either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certgrad.rules.declared.statics import different

from .calls import Call

MOST = 3
"""At most this many different calls count."""
MATRICES, HIGHEST = 2, 4
"""The rank from which on a call counts as one with matrices, and the highest rank that counts."""


@dataclass(frozen=True)
class Pattern:
    """The ranks of the arguments in a call; None where it does not say one."""

    where: str
    ranks: tuple[int | None, ...]

    @property
    def highest(self) -> int:
        """The highest rank in the call."""
        return max(rank or 0 for rank in self.ranks)

    def agrees(self, ranks: Sequence[int]) -> bool:
        """Return whether a choice of ranks is that of the call."""
        return all(own is None or rank == own for own, rank in zip(self.ranks, ranks, strict=True))

    def speaks_for(self, ranks: Sequence[int]) -> bool:
        """Return whether a choice agrees with the call, or has more axes where this has vectors alone, but none of its
        numbers.
        """
        if self.highest != 1:
            return self.highest > 1 and self.agrees(ranks)
        return all(own is None or (rank > 0) == (own > 0) for own, rank in zip(self.ranks, ranks, strict=True))


def patterns(calls: Sequence[Call], names: Sequence[str]) -> list[Pattern]:
    """Return the distinct ranks and dtypes that calls give for these arguments, those with matrices or more first."""
    where: dict[tuple[int | None, ...], str] = {}
    for call in calls:
        where.setdefault(tuple(call.of(name).rank for name in names), call.where)
    rows = [row for row in where if any(row) or None not in row]
    # A call of which less is known says no more than one that agrees with it.
    whole = [row for row in rows if not any(other != row and _says_more(other, row) for other in rows)]
    some = [one for row in whole if (one := Pattern(where[row], row)).highest <= HIGHEST]
    return sorted(some, key=lambda one: one.highest < MATRICES)[:MOST]


def _says_more(row: Sequence[int | None], than: Sequence[int | None]) -> bool:
    return all(b is None or a == b for a, b in zip(row, than, strict=True))


def kinds(calls: Sequence[Call], names: Sequence[str]) -> list[str | None]:
    """Return the dtypes that all calls give for these arguments; None where none is known, or several."""
    given = [{call.of(name).kind for call in calls} - {None} for name in names]
    return [next(iter(some)) if len(some) == 1 else None for some in given]


def values(calls: Sequence[Call], name: str) -> list[object]:
    """Return the literals that calls give for an argument, each once."""
    return different(given.value for call in calls if (given := call.of(name).value) is not None)
