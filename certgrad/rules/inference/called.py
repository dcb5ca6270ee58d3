"""Ranks and dtypes of a rule's arguments by its calls, as evidence for a choice.

A call says nothing about sizes. A call with vectors alone does not exclude matrices: it only says which arguments are
scalars beside the vectors. A call with scalars alone says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certgrad.rules.declared.statics import different

from .calls import Call

MOST = 3
"""At most this many different patterns of calls count."""
MATRICES, HIGHEST = 2, 4
"""The least rank of a call with matrices, and the highest rank at which a call counts."""


@dataclass(frozen=True)
class Pattern:
    """The ranks of the arguments in a call; None for a rank that could not be read."""

    where: str
    ranks: tuple[int | None, ...]

    @property
    def highest(self) -> int:
        """The highest rank in the call."""
        return max(rank or 0 for rank in self.ranks)

    def agrees(self, ranks: Sequence[int]) -> bool:
        """Return whether a choice of ranks is that of the call, as far as it could be read."""
        return all(
            called_rank is None or rank == called_rank for called_rank, rank in zip(self.ranks, ranks, strict=True)
        )

    def speaks_for(self, ranks: Sequence[int]) -> bool:
        """Return whether the call supports a choice of ranks.

        A call with vectors alone supports choices with more axes, but with the same scalars; another call only its own
        ranks; a call with scalars alone none.
        """
        if self.highest != 1:
            return self.highest > 1 and self.agrees(ranks)
        return all(
            called_rank is None or (rank > 0) == (called_rank > 0)
            for called_rank, rank in zip(self.ranks, ranks, strict=True)
        )


def patterns(calls: Sequence[Call], names: Sequence[str]) -> list[Pattern]:
    """Return the distinct patterns of ranks in calls, at most `MOST`, those with matrices or more first."""
    where: dict[tuple[int | None, ...], str] = {}
    for call in calls:
        where.setdefault(tuple(call.of(name).rank for name in names), call.where)
    rows = [row for row in where if any(row) or None not in row]
    # A call that agrees with another one of which more could be read is left out.
    whole = [row for row in rows if not any(other_row != row and _says_more(other_row, row) for other_row in rows)]
    found_patterns = [pattern for row in whole if (pattern := Pattern(where[row], row)).highest <= HIGHEST]
    return sorted(found_patterns, key=lambda pattern: pattern.highest < MATRICES)[:MOST]


def _says_more(row: Sequence[int | None], than: Sequence[int | None]) -> bool:
    return all(b is None or a == b for a, b in zip(row, than, strict=True))


def kinds(calls: Sequence[Call], names: Sequence[str]) -> list[str | None]:
    """Return, for each argument, the dtype that all calls agree on; None if none is known, or several are."""
    given = [{call.of(name).kind for call in calls} - {None} for name in names]
    return [next(iter(arg_kinds)) if len(arg_kinds) == 1 else None for arg_kinds in given]


def values(calls: Sequence[Call], name: str) -> list[object]:
    """Return the literals that calls pass for an argument, each once."""
    return different(given.value for call in calls if (given := call.of(name).value) is not None)
