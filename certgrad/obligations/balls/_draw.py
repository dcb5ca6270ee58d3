"""Deterministic draws: concrete dims and rational points, the small and the awkward ones first; and points beside them
on the boundaries of what programs compare or divide by."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._gaps import Point
from certgrad.obligations.balls._rule import Dims, Input, Programs, names_in
from certgrad.obligations.balls._scalars import ZERO
from certgrad.obligations.balls._values import Array

Domain = Callable[[Mapping[str, Any]], bool]
"""domain(inputs) with nested lists of Fractions (ints, bools): whether the point is inside."""

MAX_ENTRIES = 40
"""The largest input that is drawn where there is a choice of shapes."""
MOST_ENTRIES = 128
"""The largest input that is drawn where there is only one shape."""
TRIES = 300
"""At most this many draws of a point until one lies in the domain."""
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


def seeded(*words: str) -> random.Random:
    """A generator that depends on the words alone."""
    return random.Random(int.from_bytes(hashlib.sha256("\0".join(words).encode()).digest()[:8], "big"))


def draw_dims(
    inputs: Sequence[Input],
    rng: random.Random,
    fits: Callable[[Dims], bool],
    further: Sequence[str] = (),
    least: int = 0,
) -> Iterator[Dims]:
    """Yield concrete dims without repetition: distinct ones, all 2, all 1, all 3, then random ones up to 4.

    Those that do not fit are left out, and those with an array of too many entries. `further` names dims that no input
    has. Arrays of `least` entries are never too large.
    """
    named, stars = names_in(inputs)
    named += [name for name in further if name not in named]
    most = max(least, MAX_ENTRIES if named or stars else MOST_ENTRIES)
    seen = set()
    groups: list[tuple[int, ...]]
    for attempt in range(60):
        if attempt == 0:
            sizes, groups = [2 + k % 3 for k in range(len(named))], [(2,) for _ in stars]
        elif attempt <= 3:
            n = (2, 1, 3)[attempt - 1]
            sizes, groups = [n for _ in named], [((2, 3), (), (1,))[attempt - 1] for _ in stars]
        else:
            sizes = [rng.randint(1, 4) for _ in named]
            groups = [tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2))) for _ in stars]
        key = (tuple(sizes), tuple(groups))
        dims = Dims(dict(zip(named, sizes, strict=True)), dict(zip(stars, groups, strict=True)))
        if key in seen or not fits(dims):
            continue
        seen.add(key)
        shapes = [dims.shape(one.dims) for one in inputs]
        if all(n > 0 for shape in shapes for n in shape) and max(map(prod, shapes), default=0) <= most:
            yield dims


# values: each style draws one entry

Style = Callable[[random.Random], Fraction]


def _eighths(low: int, high: int) -> Style:
    return lambda rng: Fraction(rng.randint(8 * low, 8 * high), 8)


STYLES: dict[str, Style] = {
    "plain": lambda rng: Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), rng.choice((1, 2))),
    "positive": lambda rng: Fraction(rng.randint(1, 24), 8),
    "eighths": _eighths(-3, 3),
    "unit": lambda rng: Fraction(rng.randint(1, 15), 16),
    "signed unit": lambda rng: Fraction(rng.randint(-15, 15), 16),
    "large": lambda rng: rng.choice((-1, 1)) * (rng.choice((5, 20, 50, 100)) + Fraction(rng.randint(-8, 8), 8)),
    "above one": lambda rng: 1 + Fraction(rng.randint(1, 16), 8),
    "special": lambda rng: Fraction(rng.choice((-2, -1, 0, 0, 1, 2)), rng.choice((1, 1, 2))),
    "large positive": lambda rng: rng.choice((5, 20, 50, 100)) + Fraction(rng.randint(-8, 8), 8),
}
GENERIC = "generic"
"""The style of points on no boundary and without coincidences."""
SCHEDULE = ("plain", "eighths", "positive", "large", "special", "unit", "equal", "mixed", "mixed", "large")
"""The style of the k-th point at a shape, for all inputs; "mixed" draws a style for each input and entry."""


def filled_by(shape: tuple[int, ...], entry: Callable[[], Any]) -> Array:
    """An array of a shape, its entries made one by one."""
    out = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        out[at] = entry()
    return out


def draw_input(one: Input, shape: tuple[int, ...], style: str, rng: random.Random, top: int) -> Array:
    """Return one input drawn in a style: `equal` repeats one value, `mixed` chooses a style for each entry.

    `top` bounds integers, which are indices mostly.
    """
    if one.kind == "bool":
        return filled_by(shape, lambda: rng.random() < 0.5).astype(bool)
    if one.kind == "key":
        return filled_by(shape, lambda: rng.randint(0, 99)).astype(np.int64)
    if one.kind == "int":
        low, high = (0, max(top - 1, 0)) if rng.random() < 0.7 else (-2, top + 1)
        # Of many numbers that are told one by one, some are outside of the domain.
        told = partial(_draw_near, one.told, low, high, rng) if one.told and rng.random() < 0.5 else None
        drawn = filled_by(shape, told or (lambda: rng.randint(low, high))).astype(np.int64)
        return np.abs(drawn) if one.exact.startswith("u") else drawn
    if style == GENERIC:
        return filled_by(shape, lambda: Fraction(rng.randint(-3000, 3000) or 1, 997))
    if style == "equal":
        value = STYLES[rng.choice(("plain", "positive", "eighths"))](rng)
        return filled_by(shape, lambda: value)
    if style == "mixed":
        pool = rng.sample(list(STYLES), 2)
        return filled_by(shape, lambda: STYLES[rng.choice(pool)](rng))
    return filled_by(shape, lambda: STYLES[style](rng))


def _draw_near(told: Sequence[int], low: int, high: int, rng: random.Random) -> int:
    """Return one of the given numbers, one beside it or between two of them, or a possible index."""
    choice = rng.random()
    if choice < 0.3:
        return rng.choice(told)
    if choice < 0.4:
        return rng.choice(told) + rng.choice((-1, 1))
    return rng.randint(min(told), max(told)) if choice < 0.6 else rng.randint(low, high)


def nested(array: Array) -> Any:
    """An array as nested lists (a bare entry at rank 0)."""
    return array.tolist() if array.ndim else array[()]


def style_near(numbers: Sequence[Fraction], signs: Sequence[int]) -> Style:
    """Return a style: 0 and the numbers times a sign, numbers on either side of these, and between two of them."""
    ordered = sorted({Fraction(0), *(sign * abs(x) for x in numbers for sign in signs)})

    def draw(rng: random.Random) -> Fraction:
        at = rng.randrange(len(ordered))
        if at and rng.random() < 0.7:
            return ordered[at - 1] + (ordered[at] - ordered[at - 1]) * Fraction(rng.choice((1, 2, 3)), 4)
        return ordered[at] * (1 + Fraction(rng.choice((-1, 0, 1)), 2 ** rng.choice((3, 10, 20))))

    return draw


def tops_of(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the sizes that may bound an index, the greatest last."""
    return sorted({n for shape in shapes for n in shape}) or [2]


