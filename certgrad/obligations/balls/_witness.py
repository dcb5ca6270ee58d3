"""The search for a concrete point where an obligation provably fails, and its simplification for a reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from flint import arb

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import (
    SCHEDULE,
    Domain,
    draw_dims,
    draw_point,
    generic_direction,
    nested,
    on_boundaries,
    seeded,
    structured,
)
from certgrad.obligations.balls._errors import MalformedRule
from certgrad.obligations.balls._evaluate import PRECISION, watched_distances
from certgrad.obligations.balls._gaps import Gap, Point, settled_gap
from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule
from certgrad.obligations.balls._scalars import Real
from certgrad.obligations.balls._values import Array, lifted

ProgramsAt = Callable[[Dims], Programs]
DRAWN_SIZES = 8
"""Choices of sizes that a search draws; then no witness is found."""
SHRINK_EVALUATIONS = 120
"""Evaluations that make a witness simpler, at most; then it stays as it is."""
SECONDS = 60.0
"""Seconds of one search, a backstop: it decides only where one point takes seconds."""
SHRINK_POINTS = 12
"""Points at smaller dims at which a failure is looked for, to show it there."""
BOUNDARY_SIZES, STARTS, ENTRIES = 2, 10, 12
"""Sizes at which points on the boundaries of what the programs compare are looked at, points from which one entry is
moved there, and entries of the inputs, at most."""
STYLE = SCHEDULE.index("plain")
"""The number of a point with small whole numbers and halves: from it more boundaries are met at rational numbers."""
BOUNDARY_SECONDS = 1.0
"""Seconds for points on boundaries at one size, of those of the search."""
BESIDE = 4
"""Points beside one at which a side is undefined, which must be undefined there as well."""


@dataclass(frozen=True)
class WitnessPoint:
    """A point where both sides of an obligation provably differ.

    Arrays are nested lists of Fractions (ints, bools), by input name; seeds by output position. `lhs` and `rhs` are
    scalars that do not overlap; where `undefined`, one of them is nan or infinite and `relative_gap` is empty.
    """

    kind: str
    dims: Dims
    inputs: dict[str, Any]
    tangents: dict[str, Any]
    seeds: dict[str, Any]
    where: str
    lhs: Real
    rhs: Real
    undefined: bool
    used_stop_gradient: bool
    relative_gap: str

    def texts(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """(midpoint, radius) of both sides as decimals, with as many digits as keep the printed balls apart."""
        with s.precision(4 * PRECISION):
            for digits in (15, 30, 60, 120, 300):
                left, right = ball_text(self.lhs, digits), ball_text(self.rhs, digits)
                if self.undefined or not _parse_ball(left).overlaps(_parse_ball(right)):
                    break
        return left, right


def ball_text(x: Real, digits: int) -> tuple[str, str]:
    """A scalar as decimal midpoint and radius that enclose it; special values by name, with radius 0."""
    if not s.finite(x):
        return str(x), "0"
    text = s.ball(x).str(digits)
    middle, _, radius = text.strip("[]").partition("+/-")
    return middle.strip() or "0", radius.strip() or "0"


def _parse_ball(text: tuple[str, str]) -> arb:
    return arb(f"{text[0]} +/- {text[1]}") if text[1] != "0" else arb(text[0])


@dataclass(frozen=True)
class _Candidate:
    programs: Programs
    point: Point
    gap: Gap
    on_boundary: bool = False
    """Whether it is found on a boundary, where an undefined side counts at one point: the forward is smooth there."""

    @property
    def entries(self) -> int:
        return sum(x.size for x in self.point.inputs)


@dataclass(frozen=True)
class _Search:
    kind: str
    programs: ProgramsAt
    inputs: Sequence[Input]
    name: str
    domain: Domain | None
    fits: Callable[[Dims], bool]
    precision: int
    at_least: Fraction
    generic: bool = False
    loose: bool = False
    deadline: float = float("inf")

    def gap(self, programs: Programs, point: Point) -> Gap | None:
        return _gap(self.kind, programs, point, self.precision, self.at_least, self.loose)

    def gaps(self, programs: Programs, points: int, rng: Random, beside: bool = False) -> Iterator[_Candidate]:
        """Yield the points with a gap among so many drawn ones; with `beside`, points near numbers in the programs."""
        numbers = programs.numbers(self.kind) if beside else []
        whole = beside and any(one.kind == "int" for one in self.inputs)
        integers = programs.integers(self.kind) if whole else ()
        if beside and not (numbers or integers):
            return
        for k in range(points):
            if time.thread_time() > self.deadline:
                return
            point = draw_point(programs, self.kind, k, rng, self.domain, self.generic, numbers, integers, self.deadline)
            if point is None:
                return
            gap = self.gap(programs, point)
            if gap is not None:
                yield _Candidate(programs, point, gap)

    def on_boundaries(self, programs: Programs, rng: Random) -> Iterator[_Candidate]:
        """Yield the points with a gap among those at which something that the programs compare is 0, one entry of an
        input being moved there; irrational ones are not looked at.
        """
        if sum(int(np.prod(shape, dtype=int)) for shape in programs.shapes) > ENTRIES:
            return
        until = min(time.thread_time() + BOUNDARY_SECONDS, self.deadline)
        kinds = [one.kind for one in self.inputs]

        def watch(at: Point) -> list[Real]:
            return watched_distances(programs.runs(at), lambda _: time.thread_time() > until)

        for _ in range(STARTS):
            start = draw_point(programs, self.kind, STYLE, rng, self.domain, until=until)
            if start is None:
                return
            exact = Point(
                inputs=[lifted(s.rational, 1)(x) if x.dtype == object else x for x in start.inputs],
                tangents=[generic_direction(dx.shape, rng) for dx in start.tangents],
                seeds=[generic_direction(ct.shape, rng) for ct in start.seeds],
            )
            for point in on_boundaries(exact, kinds, programs.moving, watch, exact=True):
                if time.thread_time() > until:
                    return
                if (rational := _rational(point)) is None or not self.inside(at := structured(self.inputs, rational)):
                    continue
                if (gap := self.gap(programs, at)) is not None:
                    yield _Candidate(programs, at, gap, on_boundary=True)

    def undefined_around(self, found: _Candidate, rng: Random) -> bool:
        """A side is undefined beside the point as well: so at a corner of a region, and not at single points.

        A rule that is undefined at x = 0 alone is right under x ≠ 0 or wrong elsewhere, which this search tells.
        """
        for _ in range(BESIDE):
            point = structured(self.inputs, _perturbed_point(found.point, rng))
            gap = self.gap(found.programs, point) if self.inside(point) else None
            if gap is not None and gap.undefined:
                return True
        return False

    def inside(self, point: Point) -> bool:
        """Return whether the point's inputs lie in the domain."""
        if self.domain is None:
            return True
        return self.domain({one.name: nested(x) for one, x in zip(self.inputs, point.inputs, strict=True)})


