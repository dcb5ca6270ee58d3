"""Points on sides of the programs' comparisons that no point before them is on.

A condition such as `x³ < −4·10⁶` is false at every point that one draws. What follows of it, a branch or a hypothesis
that is missing there, is looked at where it is true: entries are moved by orders of magnitude, and the points are kept
at which something falls out otherwise for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._values import Array
from certgrad.obligations.verify._points import Point, Space

NEAR = (fmpq(0), fmpq(8), fmpq(-8))
"""What entries are moved to first: where no distance changes by it, none depends on the argument."""
FAR = tuple(sign * fmpq(2) ** k for k in (6, 9, 12, -3, -8) for sign in (1, -1))
"""What entries are moved to then. Of the points that are given only the first is moved so far."""
MOST = 12
"""Points, at most, on new sides of what programs compare, those included that they are made from."""


def on_other_sides(
    points: Sequence[Point],
    space: Space,
    fits: Callable[[Point], bool],
    decided: Callable[[Point], Sequence[Any]],
) -> Iterator[Point]:
    """Yield points that fit and differ from these in the first entry, the last one or all entries of one argument.

    Each lies on a side of a distance (`decided` gives them) on which no point before it does.
    """
    known = [decided(point) for point in points]
    if not any(known):
        return
    reals = [k for k, kind in enumerate(space.kinds) if kind in ("float", "held")]
    seen = {side for distances in known for side in _sides(distances)}
    both = {(k, sign) for distances in known for k in range(len(distances)) for sign in (1, -1)}
    starts = list(zip(points, known, strict=True))
    tried: set[tuple[Any, ...]] = set()
    for k, (start, before) in enumerate(starts):  # what is found is a start too: a condition can stand behind another
        for which in reals:
            depends = False
            for value in NEAR if 0 < k < len(points) else NEAR + FAR:
                if value in FAR and not depends:
                    break
                for moved in _moved_points(start, which, value):
                    if len(starts) == MOST or both <= seen:
                        return
                    if (key := _key(moved)) in tried:  # moved again, with nothing left of the first time
                        continue
                    tried.add(key)
                    distances = decided(moved) if fits(moved) else None
                    depends = depends or distances is None or not _are_equal_distances(distances, before)
                    if distances is not None and not (sides := set(_sides(distances))) <= seen:
                        seen |= sides
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
    """Return what equal points of one draw have in common: its tangents and seeds are not moved."""
    return id(point.tangents), id(point.seeds), *(tuple(x.flat) for x in point.inputs)


def _sides(distances: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the sign of each distance by its number; those whose sign is not known are left out."""
    return [(k, int(d > 0) - int(d < 0)) for k, d in enumerate(distances) if s.finite(d) and (d < 0 or d > 0 or d == 0)]


def _moved_points(point: Point, which: int, value: fmpq) -> Iterator[Point]:
    """The point with the first entry, the last one and all entries of an argument changed."""
    array: Array = point.inputs[which]
    if not array.size:
        return
    first, last = (0,) * array.ndim, tuple(n - 1 for n in array.shape)
    every = (slice(None),) * array.ndim
    for at in (first, last, every) if array.size > 1 else (first,):
        yield point.moved(which, at, value)
