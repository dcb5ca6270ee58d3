"""The two sides of an obligation at one concrete point, and whether they provably differ there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import NotDifferentiable, Undecided
from certgrad.obligations.balls._evaluate import PRECISION, Evaluation, evaluate
from certgrad.obligations.balls._rule import Programs
from certgrad.obligations.balls._scalars import UNKNOWN, ZERO, Real
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array


@dataclass(frozen=True, eq=False)
class Point:
    """A concrete point: one array for each input, one tangent for each differentiable input, one seed for each
    float output. Entries are exact (Fraction, int or bool)."""

    inputs: Sequence[Array]
    tangents: Sequence[Array]
    seeds: Sequence[Array]

    def moved(self, which: int, at: tuple[int | slice, ...], value: Any, group: str = "inputs") -> Point:
        """Return the point with `value` at an index or slice of one array: the `which`-th input, or that of `group`."""
        arrays: list[Array] = list(getattr(self, group))
        arrays[which] = arrays[which].copy()
        arrays[which][at] = value
        return replace(self, **{group: arrays})

    def along(self, moving: Sequence[int]) -> list[Any]:
        """Return a list with the tangent of each input; None for inputs whose positions are not in `moving`."""
        tangent_of = dict(zip(moving, self.tangents, strict=True))
        return [tangent_of.get(k) for k in range(len(self.inputs))]


@dataclass(frozen=True)
class Gap:
    """A place at which the two sides of an obligation differ, with their values.

    `undefined` says that one side is nan or infinite, so that the gap has no size.
    """

    where: str
    lhs: Real
    rhs: Real
    undefined: bool
    used_stop_gradient: bool = False

    @property
    def relative(self) -> arb | None:
        """The size of the gap relative to the larger side; None where a side is undefined."""
        if self.undefined:
            return None
        with s.precision(4 * PRECISION):
            lhs, rhs = s.ball(self.lhs), s.ball(self.rhs)
            return abs(lhs - rhs) / abs(lhs).max(abs(rhs))

    def reaches(self, size: Fraction) -> bool:
        """Return whether the relative gap is certainly at least `size` (an undefined side always counts)."""
        relative = self.relative
        return relative is None or bool(relative >= s.rational(size))


def _differ(lhs: Real, rhs: Real) -> str | None:
    """Return how two sides differ: "value" if both are finite, "undefined" if one is not; None if they agree."""
    if lhs is UNKNOWN or rhs is UNKNOWN:
        raise Undecided("a side of the obligation is not known at this precision")
    if s.finite(lhs) and s.finite(rhs):
        return None if s.overlap(lhs, rhs) else "value"
    if s.finite(lhs) or s.finite(rhs):
        return "undefined"
    return None if lhs == rhs or (lhs != lhs and rhs != rhs) else "undefined"


def _first_gap(sides: Sequence[tuple[str, Real, Real]], used_stop_gradient: bool = False) -> Gap | None:
    """Return the first place where finite sides differ, else the first where one side is undefined, else None."""
    undefined = None
    for where, lhs, rhs in sides:
        how = _differ(lhs, rhs)
        if how == "value":
            return Gap(where, lhs, rhs, False, used_stop_gradient)
        if how == "undefined" and undefined is None:
            undefined = Gap(where, lhs, rhs, True, used_stop_gradient)
    return undefined


def named_place(output: int, index: tuple[int, ...]) -> str:
    """Return the name of an entry of an output in messages: `output 0[1, 2]`."""
    return f"output {output}" + (f"[{', '.join(map(str, index))}]" if index else "")


def derivative(
    programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False, strict: bool = False
) -> tuple[list[Array], bool]:
    """Return the forward's derivative along the point's tangent, by float output, and whether stop_gradient mattered.

    At a seam, where branches meet, it is the slope on both sides, if these agree along all directions that are tried;
    with `strict`, a seam has no derivative. With `loose`, long literals are read as balls, so that their rounding
    decides nothing. Raises NotDifferentiable where the forward has no derivative or no finite value at the point.
    """
    try:
        return _derivative_along_tangent(programs, point, precision, loose)
    except NotDifferentiable:
        if strict:
            raise
        return _from_both_sides(programs, point, precision, loose)


def _derivative_along_tangent(
    programs: Programs, point: Point, precision: int, loose: bool, side: int = 0
) -> tuple[list[Array], bool]:
    """Return what `derivative` does where no branches meet; with a `side` (1 or −1), the slopes just after or before.

    With a `side` it raises NotDifferentiable where the value there is not that at the point.
    """
    tangents = point.along(programs.moving)
    evaluation = evaluate(programs.forward, point.inputs, tangents, precision=precision, loose=loose, side=side)
    if side:
        at_point = evaluate(programs.forward, point.inputs, precision=precision, loose=loose).values
        for i in programs.floats:
            if not all(_same_value(x, y) for x, y in zip(evaluation.values[i].flat, at_point[i].flat, strict=True)):
                raise NotDifferentiable("the forward jumps")
    return [_slopes(evaluation, i) for i in programs.floats], evaluation.used_stop_gradient


def _same_value(x: Real, y: Real) -> bool:
    """Return whether two scalars are equal if both are exact, else whether their balls overlap; False for UNKNOWN."""
    exact = isinstance(x, fmpq) and isinstance(y, fmpq)
    return x == y if exact else x is not UNKNOWN and y is not UNKNOWN and bool(s.overlap(x, y))


MOST_DIRECTIONS = 12
"""At most this many input entries may move at a seam: slopes are compared along the axis of each."""


def _from_both_sides(programs: Programs, point: Point, precision: int, loose: bool) -> tuple[list[Array], bool]:
    """Return the derivative along the tangent at a seam, by float output, and whether stop_gradient mattered.

    A forward may be differentiable where its branches meet, as x·|x| is at 0. So slopes are taken just before and just
    after the point, along the tangent, along each axis and along two further directions. They must agree on both sides,
    and the slope along a direction must be the combination of those along the axes.

    Raises:
        NotDifferentiable: the slopes do not agree, or there are too many directions.
    """
    shapes = [dx.shape for dx in point.tangents]
    count = sum(int(np.prod(shape, dtype=int)) for shape in shapes)
    if not 0 < count <= MOST_DIRECTIONS:
        raise NotDifferentiable("branches meet")

    def split(entries: Sequence[Any]) -> list[Array]:
        """Return a flat direction as one tangent for each moving input."""
        remaining, out = list(entries), []
        for shape in shapes:
            array = np.empty(shape, dtype=object)
            for at in np.ndindex(shape):
                array[at] = remaining.pop(0)
            out.append(array)
        return out

    def slopes(direction: Sequence[Any]) -> tuple[list[Any], bool]:
        """Return the slopes of all output entries, equal on both sides, and whether stop_gradient mattered."""
        turned_point = replace(point, tangents=split(direction))
        after, stopped = _derivative_along_tangent(programs, turned_point, precision, loose, 1)
        before, _ = _derivative_along_tangent(programs, turned_point, precision, loose, -1)
        pairs = [(x, y) for a, b in zip(after, before, strict=True) for x, y in zip(a.flat, b.flat, strict=True)]
        if not all(_same_value(x, y) for x, y in pairs):
            raise NotDifferentiable("branches meet at different slopes")
        return [x for x, _ in pairs], stopped

    along = [x for dx in point.tangents for x in dx.flat]
    slopes_along, stopped = slopes(along)
    axes = [slopes([Fraction(int(j == k)) for j in range(count)])[0] for k in range(count)]
    further_directions = [
        [Fraction((5 * k * k + seed * k + 3) % 7 - 3) + Fraction(1, 2 + k) for k in range(count)] for seed in (1, 4)
    ]
    # The derivative is linear: a slope along a direction is the combination of the slopes along the axes.
    with s.precision(precision):
        for direction, slopes_there in [(along, slopes_along), *((d, slopes(d)[0]) for d in further_directions)]:
            for place, x in enumerate(slopes_there):
                total: Real = ZERO
                for c, axis in zip(direction, axes, strict=True):
                    total = s.add(total, s.mul(s.rational(c), axis[place]))
                if not _same_value(total, x):
                    raise NotDifferentiable("slopes that are not linear in the direction")
    out, remaining = [], list(slopes_along)
    for i in programs.floats:
        shape = programs.forward.out_avals[i].shape
        array = np.empty(shape, dtype=object)
        for at in np.ndindex(shape):
            array[at] = remaining.pop(0)
        out.append(array)
    return out, stopped


def _slopes(got: Evaluation, output: int) -> Array:
    """Return the derivative of an output, 0 where it is constant. Raises Undecided or NotDifferentiable."""
    values, moves = got.values[output], got.tangents[output]
    out = np.empty(values.shape, dtype=object)
    for at in np.ndindex(values.shape):
        y: Any = values[at]
        dy: Any = moves[at]
        if y is UNKNOWN or dy is UNKNOWN:
            raise Undecided("the forward is not known at this precision")
        if dy is None and (s.finite(y) or y == y):
            out[at] = ZERO
        elif dy is KINK or not s.finite(y) or not s.finite(dy):
            raise NotDifferentiable(f"forward has no derivative at {named_place(output, at)}")
        else:
            out[at] = dy
    return out


Side = tuple[str, Real, Real]
"""A place, and the left and the right side of an obligation there."""


def jvp_sides(
    programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False
) -> tuple[list[Side], bool]:
    """Return the rule's jvp beside the derivative of the forward, by entry, and whether stop_gradient mattered."""
    slopes, stopped = derivative(programs, point, precision, loose)
    pushed = evaluate(programs.jvp, [*point.inputs, *point.tangents], precision=precision, loose=loose).values
    sides = [
        (named_place(i, at), left[at], right[at])
        for i, left, right in zip(programs.floats, pushed, slopes, strict=True)
        for at in np.ndindex(left.shape)
    ]
    return sides, stopped


