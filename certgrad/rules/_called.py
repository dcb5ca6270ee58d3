"""What calls of a rule say of the ranks and dtypes of its arguments, as evidence for a choice of them.

A call says nothing of sizes. One with vectors or numbers alone does not say that no matrices are meant: it says which
arguments are numbers beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._calls import Call

MOST = 3
"""So many different calls count."""
HIGHEST = 4


@dataclass(frozen=True)
class Pattern:
    """The ranks that agree with a call, of each argument; None where it does not say any."""

    where: str
    ranks: tuple[frozenset[int] | None, ...]

    def agrees(self, ranks: Sequence[int]) -> bool:
        """A choice of ranks agrees with the call."""
        return all(own is None or rank in own for own, rank in zip(self.ranks, ranks, strict=True))

    @property
    def highest(self) -> int:
        """The highest rank in the call."""
        return max(max(own) for own in self.ranks if own is not None)

    @property
    def among_matrices(self) -> Pattern:
        """The same of matrices in place of vectors, as far as the call says which arguments are numbers."""
        return Pattern(self.where, tuple(own if own in (None, {0}) else frozenset((1, 2)) for own in self.ranks))


def patterns(calls: Sequence[Call], names: Sequence[str]) -> list[Pattern]:
    """The ranks that calls give for the arguments of these names, each once, with what gives the most first."""
    rows = {tuple(call.of(name).rank for name in names): call.where for call in reversed(calls)}
    some = {row: where for row, where in rows.items() if any(r is not None for r in row)}
    # A call of which less is known says no more than one that agrees with it.
    whole = [
        row
        for row in reversed(some)
        if max(r or 0 for r in row) <= HIGHEST and not any(other != row and _says_more(other, row) for other in some)
    ]
    return [Pattern(some[row], tuple(None if r is None else frozenset((r,)) for r in row)) for row in whole][:MOST]


def _says_more(row: Sequence[int | None], than: Sequence[int | None]) -> bool:
    return all(b is None or a == b for a, b in zip(row, than, strict=True))


def kinds(calls: Sequence[Call], names: Sequence[str]) -> list[str | None]:
    """The dtypes that all calls give for these arguments; None where none is known, or several."""
    given = [{call.of(name).kind for call in calls} - {None} for name in names]
    return [next(iter(some)) if len(some) == 1 else None for some in given]


def values(calls: Sequence[Call], name: str) -> list[object]:
    """The literals that calls give for an argument, each once."""
    out: list[object] = []
    for plain in (call.of(name).value for call in calls):
        if plain is not None and not any(type(v) is type(plain.value) and v == plain.value for v in out):
            out.append(plain.value)
    return out
