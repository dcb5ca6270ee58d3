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
"""Choices of sizes at which a search draws points, before it gives up."""
SHRINK_EVALUATIONS = 120
"""At most this many evaluations are spent on a simpler witness."""
SECONDS = 60.0
"""Seconds of one search. It is a backstop: the other limits end a search first, unless a point takes seconds."""
SHRINK_POINTS = 12
"""Points at smaller dims at which the same failure is looked for, to show it there."""
BOUNDARY_SIZES, STARTS, ENTRIES = 2, 10, 12
"""Limits of the search on boundaries: choices of sizes, points from which one entry is moved to a boundary, and entries
of all inputs together."""
STYLE = SCHEDULE.index("plain")
"""The number of a drawn point of integers and halves, from which boundaries are often at rational numbers."""
BOUNDARY_SECONDS = 1.0
"""Seconds of the search that points on boundaries may take at one choice of sizes."""
BESIDE = 4
"""Points tried beside one at which a side is undefined: a side must be undefined at one of them as well."""


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
        """Return (midpoint, radius) of both sides as decimals, with so many digits that the printed balls are apart."""
        with s.precision(4 * PRECISION):
            for digits in (15, 30, 60, 120, 300):
                left, right = ball_text(self.lhs, digits), ball_text(self.rhs, digits)
                if self.undefined or not _parse_ball(left).overlaps(_parse_ball(right)):
                    break
        return left, right


def ball_text(x: Real, digits: int) -> tuple[str, str]:
    """Return a scalar as a decimal midpoint and radius that enclose it; special values by name, with radius 0."""
    if not s.finite(x):
        return str(x), "0"
    text = s.ball(x).str(digits)
    middle, _, radius = text.strip("[]").partition("+/-")
    return middle.strip() or "0", radius.strip() or "0"


def _parse_ball(text: tuple[str, str]) -> arb:
    return arb(f"{text[0]} +/- {text[1]}") if text[1] != "0" else arb(text[0])


@dataclass(frozen=True)
class _Candidate:
    """A point with a gap between the two sides, at the shapes of its programs."""

    programs: Programs
    point: Point
    gap: Gap
    on_boundary: bool = False
    """Whether the point is on a boundary. There an undefined side counts at this point alone: the forward is smooth."""

    @property
    def entries(self) -> int:
        return sum(x.size for x in self.point.inputs)


