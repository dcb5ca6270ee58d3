"""Points on the boundaries of statements: where what decides one vanishes, and close by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from flint import fmpq

from certgrad.language.tree import Statement
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Undecided
from certgrad.obligations.balls._scalars import Real
from certgrad.obligations.balls.statements import BALLS, evaluate

_BEYOND = (fmpq(1, 8), fmpq(-1, 8))
"""How far beside a boundary points are taken."""


def distances(statement: Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Real]:
    """What decides the statement at a point: differences of what it compares, denominators, ends of domains."""
    with s.watched() as seen, suppress(Undecided):
        evaluate(statement, arrays, sizes)
    return list(seen)


def near_boundaries(
    statement: Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Points at which something that decides the statement vanishes, and those close by on both sides.

    One entry of one array is moved, to where a distance is 0 that is affine in it.
    """
    here = distances(statement, arrays, sizes)
    for name, array in arrays.items():
        exact = np.array(array, dtype=object)
        for at in np.ndindex(exact.shape):
            moved = _moved(exact, at, BALLS.entry(exact[at]) + 1)
            there = distances(statement, {**arrays, name: moved}, sizes)
            for before, after in dict.fromkeys(zip(here, there, strict=False)):
                if type(before) is not fmpq or type(after) is not fmpq or before == after:
                    continue
                zero = BALLS.entry(exact[at]) - before / (after - before)
                for value in (zero, *(zero + beyond for beyond in _BEYOND)):
                    yield {**arrays, name: _moved(exact, at, value)}


def _moved(array: Any, at: tuple[int, ...], value: Any) -> Any:
    out = array.copy()
    out[at] = value
    return out