def rounds(inputs: Sequence[Input], tops: Sequence[int]) -> int:
    """Return how often points are drawn: twice where indices may be bounded by another size than the first time."""
    return 2 if len(tops) > 1 and any(one.kind == "int" for one in inputs) else 1


def bounds_of(inputs: Sequence[Input], tops: Sequence[int], again: bool, rng: random.Random) -> list[int]:
    """Return, by input, the bound of its indices in one draw: the greatest size, in the second round any."""
    return [rng.choice(tops) if again else tops[-1] for _ in inputs]


def draw_inputs(
    inputs: Sequence[Input],
    shapes: Sequence[tuple[int, ...]],
    k: int,
    rng: random.Random,
    domain: Domain | None,
    generic: bool = False,
    beside: Sequence[Fraction] = (),
    integers: tuple[int, ...] = (),
    until: float = inf,
) -> list[Array] | None:
    """Return the k-th point at these shapes inside the domain; None if none is drawn before `until` of the thread's
    processor time.

    Floats are near the numbers in `beside`, if there are any; integers may be any of `integers` as well.
    """
    if integers:
        inputs = [replace(one, told=(*one.told, *integers)) if one.kind == "int" else one for one in inputs]
    tops = tops_of(shapes)
    styles = [GENERIC if generic else SCHEDULE[k % len(SCHEDULE)]] * len(inputs)
    for attempt in range(rounds(inputs, tops) * TRIES):
        if time.thread_time() > until:
            return None
        if attempt and not generic and not beside:
            styles = [rng.choice([*STYLES, "equal", "mixed"]) for _ in inputs]
        entry = partial(style_near(beside, ((1,), (1, -1), (-1,))[(k + attempt) % 3]), rng) if beside else None
        bounds = bounds_of(inputs, tops, attempt >= TRIES, rng)
        arrays = [
            draw_input(one, shape, style, rng, top) if entry is None or one.kind != "float" else filled_by(shape, entry)
            for one, shape, style, top in zip(inputs, shapes, styles, bounds, strict=True)
        ]
        arrays = [one.structured(x) for one, x in zip(inputs, arrays, strict=True)]
        if domain is None or domain({one.name: nested(x) for one, x in zip(inputs, arrays, strict=True)}):
            return arrays
    return None


