"""Points on the boundaries of what programs compare or divide by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import filled_by
from certgrad.obligations.balls._gaps import Point
from certgrad.obligations.balls._scalars import ZERO

_FOUND = 10
"""Boundary points that are taken for one entry, at most."""
_BALLS = 2
"""Irrational zeros that are taken for one entry, at most."""
_ROUNDS = 20
"""Steps of the secant method, at most; then the zero is not used."""
_NEAR = 2.0**-200
"""The radius of the ball around an irrational zero."""
_BITS = 64
"""Bits of numerator and denominator of a boundary point, at most; others are not used."""
_STEPS = (fmpq(1, 3), fmpq(-2, 7))

Watch = Callable[..., Sequence[Any]]
"""The distances that are observed at a point: all of them, or at least the first so many."""


def on_boundaries(
    point: Point, kinds: Sequence[str], moving: Sequence[int], watch: Watch, exact: bool = False
) -> Iterator[Point]:
    """Yield points near this one at which something that `watch` observes is 0, points just beyond, and the origin.

    One entry of each argument is moved. Where the watched distance is a polynomial of degree 2 in the entry with
    rational zeros, the zero is exact; other zeros, by the secant method, are enclosed by a ball. Integers go to the
    sizes of the axes, as indices do. `kinds` are those of the arguments, of which `moving` ones have a tangent.
    With `exact`, zeros that are not rational are left out.
    """
    distances = watch(point)
    sizes = sorted({n for x in point.inputs for n in x.shape})
    for which, kind in enumerate(kinds):
        if kind == "bool" or not point.inputs[which].size:
            continue
        at = (0,) * point.inputs[which].ndim
        if kind == "int":
            around = {sign * n + shift for n in (0, *sizes) for sign in (1, -1) for shift in (-1, 0, 1)}
            yield from (point.moved(which, at, value) for value in sorted(around))
            continue
        if not distances:
            continue  # nothing vanishes
        start = point.inputs[which][at]
        there = [watch(point.moved(which, at, start + step)) for step in _STEPS]
        zeros: dict[fmpq, None] = {}
        for values in zip(distances, *there, strict=False):
            zeros |= dict.fromkeys(start + u for u in _zeros(values))
        for value in list(zeros)[:_FOUND]:
            yield point.moved(which, at, value)
            yield point.moved(which, at, value + (value - start) / 8)
        balls = 0
        for k, (before, after) in enumerate(zip(distances, there[0], strict=False)):
            irrational = not exact and s.finite(before) and s.finite(after) and arb in (type(before), type(after))
            if irrational and balls < _BALLS:
                zero = _secant(partial(_watched, watch, point, which, at, k), start, before, after)
                if zero is not None:
                    balls += 1
                    yield point.moved(which, at, zero)
    origin = [filled_by(x.shape, lambda: ZERO) if k in moving else x for k, x in enumerate(point.inputs)]
    yield Point(origin, point.tangents, point.seeds)


def _zeros(values: Sequence[Any]) -> list[fmpq]:
    """The rational zeros of the polynomial of degree 2 that has these values at 0 and at the steps."""
    if any(type(v) is not fmpq for v in values) or len(set(values)) == 1:
        return []
    c, first, second = values
    g, h = _STEPS
    p, q = (first - c) / g, (second - c) / h
    a = (p - q) / (g - h)
    b = p - a * g
    if not a:
        zeros = [-c / b]
    else:
        under = b * b - 4 * a * c
        root = s.whole_root(under, 2) if under >= 0 else None
        zeros = [] if root is None else [(-b - root) / (2 * a), (-b + root) / (2 * a)]
    return [z for z in zeros if z.height_bits() <= _BITS]


def _watched(watch: Watch, point: Point, which: int, at: tuple[int, ...], k: int, value: fmpq) -> Any:
    """The k-th watched distance after one entry is changed."""
    values = watch(point.moved(which, at, value), k + 1)
    return values[k] if k < len(values) else None


def _secant(distance: Callable[[fmpq], Any], start: fmpq, before: Any, after: Any) -> arb | None:
    """A small ball around a zero of the distance; None where the search does not close in on one."""
    x, y, left, right = start, start + _STEPS[0], s.ball(before), s.ball(after)
    for _ in range(_ROUNDS):
        if abs(right) < _NEAR:
            return arb(y) + arb(0, _NEAR)
        slope = (right - left) / arb(y - x)
        step = right / slope
        if not step.is_finite() or abs(step) > 2**10:
            return None
        mantissa, exponent = (arb(y) - step).mid().man_exp()
        x, y = y, fmpq(mantissa) * fmpq(2) ** int(exponent)
        left, right = right, distance(y)
        if type(right) is not arb or not abs(right) < 2 * abs(left):
            return None
    return None
