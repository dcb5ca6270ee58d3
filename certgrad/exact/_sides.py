"""On which sides of a point it is looked where numbers are compared that are equal there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._field import Field
from ._primes import P

SIDES = 6
"""So many directions are drawn, and their opposites."""
HALVINGS = 5

Direction = Mapping[Any, float]


def explore(entries: Sequence[Any], model: Field, fell_out: Callable[[Direction], list[int]]) -> None:
    """Calls `fell_out` with directions in which the entries may move, until no region is known to be left out.

    Directions go around the point. Where, from one to the next, several comparisons fall out otherwise, as it says, a
    region may lie between, and the direction in the middle is looked at as well. At first all entries grow.
    """
    around = [{key: model.residue("side", k, key) / P - 0.5 * (k > 0) for key in entries} for k in range(SIDES)]
    around += [{key: -x for key, x in one.items()} for one in around]
    seen = [fell_out(one) for one in around]
    arcs = [(k - 1, k, 0) for k in range(len(around))]
    while arcs:
        k, j, halvings = arcs.pop()
        if halvings < HALVINGS and _differing(seen[k], seen[j]) > 1:
            around.append({key: (x + around[j][key]) / 2 for key, x in around[k].items()})
            seen.append(fell_out(around[-1]))
            arcs += [(k, len(seen) - 1, halvings + 1), (len(seen) - 1, j, halvings + 1)]


def _differing(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
