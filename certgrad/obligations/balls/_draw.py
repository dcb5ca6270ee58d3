"""Deterministic draws: concrete dims and rational points, first small ones and those that often show errors; and points
near them on boundaries, where numbers that programs compare are equal or a denominator is 0."""

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
"""domain(inputs), the inputs nested lists of Fractions (ints, bools) by name: whether the point is inside."""

MAX_ENTRIES = 40
"""The most entries of a drawn input where sizes are open."""
MOST_ENTRIES = 128
"""The most entries of a drawn input where there is only one shape."""
TRIES = 300
"""At most this many draws, in a round, until a point lies in the domain."""
_FOUND = 10
"""At most this many points with rational zeros are made by moving one entry."""
_BALLS = 2
"""At most this many points with irrational zeros are made by moving one entry."""
_ROUNDS = 20
"""Steps of the secant method, at most; then the zero is not used."""
_NEAR = 2.0**-200
"""The radius of the ball around an irrational zero."""
_BITS = 64
"""Bits of numerator and denominator of a rational zero, at most; others are not used."""
_STEPS = (fmpq(1, 3), fmpq(-2, 7))
"""By how much an entry is moved to see how the distances to boundaries depend on it."""


def seeded(*words: str) -> random.Random:
    """Return a random generator whose numbers depend on the words alone."""
    return random.Random(int.from_bytes(hashlib.sha256("\0".join(words).encode()).digest()[:8], "big"))


def draw_dims(
    inputs: Sequence[Input],
    rng: random.Random,
    fits: Callable[[Dims], bool],
    further: Sequence[str] = (),
    least: int = 0,
) -> Iterator[Dims]:
    """Yield concrete dims without repetition: first sizes 2, 3, 4 in turn, then all 2, all 1, all 3, then random ones.

    Dims for which `fits` is false are left out, and dims at which an input is empty or has more than `MAX_ENTRIES`
    entries (`MOST_ENTRIES` where no size is open, `least` where that is more). `further` names dims that no input has.
    """
    named, stars = names_in(inputs)
    named += [name for name in further if name not in named]
    most = max(least, MAX_ENTRIES if named or stars else MOST_ENTRIES)
    seen = set()
    groups: list[tuple[int, ...]]
    for attempt in range(60):
        if attempt == 0:  # sizes that differ show axes that are mixed up
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
        shapes = [dims.shape(argument.dims) for argument in inputs]
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
    """Return an array of this shape whose entries are the results of calling `entry`, once for each."""
    out = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        out[at] = entry()
    return out


def draw_input(one: Input, shape: tuple[int, ...], style: str, rng: random.Random, top: int) -> Array:
    """Return one input drawn in a style: `equal` repeats one value, `mixed` chooses a style for each entry.

    `top` bounds integers, which are mostly indices into an axis of that size.
    """
    if one.kind == "bool":
        return filled_by(shape, lambda: rng.random() < 0.5).astype(bool)
    if one.kind == "key":
        return filled_by(shape, lambda: rng.randint(0, 99)).astype(np.int64)
    if one.kind == "int":
        low, high = (0, max(top - 1, 0)) if rng.random() < 0.7 else (-2, top + 1)
        # Only half of the arrays use the named numbers: of many entries drawn so, some would be outside of the domain.
        draw_near_told = partial(_draw_near, one.told, low, high, rng) if one.told and rng.random() < 0.5 else None
        drawn = filled_by(shape, draw_near_told or (lambda: rng.randint(low, high))).astype(np.int64)
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
    """Return one of the numbers `told`, a number beside it or in their range, or one from `low` to `high`."""
    choice = rng.random()
    if choice < 0.3:
        return rng.choice(told)
    if choice < 0.4:
        return rng.choice(told) + rng.choice((-1, 1))
    return rng.randint(min(told), max(told)) if choice < 0.6 else rng.randint(low, high)