def find_witness(
    kind: str,
    rule: Rule | ProgramsAt,
    inputs: Sequence[Input],
    *,
    domain: Domain | None = None,
    fits: Callable[[Dims], bool] = lambda dims: True,
    name: str = "",
    precision: int = PRECISION,
    shapes: int = DRAWN_SIZES,
    points: int = 10,
    undefined: bool = True,
    at_least: Fraction = Fraction(0),
    shrink: bool = True,
    further: Sequence[str] = (),
    generic: bool = False,
    loose: bool = False,
    seconds: float = SECONDS,
    least: int = 0,
) -> WitnessPoint | None:
    """Search for a point inside the domain where the two sides of the obligation `kind` do not overlap.

    `rule` is a Rule, or a function of the concrete dims that gives its programs (for an axis that depends on the rank).
    `fits` says which dims are allowed; `further` names dims of the rule that no input has. `name` seeds the draws:
    the same call finds the same witness. A point where the forward has no derivative is no witness. With `undefined`,
    a side that is nan where the forward is smooth is one, if nothing better is found, and it is so beside the point as
    well or the point is on a boundary. Gaps below the relative size `at_least` (of the rounding of a literal, say) are
    passed over. With `generic`, points are on no boundary, so that only what is wrong on an open set is found. With
    `loose`, a gap that long literals explain, each of which is off by its rounding, is none. `shapes` and `points`
    bound the search: that many shapes, and points at each. Arrays of `least` entries are never too large.

    Raises:
        MalformedRule: the rule does not trace, or returns wrong shapes, at dims that fit (and no witness is elsewhere).
        Unsupported: a primitive without semantics here.
    """
    at = (lambda dims: Programs(rule, inputs, dims)) if isinstance(rule, Rule) else rule
    deadline = time.thread_time() + seconds
    search = _Search(kind, at, tuple(inputs), name, domain, fits, precision, at_least, generic, loose, deadline)
    rng = seeded(name, kind)
    fallback: _Candidate | None = None
    failure: MalformedRule | None = None
    # After that half as many dims for points beside the programs' own numbers, as a clip may act in a thin region, and
    # a few for points on boundaries.
    rounds: list[tuple[int, Callable[[Programs], Iterator[_Candidate]]]] = [
        (shapes, lambda p: search.gaps(p, points, rng))
    ]
    if not generic:
        rounds.append(((shapes + 1) // 2, lambda p: search.gaps(p, points, rng, beside=True)))
        rounds.append((BOUNDARY_SIZES, lambda p: search.on_boundaries(p, rng)))
    drawn = ((d, look) for n, look in rounds for d in islice(draw_dims(inputs, rng, fits, further, least), n))
    for dims, look in drawn:
        try:
            for candidate in look(search.programs(dims)):
                if not candidate.gap.undefined:
                    return _report(kind, _simplified(_smaller(candidate, search), search) if shrink else candidate)
                if fallback is None or candidate.entries < fallback.entries:
                    counts = not undefined or candidate.on_boundary or search.undefined_around(candidate, rng)
                    fallback = candidate if counts else fallback
        except MalformedRule as error:
            failure = failure or error
    if fallback is not None and undefined:
        return _report(kind, _simplified(fallback, search) if shrink else fallback)
    if failure is not None:
        raise failure
    return None


def witness_at(kind: str, programs: Programs, point: Point, at_least: Fraction) -> WitnessPoint | None:
    """A witness at this very point, if the two sides are apart by at least this relative size there."""
    gap = _gap(kind, programs, point, PRECISION, at_least, loose=True)
    return _report(kind, _Candidate(programs, point, gap)) if gap is not None else None


def _gap(kind: str, programs: Programs, point: Point, precision: int, at_least: Fraction, loose: bool) -> Gap | None:
    """The gap at a point, if it is of this relative size, and with `loose`, if no rounding of constants explains it."""
    gap = settled_gap(kind, programs, point, precision)
    if gap is None or not gap.reaches(at_least):
        return None
    if loose and not gap.undefined and programs.long_literals(kind):
        return gap if settled_gap(kind, programs, point, precision, loose=True) is not None else None
    return gap


# a witness for a reader: small dims, then simple numbers


def _smaller(found: _Candidate, search: _Search) -> _Candidate:
    """Return the same failure at smaller dims, if a few points show it."""
    for dims in _below(found.programs.dims):
        if not search.fits(dims) or any(n < 1 for one in search.inputs for n in dims.shape(one.dims)):
            continue
        try:
            for other in search.gaps(search.programs(dims), SHRINK_POINTS, seeded(search.name, search.kind, str(dims))):
                if not other.gap.undefined:
                    return other
        except MalformedRule:
            continue
    return found


def _below(dims: Dims) -> Iterator[Dims]:
    """Yield smaller dims, the smallest first: all 1, all at most 2, then one dim lowered to 1."""
    seen = {(tuple(dims.sizes.items()), tuple(dims.stars.items()))}
    candidates = []
    for n in (1, 2):
        for rank in (0, 1, 2):
            stars = {k: tuple(min(m, n) for m in v[:rank]) for k, v in dims.stars.items()}
            candidates.append(Dims({k: min(m, n) for k, m in dims.sizes.items()}, stars))
    candidates += [Dims({**dims.sizes, k: 1}, dims.stars) for k in dims.sizes]
    for candidate in candidates:
        key = (tuple(candidate.sizes.items()), tuple(candidate.stars.items()))
        if key not in seen:
            seen.add(key)
            yield candidate


def _simplified(found: _Candidate, search: _Search) -> _Candidate:
    """Return a simpler point with a gap, greedily: tangents and seeds 0 and 1, inputs small integers where it stays."""
    best = found
    budget = SHRINK_EVALUATIONS
    for group in ("seeds", "tangents", "inputs"):
        for which, array in enumerate(getattr(found.point, group)):
            for index in np.ndindex(array.shape):
                for value in _simpler(array[index], group):
                    if budget == 0 or time.thread_time() > search.deadline:
                        return best
                    budget -= 1
                    point = structured(search.inputs, best.point.moved(which, index, value, group))
                    gap = search.gap(best.programs, point) if search.inside(point) else None
                    if gap is not None and gap.undefined == found.gap.undefined:
                        best = _Candidate(best.programs, point, gap)
                        break
    return best


def _simpler(value: Any, group: str) -> list[Fraction]:
    if not isinstance(value, Fraction):
        return []
    wanted = [Fraction(0), Fraction(1)] if group != "inputs" else [Fraction(1), Fraction(2), Fraction(-1)]
    if group == "inputs" and value.denominator > 1:
        wanted.append(Fraction(round(value)))
    return wanted[: wanted.index(value)] if value in wanted else wanted


def _rational(point: Point) -> Point | None:
    """Return the point with its inputs as fractions; None where one is enclosed by a ball."""
    arrays: list[Array] = []
    for x in point.inputs:
        if x.dtype != object:
            arrays.append(x)
            continue
        if any(isinstance(value, arb) for value in x.flat):
            return None
        arrays.append(lifted(lambda value: Fraction(int(value.p), int(value.q)), 1)(x))
    return replace(point, inputs=arrays)


def _perturbed_point(point: Point, rng: Random) -> Point:
    """Return the point with each number of the inputs moved a little to either side."""

    def beside(value: Any) -> Any:
        return value + Fraction(rng.choice((-1, 1)), rng.randint(1000, 2000)) if isinstance(value, Fraction) else value

    arrays: list[Array] = []
    for x in point.inputs:
        moved = x.copy()
        for index in np.ndindex(x.shape):
            moved[index] = beside(x[index])
        arrays.append(moved)
    return Point(inputs=arrays, tangents=point.tangents, seeds=point.seeds)


def _report(kind: str, found: _Candidate) -> WitnessPoint:
    programs, point, gap = found.programs, found.point, found.gap
    moving = [programs.inputs[i].name for i in programs.moving]
    relative = gap.relative
    return WitnessPoint(
        kind=kind,
        dims=programs.dims,
        inputs={one.name: nested(x) for one, x in zip(programs.inputs, point.inputs, strict=True)},
        tangents={n: nested(x) for n, x in zip(moving, point.tangents, strict=False)},
        seeds={str(i): nested(x) for i, x in zip(programs.floats, point.seeds, strict=False)},
        where=gap.where,
        lhs=gap.lhs,
        rhs=gap.rhs,
        undefined=gap.undefined,
        used_stop_gradient=gap.used_stop_gradient,
        relative_gap="" if relative is None else relative.str(3, radius=False),
    )
