"""Points at which a case is evaluated: random rationals, and points on the boundaries of what a program compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.obligations.balls import _draw
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import SCHEDULE, STYLES, draw_input, filled_by
from certgrad.obligations.balls._gaps import Point
from certgrad.obligations.balls._rule import Input
from certgrad.obligations.balls._scalars import ZERO
from certgrad.obligations.balls._values import Array, lifted

TRIES = 200
"""At most this many draws of a point until one satisfies the hypotheses."""
GENERIC = SCHEDULE.index("eighths")
"""The number of a point whose entries are rarely equal or 0."""
WITHOUT_COINCIDENCES = _draw.GENERIC
"""The style of a point at which nothing is equal that is not so everywhere."""
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


@dataclass(frozen=True, eq=False)
class Space:
    """What a point is made of: kinds and shapes of the arguments, parameters included, and shapes of the outputs."""

    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    parameters: int
    outputs: tuple[tuple[int, ...], ...]
    told: tuple[tuple[int, ...], ...] = ()
    """For each argument, whole numbers that the domain names."""

    @property
    def moving(self) -> list[int]:
        """The arguments that have a tangent."""
        return [k for k in range(len(self.kinds) - self.parameters) if self.kinds[k] == "float"]

    def draw(self, k: int | str, rng: Random, fits: Callable[[list[Array]], bool], tries: int = TRIES) -> Point | None:
        """The k-th point whose arguments fit, or one of the style `k`; None where none was hit."""
        top = max((n for shape in self.shapes for n in shape), default=2)
        styles = [SCHEDULE[k % len(SCHEDULE)] if isinstance(k, int) else k] * len(self.kinds)
        for attempt in range(tries):
            if attempt and isinstance(k, int):
                styles = [rng.choice([*STYLES, "equal", "mixed"]) for _ in self.kinds]
            inputs = [
                _exact(draw_input(Input("", (), kind, told=told), shape, style, rng, top))  # type: ignore[arg-type]
                for kind, shape, style, told in zip(
                    self.kinds, self.shapes, styles, self.told or [()] * len(self.kinds), strict=True
                )
            ]
            if fits(inputs):
                tangents = [_direction(self.shapes[i], rng) for i in self.moving]
                return Point(inputs, tangents, [_direction(shape, rng) for shape in self.outputs])
        return None


def coincides(k: int) -> bool:
    """Return whether entries of the k-th point are likely to be equal, or 0."""
    return SCHEDULE[k % len(SCHEDULE)] in ("plain", "special", "equal", "mixed")


def _exact(array: Array) -> Array:
    """Return rationals as exact scalars; integers and booleans as they are."""
    return lifted(s.rational, 1)(array) if array.dtype == object else array


def _direction(shape: tuple[int, ...], rng: Random) -> Array:
    """Return tangents or cotangents: never 0, hardly ever equal, so that tied inputs are not tied beside the point."""
    return filled_by(shape, lambda: fmpq(rng.choice((-1, 1)) * rng.randint(1, 2**32), 2**30))


Watch = Callable[..., Sequence[Any]]
"""The distances that are observed at a point: all of them, or at least the first so many."""


def on_boundaries(point: Point, space: Space, watch: Watch) -> Iterator[Point]:
    """Yield points near this one at which something that `watch` observes is 0, points just beyond, and the origin.

    One entry of each argument is moved. Where the watched distance is a polynomial of degree 2 in the entry with
    rational zeros, the zero is exact; other zeros, by the secant method, are enclosed by a ball. Integers go to the
    sizes of the axes, as indices do.
    """
    distances = watch(point)
    sizes = sorted({n for shape in space.shapes for n in shape})
    for which, kind in enumerate(space.kinds):
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
            irrational = s.finite(before) and s.finite(after) and arb in (type(before), type(after))
            if irrational and balls < _BALLS:
                zero = _secant(partial(_watched, watch, point, which, at, k), start, before, after)
                if zero is not None:
                    balls += 1
                    yield point.moved(which, at, zero)
    arguments = len(space.kinds) - space.parameters
    origin = [
        filled_by(x.shape, lambda: ZERO) if k in space.moving else x for k, x in enumerate(point.inputs[:arguments])
    ]
    yield Point([*origin, *point.inputs[arguments:]], point.tangents, point.seeds)


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


def collapsed(arrays: Mapping[str, Array], axes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The arrays with each star group as one axis, as formulas with indices count."""
    return {name: np.reshape(x, axes[name]) if name in axes else x for name, x in arrays.items()}
