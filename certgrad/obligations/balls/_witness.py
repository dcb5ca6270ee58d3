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
class Scope:
    """The points among which a witness is searched for."""

    domain: Domain | None = None
    """Whether a point counts, by the inputs' values; None: every point does."""
    fits: Callable[[Dims], bool] = lambda dims: True
    """Whether dims are allowed."""
    further: Sequence[str] = ()
    """Dims of the rule that no input has."""
    generic: bool = False
    """Whether points on boundaries are left out, so that only rules that are wrong on an open set are found."""
    least: int = 0
    """Arrays of so many entries are never too large."""


@dataclass(frozen=True)
class Criterion:
    """Which differences of the two sides make a witness."""

    undefined: bool = True
    """Whether a side that is nan where the forward is smooth counts, if no gap between finite sides is found, and if a
    side is nan beside the point as well or the point is on a boundary."""
    at_least: Fraction = Fraction(0)
    """The least relative size of a gap; the rounding of a literal makes small ones."""
    loose: bool = False
    """Whether a gap that may come from the rounding of long literals is passed over."""


@dataclass(frozen=True)
class SearchLimits:
    """How much a search tries, and how precisely."""

    shapes: int = DRAWN_SIZES
    points: int = 10
    """Points at each of the shapes."""
    seconds: float = SECONDS
    precision: int = PRECISION
    """The bits of the balls."""
    shrink: bool = True
    """Whether a witness is shown at smaller dims and simpler numbers, for a reader."""


@dataclass(frozen=True)
class _Search:
    """One search of `find_witness`, which says what the fields are; it ends at `deadline`, by this thread's time."""

    kind: str
    programs: ProgramsAt
    inputs: Sequence[Input]
    name: str
    scope: Scope
    criterion: Criterion
    limits: SearchLimits
    deadline: float

    def rounds(self, rng: Random) -> Iterator[tuple[Dims, Callable[[Programs], Iterator[_Candidate]]]]:
        """Yield dims, each with a function that yields the points with a gap at the programs of these dims.

        A clip may act in a thin region that drawn points miss, so that later rounds draw near the programs' own numbers
        and on boundaries, at fewer dims.
        """
        shapes, points = self.limits.shapes, self.limits.points
        yield from ((dims, lambda p: self.gaps(p, points, rng)) for dims in self._dims(shapes, rng))
        if not self.scope.generic:
            fewer = (shapes + 1) // 2
            yield from ((dims, lambda p: self.gaps(p, points, rng, beside=True)) for dims in self._dims(fewer, rng))
            yield from ((dims, lambda p: self.on_boundaries(p, rng)) for dims in self._dims(BOUNDARY_SIZES, rng))

    def _dims(self, count: int, rng: Random) -> Iterator[Dims]:
        """Return so many drawn choices of dims, at most."""
        scope = self.scope
        return islice(draw_dims(self.inputs, rng, scope.fits, scope.further, scope.least), count)

    def gap(self, programs: Programs, point: Point) -> Gap | None:
        """Return the gap at a point that counts by the criterion, or None."""
        return _gap(self.kind, programs, point, self.limits.precision, self.criterion)

    def gaps(self, programs: Programs, points: int, rng: Random, beside: bool = False) -> Iterator[_Candidate]:
        """Yield the drawn points with a gap, of `points` drawn in all.

        With `beside`, they are drawn near the numbers in the programs; none are if the programs hold no numbers.
        """
        numbers = programs.numbers(self.kind) if beside else []
        near_integers = beside and any(argument.kind == "int" for argument in self.inputs)
        integers = programs.integers(self.kind) if near_integers else ()
        if beside and not (numbers or integers):
            return
        scope = self.scope
        for k in range(points):
            if time.thread_time() > self.deadline:
                return
            point = draw_point(
                programs, self.kind, k, rng, scope.domain, scope.generic, numbers, integers, self.deadline
            )
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
            start = draw_point(programs, self.kind, STYLE, rng, self.scope.domain, until=until)
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

    def undefined_around(self, candidate: _Candidate, rng: Random) -> bool:
        """Return whether a side is undefined at a point beside the candidate's as well, and not at single points alone.

        A rule that is undefined at x = 0 alone is no failure of its own: it is right under the hypothesis x ≠ 0, or
        wrong at other points, which the search finds.
        """
        for _ in range(BESIDE):
            point = structured(self.inputs, _perturbed_point(candidate.point, rng))
            gap = self.gap(candidate.programs, point) if self.inside(point) else None
            if gap is not None and gap.undefined:
                return True
        return False

    def inside(self, point: Point) -> bool:
        """Return whether the point's inputs lie in the domain."""
        if self.scope.domain is None:
            return True
        return self.scope.domain(
            {argument.name: nested(x) for argument, x in zip(self.inputs, point.inputs, strict=True)}
        )