def structured(inputs: Sequence[Input], point: Point) -> Point:
    """The point with arrays that have the structure which they have to have, and tangents along which they keep it."""
    if all(one.structure is None for one in inputs):
        return point
    arrays = [one.structured(x) for one, x in zip(inputs, point.inputs, strict=True)]
    moving = [(one.structure, x) for one, x in zip(inputs, arrays, strict=True) if one.moves]
    tangents = [
        dx if structure is None else structure.along(x, dx)
        for (structure, x), dx in zip(moving, point.tangents, strict=False)  # there are none of values
    ]
    return Point(arrays, tangents, point.seeds)


def draw_direction(shape: tuple[int, ...], rng: random.Random) -> Array:
    """Tangents and seeds: dense, small and rarely equal, so that one draw shows almost any difference."""
    return filled_by(shape, lambda: Fraction(rng.choice((-5, -3, -2, -1, 1, 2, 3, 4, 7)), rng.choice((1, 1, 2))))


def generic_direction(
    shape: tuple[int, ...], rng: random.Random, rational: Callable[[int, int], Any] = Fraction
) -> Array:
    """Return tangents or cotangents that are never 0 and hardly ever equal: inputs that are tied are not so beside the
    point, and summands of a side do not cancel. `rational` makes a number of numerator and denominator.
    """
    return filled_by(shape, lambda: rational(rng.choice((-1, 1)) * rng.randint(1, 2**32), 2**30))


def draw_point(
    programs: Programs,
    kind: str,
    k: int,
    rng: random.Random,
    domain: Domain | None,
    generic: bool = False,
    beside: Sequence[Fraction] = (),
    integers: tuple[int, ...] = (),
    until: float = inf,
) -> Point | None:
    """The k-th point for an obligation at the programs' shapes, its inputs `beside` the numbers given, if any are."""
    inputs = draw_inputs(programs.inputs, programs.shapes, k, rng, domain, generic, beside, integers, until)
    if inputs is None:
        return None
    tangents = [draw_direction(programs.shapes[i], rng) for i in programs.moving]
    seeds = []
    if kind == "vjp_is_adjoint":
        seeds = [draw_direction(shape, rng) for shape in programs.output_shapes]
    return structured(programs.inputs, Point(inputs, [] if kind == "rule_runs_forward" else tangents, seeds))


Watch = Callable[..., Sequence[Any]]
"""The distances that are observed at a point: all of them, or at least the first so many."""


def on_boundaries(
    point: Point, kinds: Sequence[str], moving: Sequence[int], watch: Watch, exact: bool = False
) -> Iterator[Point]:
    """Yield points near this one at which something that `watch` observes is 0, points just beyond, and the origin.

    One entry of each argument is moved. Where the watched distance is a polynomial of degree 2 in the entry with
    rational zeros, the zero is exact; other zeros, by the secant method, are enclosed by a ball. Integers go to the
    sizes of the axes, as indices do. `kinds` are those of the arguments, of which `moving` ones have a tangent.
    With `exact`, nothing but the points with rational zeros is yielded, and integers stay, as indices in their range.
    """
    distances = watch(point)
    sizes = sorted({n for x in point.inputs for n in x.shape})
    for which, kind in enumerate(kinds):
        if kind == "bool" or (exact and kind == "int") or not point.inputs[which].size:
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
            if not exact:
                yield point.moved(which, at, value + (value - start) / 8)
        balls = 0
        for k, (before, after) in enumerate(zip(distances, there[0], strict=False)):
            irrational = not exact and s.finite(before) and s.finite(after) and arb in (type(before), type(after))
            if irrational and balls < _BALLS:
                zero = _secant(partial(_watched, watch, point, which, at, k), start, before, after)
                if zero is not None:
                    balls += 1
                    yield point.moved(which, at, zero)
    if not exact:
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
