"""Points on sides of the programs' comparisons that no point before them is on.

A condition such as `x³ < −4·10⁶` is false at every point that is drawn, so that a wrong branch behind it goes unseen.
Therefore entries are moved by orders of magnitude, and those points are kept at which some comparison falls out
otherwise for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._values import Array
from certgrad.obligations.verify._points import Point, Space

NEAR = (fmpq(0), fmpq(8), fmpq(-8))
"""Values that entries are moved to first: if no distance changes then, none depends on the argument."""
FAR = tuple(sign * fmpq(2) ** k for k in (6, 9, 12, -3, -8) for sign in (1, -1))
"""Values that entries are moved to then. Of the given points only the first is moved so far."""
MOST = 12
"""At most this many points are moved, the given ones and those that were found on new sides."""


def on_other_sides(
    points: Sequence[Point],
    space: Space,
    fits: Callable[[Point], bool],
    decided: Callable[[Point], Sequence[Any]],
) -> Iterator[Point]:
    """Yield points that fit, each on a side of some comparison on which no point before it was.

    `decided` returns the distances of a point: compared differences and denominators, whose signs are the sides. A
    point is made from a given one, or from one that was yielded, by moving the first entry, the last one or all entries
    of one argument to a value of `NEAR` or `FAR`. The search ends when every distance has been seen on both sides.
    """
    known_distances = [decided(point) for point in points]
    if not any(known_distances):
        return
    reals = [k for k, kind in enumerate(space.kinds) if kind in ("float", "held")]
    seen_sides = {side for distances in known_distances for side in _sides(distances)}
    both = {(k, sign) for distances in known_distances for k in range(len(distances)) for sign in (1, -1)}
    starts = list(zip(points, known_distances, strict=True))
    tried: set[tuple[Any, ...]] = set()
    for k, (start, start_distances) in enumerate(starts):  # `starts` grows: a condition can stand behind another
        for which in reals:
            depends = False  # whether a distance depends on the argument; if none does, it is not moved far
            for value in NEAR if 0 < k < len(points) else NEAR + FAR:
                if value in FAR and not depends:
                    break
                for moved in _moved_points(start, which, value):
                    if len(starts) == MOST or both <= seen_sides:
                        return
                    if (key := _key(moved)) in tried:  # the same point by another order of moves
                        continue
                    tried.add(key)
                    distances = decided(moved) if fits(moved) else None
                    depends = depends or distances is None or not _are_equal_distances(distances, start_distances)
                    if distances is not None and not (sides := set(_sides(distances))) <= seen_sides:
                        seen_sides |= sides
                        starts.append((moved, distances))
                        yield moved


def _are_equal_distances(distances: Sequence[Any], before: Sequence[Any]) -> bool:
    """Return whether both lists of distances are equal, and known as exactly."""

    def same(d: Any, e: Any) -> bool:
        if type(d) is type(e) is arb:
            return bool(d.mid() == e.mid() and d.rad() == e.rad())
        return type(d) is type(e) and bool(d == e)

    return len(distances) == len(before) and all(map(same, distances, before))


def _key(point: Point) -> tuple[Any, ...]:
    """Return a key that points share if they have equal inputs and come from one draw, as tangents and seeds tell."""
    return id(point.tangents), id(point.seeds), *(tuple(x.flat) for x in point.inputs)


def _sides(distances: Sequence[Any]) -> list[tuple[int, int]]:
    """Return pairs (number of a distance, its sign); distances whose sign is not known are left out."""
    return [(k, int(d > 0) - int(d < 0)) for k, d in enumerate(distances) if s.finite(d) and (d < 0 or d > 0 or d == 0)]


def _moved_points(point: Point, which: int, value: fmpq) -> Iterator[Point]:
    """Yield the point with the first entry of an argument set to the value, with the last one, and with all entries."""
    array: Array = point.inputs[which]
    if not array.size:
        return
    first, last = (0,) * array.ndim, tuple(n - 1 for n in array.shape)
    every = (slice(None),) * array.ndim
    for at in (first, last, every) if array.size > 1 else (first,):
        yield point.moved(which, at, value)