def find_witness(
    kind: str,
    rule: Rule | ProgramsAt,
    inputs: Sequence[Input],
    *,
    name: str = "",
    scope: Scope = Scope(),
    criterion: Criterion = Criterion(),
    limits: SearchLimits = SearchLimits(),
) -> WitnessPoint | None:
    """Return a point inside the scope where the two sides of the obligation `kind` differ; None if none is found.

    The search goes through drawn points, then points near numbers in the programs, then points on boundaries of what
    they compare. The first gap between finite sides ends it, and is shown at smaller dims and simpler numbers unless
    `limits` say otherwise. A point where the forward has no derivative is no witness.

    Args:
        kind: the obligation.
        rule: a Rule, or a function of the concrete dims that gives its programs (for an axis that depends on the rank).
        inputs: the inputs of the rule.
        name: seeds the draws: the same call finds the same witness.
        scope: the points among which it is searched for.
        criterion: which differences count.
        limits: how much is tried.

    Raises:
        MalformedRule: the rule does not trace, or returns wrong shapes, at dims that fit (and no witness is elsewhere).
        Unsupported: a primitive without semantics here.
    """
    programs_at = (lambda dims: Programs(rule, inputs, dims)) if isinstance(rule, Rule) else rule
    deadline = time.thread_time() + limits.seconds
    search = _Search(kind, programs_at, tuple(inputs), name, scope, criterion, limits, deadline)
    rng = seeded(name, kind)
    fallback: _Candidate | None = None  # a point with an undefined side: a witness only if no finite gap is found
    failure: MalformedRule | None = None
    for dims, candidates in search.rounds(rng):
        try:
            for candidate in candidates(search.programs(dims)):
                if not candidate.gap.undefined:
                    return _report(
                        kind, _simplified(_smaller(candidate, search), search) if limits.shrink else candidate
                    )
                if fallback is None or candidate.entries < fallback.entries:
                    if not criterion.undefined or candidate.on_boundary or search.undefined_around(candidate, rng):
                        fallback = candidate
        except MalformedRule as error:
            failure = failure or error
    if fallback is not None and criterion.undefined:
        return _report(kind, _simplified(fallback, search) if limits.shrink else fallback)
    if failure is not None:
        raise failure
    return None


def witness_at(kind: str, programs: Programs, point: Point, at_least: Fraction) -> WitnessPoint | None:
    """Return a witness at this very point; None if the relative gap of the two sides is below `at_least` there."""
    gap = _gap(kind, programs, point, PRECISION, Criterion(at_least=at_least, loose=True))
    return _report(kind, _Candidate(programs, point, gap)) if gap is not None else None


def _gap(kind: str, programs: Programs, point: Point, precision: int, criterion: Criterion) -> Gap | None:
    """Return the gap at a point, also an undefined one; None if there is none, or it is too small by the criterion.

    With `loose`, long literals are read as balls: a gap that may come from their rounding is none either.
    """
    gap = settled_gap(kind, programs, point, precision)
    if gap is None or not gap.reaches(criterion.at_least):
        return None
    if criterion.loose and not gap.undefined and programs.long_literals(kind):
        return gap if settled_gap(kind, programs, point, precision, loose=True) is not None else None
    return gap


# a witness for a reader: small dims, then simple numbers


def _smaller(candidate: _Candidate, search: _Search) -> _Candidate:
    """Return a gap between finite sides at smaller dims, if a few points show one; else the given candidate."""
    for dims in _below(candidate.programs.dims):
        if not search.scope.fits(dims) or any(n < 1 for argument in search.inputs for n in dims.shape(argument.dims)):
            continue
        try:
            rng = seeded(search.name, search.kind, str(dims))
            for smaller in search.gaps(search.programs(dims), SHRINK_POINTS, rng):
                if not smaller.gap.undefined:
                    return smaller
        except MalformedRule:
            continue
    return candidate


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