def nested(array: Array) -> Any:
    """Return an array as nested lists (a bare entry at rank 0)."""
    return array.tolist() if array.ndim else array[()]


def style_near(numbers: Sequence[Fraction], signs: Sequence[int]) -> Style:
    """Return a style that draws at 0 and sign·|x| for the signs and numbers x, close beside these, or between."""
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
    """Return the rounds of draws: 2 where indices could be bounded by another size than the greatest one, else 1."""
    return 2 if len(tops) > 1 and any(argument.kind == "int" for argument in inputs) else 1


def bounds_of(inputs: Sequence[Input], tops: Sequence[int], again: bool, rng: random.Random) -> list[int]:
    """Return, by input, the bound of its indices in one draw: the greatest size, or any size in the second round."""
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
    """Return the arrays of the k-th point at these shapes; None where no draw hits the domain.

    k chooses the style of the first draw; draws after it, of which there are `TRIES` a round, have random styles. With
    `generic`, all draws have that style. Floats are near the numbers in `beside`, if there are any; integers may be any
    of `integers` as well. Draws end when the thread's processor time reaches `until`.
    """
    if integers:
        inputs = [
            replace(argument, told=(*argument.told, *integers)) if argument.kind == "int" else argument
            for argument in inputs
        ]
    tops = tops_of(shapes)
    styles = [GENERIC if generic else SCHEDULE[k % len(SCHEDULE)]] * len(inputs)
    # The first draw has the style that k names. Where the domain rejects it, other styles may hit the domain.
    for attempt in range(rounds(inputs, tops) * TRIES):
        if time.thread_time() > until:
            return None
        if attempt and not generic and not beside:
            styles = [rng.choice([*STYLES, "equal", "mixed"]) for _ in inputs]
        draw_beside = partial(style_near(beside, ((1,), (1, -1), (-1,))[(k + attempt) % 3]), rng) if beside else None
        bounds = bounds_of(inputs, tops, attempt >= TRIES, rng)
        arrays = [
            draw_input(argument, shape, style, rng, top)
            if draw_beside is None or argument.kind != "float"
            else filled_by(shape, draw_beside)
            for argument, shape, style, top in zip(inputs, shapes, styles, bounds, strict=True)
        ]
        arrays = [argument.structured(x) for argument, x in zip(inputs, arrays, strict=True)]
        if domain is None or domain({argument.name: nested(x) for argument, x in zip(inputs, arrays, strict=True)}):
            return arrays
    return None


def structured(inputs: Sequence[Input], point: Point) -> Point:
    """Return the point with arrays that have their input's structure (such as symmetry) and tangents that keep it."""
    if all(argument.structure is None for argument in inputs):
        return point
    arrays = [argument.structured(x) for argument, x in zip(inputs, point.inputs, strict=True)]
    moving = [(argument.structure, x) for argument, x in zip(inputs, arrays, strict=True) if argument.moves]
    tangents = [
        dx if structure is None else structure.along(x, dx)
        for (structure, x), dx in zip(moving, point.tangents, strict=False)  # a claim about values has no tangents
    ]
    return Point(arrays, tangents, point.seeds)


def draw_direction(shape: tuple[int, ...], rng: random.Random) -> Array:
    """Return a tangent or a seed: dense, with small, rarely equal entries, so that one draw shows most differences."""
    return filled_by(shape, lambda: Fraction(rng.choice((-5, -3, -2, -1, 1, 2, 3, 4, 7)), rng.choice((1, 1, 2))))


