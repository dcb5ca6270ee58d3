"""Whether a statement holds at a point, by an arithmetic that is given: balls for proofs, floats for calls.

A statement becomes functions of a scope once, and is then asked at many points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from . import tree as t
from .arithmetic import Arithmetic, UndefinedError, UnfitError
from .fitting import about_whole_arrays, entered, spread
from .reader import Read, Reader, Scope


@dataclass(frozen=True, eq=False)
class Question:
    """A statement that can be evaluated at many points."""

    statement: t.Statement
    test: Read
    names: frozenset[str]
    """The names of the arrays that it mentions."""
    whole: bool
    """Whether it is evaluated at every entry of whole arrays."""
    entered: frozenset[str]

    def failing(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
        """Return the entries at which it is false or undefined; for a statement that is not about whole arrays, `()`.

        Raises:
            UnfitError: it does not fit the arrays.
        """
        return (at for at, _ in self.entries(arrays, sizes))

    def entries(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[tuple[tuple[int, ...], bool]]:
        """Yield the entries at which it does not hold, and whether it is defined there. Raises UnfitError."""
        missing = sorted(self.names - arrays.keys())
        if missing:
            raise UnfitError(f"'{missing[0]}' is no argument of the op")
        used = {name: np.asarray(arrays[name], dtype=object) for name in self.names}
        if not self.whole:
            yield from self._open(Scope(used, sizes))
            return
        shape = spread(used[name].shape for name in self.entered)
        whole = {name: np.broadcast_to(used[name], shape) for name in self.entered}
        shapes = {name: x.shape for name, x in used.items()}
        for at in np.ndindex(shape):
            yield from self._open(Scope(whole, sizes, at, shapes=shapes))

    def _open(self, scope: Scope) -> Iterator[tuple[tuple[int, ...], bool]]:
        """Yield the entry of the scope, and whether the statement is defined there, if it does not hold there."""
        try:
            if not self.test(scope):
                yield scope.entry, True
        except UndefinedError:
            yield scope.entry, False

    def holds(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
        """Return whether it holds at every index. An undefined comparison does not hold."""
        return next(self.failing(arrays, sizes), None) is None


def evaluate(
    statement: t.Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int], arithmetic: Arithmetic
) -> bool | None:
    """Return whether the statement holds at a point; None where it is undefined there.

    Raises UnfitError where it does not fit the arrays, or no arithmetic can decide it.
    """
    holds: bool | None = True
    for _, defined in question(statement, arithmetic).entries(arrays, sizes):
        if defined:
            return False
        holds = None
    return holds


@lru_cache(maxsize=4096)
def question(statement: t.Statement, arithmetic: Arithmetic) -> Question:
    """Return the statement for evaluation by an arithmetic. Raises UnfitError for what no arithmetic can decide."""
    whole = about_whole_arrays(statement)
    names = frozenset(t.arrays(statement))
    return Question(statement, Reader(arithmetic).read(statement), names, whole, entered(statement))