def adjoint_sides(
    programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False
) -> tuple[list[Side], bool]:
    """Return <jvp(x, dx), seed> beside <dx, vjp(x, seed)>, and whether stop_gradient mattered.

    Where the rule has no jvp, the derivative of the forward takes its place.
    """
    cotangents = evaluate(programs.vjp, [*point.inputs, *point.seeds], precision=precision, loose=loose).values
    stopped = False
    if programs.rule.jvp is None:
        pushed, stopped = derivative(programs, point, precision, loose)
    else:
        pushed = evaluate(programs.jvp, [*point.inputs, *point.tangents], precision=precision, loose=loose).values
    with s.precision(precision):
        lhs, rhs = _inner(pushed, point.seeds), _inner(cotangents, point.tangents)
    return [("⟨jvp(x, dx), seed⟩ and ⟨dx, vjp(x, seed)⟩", lhs, rhs)], stopped


def _inner(left: Sequence[Array], right: Sequence[Array]) -> Real:
    """Return the sum of all products of entries."""
    total: Real = ZERO
    for x, y in zip(left, right, strict=True):
        for a, b in zip(x.flat, y.flat, strict=True):
            total = s.add(total, s.mul(a, s.rational(b)))
    return total


def forward_sides(
    programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False
) -> tuple[list[Side], bool]:
    """Return the rule's primal outputs beside the forward's, by entry, without those where the forward is NaN."""
    forward_outputs = evaluate(programs.forward, point.inputs, precision=precision, loose=loose).values
    primal_outputs = evaluate(programs.primal, point.inputs, precision=precision, loose=loose).values
    sides = []
    for i, (left, right) in enumerate(zip(primal_outputs, forward_outputs, strict=True)):
        for at in np.ndindex(left.shape):
            if i in programs.floats:
                if s.finite(right[at]) or right[at] is UNKNOWN or right[at] == right[at]:
                    sides.append((named_place(i, at), left[at], right[at]))
            else:
                sides.append((named_place(i, at), s.rational(int(left[at])), s.rational(int(right[at]))))
    return sides, False