def generic_direction(
    shape: tuple[int, ...], rng: random.Random, rational: Callable[[int, int], Any] = Fraction
) -> Array:
    """Return a tangent or a cotangent whose entries are never 0 and hardly ever equal.

    So inputs that are equal at the point differ beside it, and summands of a side do not cancel. `rational` makes a
    number of its numerator and denominator.
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
    """Return the k-th point for the obligation `kind`: inputs, tangents and seeds; None where no inputs are drawn.

    Inputs are drawn at the programs' shapes by `draw_inputs`, which says what the other arguments are.
    """
    inputs = draw_inputs(programs.inputs, programs.shapes, k, rng, domain, generic, beside, integers, until)
    if inputs is None:
        return None
    tangents = [draw_direction(programs.shapes[i], rng) for i in programs.moving]
    seeds = []
    if kind == "vjp_is_adjoint":
        seeds = [draw_direction(shape, rng) for shape in programs.output_shapes]
    return structured(programs.inputs, Point(inputs, [] if kind == "rule_runs_forward" else tangents, seeds))


Watch = Callable[..., Sequence[Any]]
"""watch(point, most): the distances to boundaries at the point (numbers that programs compare with 0 or divide by), all
of them or at least the first `most`."""


def on_boundaries(
    point: Point, kinds: Sequence[str], moving: Sequence[int], watch: Watch, exact: bool = False
) -> Iterator[Point]:
    """Yield points near this one at which a distance that `watch` observes is 0, points just beyond, and the origin.

    The first entry of each argument is moved. Each distance is evaluated at the entry and at two steps from it, which
    determines a polynomial of degree 2; its rational zeros are exact zeros of the distance if that is such a
    polynomial. Other zeros are found by the secant method and enclosed by a ball. Integers are moved to, and beside, 0
    and the sizes of the axes, as indices jump there. `kinds` are those of the arguments; `moving` lists the arguments
    that have a tangent. With `exact`, only points with rational zeros are yielded, and integers stay as they are.
    """
    distances = watch(point)
    sizes = sorted({n for x in point.inputs for n in x.shape})
    for which, kind in enumerate(kinds):
        if kind == "bool" or (exact and kind == "int") or not point.inputs[which].size:
            continue
        at = (0,) * point.inputs[which].ndim
        if kind == "int":
            near_sizes = {sign * n + shift for n in (0, *sizes) for sign in (1, -1) for shift in (-1, 0, 1)}
            yield from (point.moved(which, at, value) for value in sorted(near_sizes))
            continue
        if not distances:
            continue  # the programs have no boundaries
        start = point.inputs[which][at]
        after_steps = [watch(point.moved(which, at, start + step)) for step in _STEPS]
        zeros: dict[fmpq, None] = {}
        for values in zip(distances, *after_steps, strict=False):
            zeros |= dict.fromkeys(start + u for u in _zeros(values))
        for value in list(zeros)[:_FOUND]:
            yield point.moved(which, at, value)
            if not exact:
                yield point.moved(which, at, value + (value - start) / 8)
        balls = 0
        for k, (at_start, after_step) in enumerate(zip(distances, after_steps[0], strict=False)):
            irrational = (
                not exact and s.finite(at_start) and s.finite(after_step) and arb in (type(at_start), type(after_step))
            )
            if irrational and balls < _BALLS:
                zero = _secant(partial(_watched, watch, point, which, at, k), start, at_start, after_step)
                if zero is not None:
                    balls += 1
                    yield point.moved(which, at, zero)
    if not exact:
        origin = [filled_by(x.shape, lambda: ZERO) if k in moving else x for k, x in enumerate(point.inputs)]
        yield Point(origin, point.tangents, point.seeds)


def _zeros(values: Sequence[Any]) -> list[fmpq]:
    """Return the rational zeros u of the polynomial a·u² + b·u + c with these values at u = 0 and u in `_STEPS`.

    There are none where a value is not rational or the polynomial is constant.
    """
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
    """Return the k-th watched distance with one entry set to `value`; None where fewer are watched."""
    values = watch(point.moved(which, at, value), k + 1)
    return values[k] if k < len(values) else None


def _secant(distance: Callable[[fmpq], Any], start: fmpq, before: Any, after: Any) -> arb | None:
    """Return a small ball around a zero of the distance, by the secant method; None where it does not converge.

    `before` and `after` are the distances at `start` and one step from it.
    """
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