@dataclass(frozen=True)
class _Search:
    """One search of `find_witness`, which says what the fields are."""

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
        """Yield the drawn points with a gap, of `points` drawn in all.

        With `beside`, they are drawn near the numbers in the programs; none are if the programs hold no numbers.
        """
        numbers = programs.numbers(self.kind) if beside else []
        near_integers = beside and any(argument.kind == "int" for argument in self.inputs)
        integers = programs.integers(self.kind) if near_integers else ()
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
        """Yield points with a gap on boundaries: one entry is moved to where a comparison of the programs is a tie.

        The distance to the boundary is followed exactly, in rationals, so that only rational points are found.
        """
        if sum(int(np.prod(shape, dtype=int)) for shape in programs.shapes) > ENTRIES:
            return
        until = min(time.thread_time() + BOUNDARY_SECONDS, self.deadline)
        kinds = [argument.kind for argument in self.inputs]

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
        """Return whether a side is undefined at a point beside the candidate's as well, and not at single points alone.

        A rule that is undefined at x = 0 alone is no failure of its own: it is right under the hypothesis x ≠ 0, or
        wrong at other points, which the search finds.
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
        return self.domain({argument.name: nested(x) for argument, x in zip(self.inputs, point.inputs, strict=True)})


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
    """Return a point inside the domain where the two sides of the obligation `kind` differ; None if none is found.

    The search goes through drawn points, then points near numbers in the programs, then points on boundaries of what
    they compare. The first gap between finite sides ends it, and is shown at smaller dims and simpler numbers if
    `shrink`. A point where the forward has no derivative is no witness.

    `rule` is a Rule, or a function of the concrete dims that gives its programs (for an axis that depends on the rank).
    `fits` says which dims are allowed; `further` names dims of the rule that no input has. `name` seeds the draws:
    the same call finds the same witness. `shapes` and `points` bound the search: that many shapes, and points at each,
    for `seconds`. Arrays of `least` entries are never too large.

    With `undefined`, a side that is nan where the forward is smooth makes a witness, if no gap between finite sides is
    found, and if a side is nan beside the point as well or the point is on a boundary. Gaps below the relative size
    `at_least` are passed over (the rounding of a literal makes such gaps). With `generic`, points are on no boundary,
    so that only rules that are wrong on an open set are found. With `loose`, a gap that may come from the rounding of
    long literals does not count.

    Raises:
        MalformedRule: the rule does not trace, or returns wrong shapes, at dims that fit (and no witness is elsewhere).
        Unsupported: a primitive without semantics here.
    """
    at = (lambda dims: Programs(rule, inputs, dims)) if isinstance(rule, Rule) else rule
    deadline = time.thread_time() + seconds
    search = _Search(kind, at, tuple(inputs), name, domain, fits, precision, at_least, generic, loose, deadline)
    rng = seeded(name, kind)
    fallback: _Candidate | None = None  # a point with an undefined side: a witness only if no finite gap is found
    failure: MalformedRule | None = None
    # A clip may act in a thin region that drawn points miss, so that later rounds draw near the programs' own numbers
    # and on boundaries, at fewer dims.
    rounds: list[tuple[int, Callable[[Programs], Iterator[_Candidate]]]] = [
        (shapes, lambda p: search.gaps(p, points, rng))
    ]
    if not generic:
        rounds.append(((shapes + 1) // 2, lambda p: search.gaps(p, points, rng, beside=True)))
        rounds.append((BOUNDARY_SIZES, lambda p: search.on_boundaries(p, rng)))
    looks_at_dims = ((d, look) for n, look in rounds for d in islice(draw_dims(inputs, rng, fits, further, least), n))
    for dims, look in looks_at_dims:
        try:
            for candidate in look(search.programs(dims)):
                if not candidate.gap.undefined:
                    return _report(kind, _simplified(_smaller(candidate, search), search) if shrink else candidate)
                if fallback is None or candidate.entries < fallback.entries:
                    is_convincing = not undefined or candidate.on_boundary or search.undefined_around(candidate, rng)
                    fallback = candidate if is_convincing else fallback
        except MalformedRule as error:
            failure = failure or error
    if fallback is not None and undefined:
        return _report(kind, _simplified(fallback, search) if shrink else fallback)
    if failure is not None:
        raise failure
    return None


def witness_at(kind: str, programs: Programs, point: Point, at_least: Fraction) -> WitnessPoint | None:
    """Return a witness at this very point; None if the relative gap of the two sides is below `at_least` there."""
    gap = _gap(kind, programs, point, PRECISION, at_least, loose=True)
    return _report(kind, _Candidate(programs, point, gap)) if gap is not None else None


def _gap(kind: str, programs: Programs, point: Point, precision: int, at_least: Fraction, loose: bool) -> Gap | None:
    """Return the gap at a point; None if there is none, or its relative size is below `at_least`.

    With `loose`, a gap that may come from the rounding of long literals is none either: they are read as balls.
    """
    gap = settled_gap(kind, programs, point, precision)
    if gap is None or not gap.reaches(at_least):
        return None
    if loose and not gap.undefined and programs.long_literals(kind):
        return gap if settled_gap(kind, programs, point, precision, loose=True) is not None else None
    return gap


# a witness for a reader: small dims, then simple numbers


def _smaller(found: _Candidate, search: _Search) -> _Candidate:
    """Return a gap between finite sides at smaller dims, if a few points show one; else the given candidate."""
    for dims in _below(found.programs.dims):
        if not search.fits(dims) or any(n < 1 for argument in search.inputs for n in dims.shape(argument.dims)):
            continue
        try:
            for candidate in search.gaps(
                search.programs(dims), SHRINK_POINTS, seeded(search.name, search.kind, str(dims))
            ):
                if not candidate.gap.undefined:
                    return candidate
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
    """Return a simpler point with a gap, by changing one entry after the other and keeping what leaves a gap.

    Entries of seeds and tangents become 0 or 1 where that works, those of inputs small integers.
    """
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
    """Return the numbers to try in place of a value, the simplest first; none for integers and booleans."""
    if not isinstance(value, Fraction):
        return []
    simple_numbers = [Fraction(0), Fraction(1)] if group != "inputs" else [Fraction(1), Fraction(2), Fraction(-1)]
    if group == "inputs" and value.denominator > 1:
        simple_numbers.append(Fraction(round(value)))
    return simple_numbers[: simple_numbers.index(value)] if value in simple_numbers else simple_numbers


def _rational(point: Point) -> Point | None:
    """Return the point with its inputs as Fractions; None if an entry is a ball."""
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
    """Return the point with each real number of the inputs moved by up to 1/1000, up or down at random."""

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
    """Return the candidate as a witness, with arrays as nested lists by name."""
    programs, point, gap = found.programs, found.point, found.gap
    moving = [programs.inputs[i].name for i in programs.moving]
    relative = gap.relative
    return WitnessPoint(
        kind=kind,
        dims=programs.dims,
        inputs={argument.name: nested(x) for argument, x in zip(programs.inputs, point.inputs, strict=True)},
        tangents={n: nested(x) for n, x in zip(moving, point.tangents, strict=False)},
        seeds={str(i): nested(x) for i, x in zip(programs.floats, point.seeds, strict=False)},
        where=gap.where,
        lhs=gap.lhs,
        rhs=gap.rhs,
        undefined=gap.undefined,
        used_stop_gradient=gap.used_stop_gradient,
        relative_gap="" if relative is None else relative.str(3, radius=False),
    )