SIDES: dict[str, Callable[[Programs, Point, int, bool], tuple[list[Side], bool]]] = {
    "jvp_is_derivative": jvp_sides,
    "vjp_is_adjoint": adjoint_sides,
    "rule_runs_forward": forward_sides,
}
"""For each kind of obligation, its two sides at a point, and whether stop_gradient mattered."""


def gap_at(kind: str, programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False) -> Gap | None:
    """Return where the two sides of the obligation differ; None where they agree.

    Raises:
        NotDifferentiable: the forward has no derivative; or a side is undefined at a seam, even a smooth one.
    """
    sides, stopped = SIDES[kind](programs, point, precision, loose)
    with s.precision(precision):
        gap = _first_gap(sides, stopped)
    if gap is not None and gap.undefined and kind != "rule_runs_forward":
        derivative(programs, point, precision, loose, strict=True)
    return gap


def settled_gap(
    kind: str, programs: Programs, point: Point, precision: int = PRECISION, loose: bool = False
) -> Gap | None:
    """Return `gap_at` a point, with more precision where a comparison needs it; None also where the point says nothing.

    A point says nothing where the forward is not differentiable, or where four times the precision decides nothing.
    """
    for bits in (precision, 4 * precision):
        try:
            return gap_at(kind, programs, point, bits, loose)
        except NotDifferentiable:
            return None
        except Undecided:
            continue
    return None
