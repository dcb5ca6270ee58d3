"""Points that the hypotheses of a claim exclude: where the forward has a derivative there, the rule must give it.

A hypothesis may exclude a point because the function has no derivative there (a kink, a pole, the end of a domain), or
because the rule alone needs it: `prod(x) / x` divides by 0 where the product is smooth. The claim holds of the second
kind of rule as well, and says nothing of the point at which it returns nan. So the rule is evaluated at such points, by
balls, and a value that is not the derivative refutes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from flint import fmpq

from certgrad._subject import Subject
from certgrad.hypotheses.arithmetic import UnfitError
from certgrad.hypotheses.parse import parse
from certgrad.hypotheses.tree import Compare, ForAll, OffBoundaries, Statement, Where, arrays
from certgrad.obligations.balls import Dims, WitnessPoint
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import SCHEDULE, seeded
from certgrad.obligations.balls._errors import BallError, Undecided
from certgrad.obligations.balls._evaluate import PRECISION
from certgrad.obligations.balls._values import Array
from certgrad.obligations.balls.statements import question
from certgrad.obligations.certificate import Certificate, Hypothesis
from certgrad.obligations.verify._agreement import CLAIMS, PRECISIONS, At, Disagreement, NoDerivative, derivative, equal
from certgrad.obligations.verify._case import ROUNDING, AtShape, Case, NotCheckedError
from certgrad.obligations.verify._points import GENERIC, Point, on_boundaries
from certgrad.obligations.verify._programs import Programs
from certgrad.obligations.verify._shapes import Shape

DRAWS = (*[SCHEDULE.index("special")] * 6, *[SCHEDULE.index("equal")] * 2)
"""The points that are drawn at each shape: entries are often 0 or equal, as hypotheses exclude them."""
_TRIES = 40
"""How often a point is drawn again until a hypothesis excludes it."""
_NEAR_ENTRIES = 5
"""The zeros of what a hypothesis compares are met exactly at shapes with at most so many entries."""


@dataclass(frozen=True)
class Excluded:
    """A point at which the forward has a derivative and the rule returns something else."""

    kind: str
    hypothesis: Hypothesis
    """One that does not hold at the point."""
    shape: Shape
    witness: WitnessPoint


def excluded_look(
    subject: Subject, certificate: Certificate, index: int, places: Iterable[tuple[Shape, Programs]]
) -> Excluded | None:
    """The first point that the hypotheses of a case exclude, where the rule is wrong all the same; None if none is met.

    Points outside of the declared domain are not looked at, nor those that a hypothesis excludes which bounds an
    argument without a gradient: a label is an index, whatever the forward does with another number.
    """
    with s.precision(PRECISION):
        try:
            case = Case(subject, subject.cases[index], certificate, index)
            looks = [
                look for claim in certificate.claims if (look := _look(subject, case, claim.kind, claim.cases[index]))
            ]
        except (NotCheckedError, UnfitError, BallError):
            return None
    if not looks:
        return None
    rng = seeded(case.digest, "excluded")
    for shape, programs in places:
        at = AtShape(case, shape, programs)
        for look in looks:
            with s.precision(PRECISION), suppress(UnfitError, BallError):
                if (found := look.at(at, rng)) is not None:
                    return found
    return None


@dataclass(frozen=True)
class _Look:
    kind: str
    domain: Sequence[Any]
    """What holds at every point that is looked at."""
    excluding: Sequence[tuple[Hypothesis, Any]]
    """The hypotheses one of which does not hold there."""

    def at(self, at: AtShape, rng: Random) -> Excluded | None:
        """A wrong value of the rule at an excluded point of a shape."""
        for point in self._points(at, rng):
            with suppress(Undecided, NoDerivative):
                if (error := self._disagreement(at, point, rng)) is not None:
                    broken = self._broken(at, point.inputs)
                    assert broken is not None
                    point, error = self._simpler(at, point, error, rng)
                    return Excluded(self.kind, broken, at.shape, self._witness(at, point, error))
        return None

    def _points(self, at: AtShape, rng: Random) -> Iterator[Point]:
        def excluded(inputs: list[Array]) -> bool:
            return at.holds(self.domain, inputs) and self._broken(at, inputs) is not None

        for k in DRAWS:
            point = at.space.draw(k, rng, excluded, _TRIES)
            if point is None:
                break
            yield point
        if sum(np.prod(x, dtype=int) for x in at.space.shapes) <= _NEAR_ENTRIES:
            start = at.space.draw(GENERIC, rng, lambda inputs: at.holds(self.domain, inputs))
            for point in on_boundaries(start, at.space, at.watched) if start is not None else ():
                if excluded(point.inputs):
                    yield point

    def _broken(self, at: AtShape, inputs: Sequence[Array]) -> Hypothesis | None:
        """A hypothesis that is certainly false at the point."""
        named = dict(zip(at.asked.names, inputs, strict=True))
        for hypothesis, asked in self.excluding:
            with suppress(Undecided):
                if not at.one(asked, named):
                    return hypothesis
        return None

    def _disagreement(self, at: AtShape, point: Point, rng: Random) -> Disagreement | None:
        """How the claim fails at the point; None where it holds.

        Raises:
            NoDerivative: the forward has none, so that the claim says nothing.
            Undecided: no precision tells.
        """
        last: Undecided | None = None
        for bits in PRECISIONS:
            here = At(at.programs, point, at.space.moving, bits, {})
            with s.precision(bits):
                try:
                    _smooth(here, at, rng)
                    CLAIMS[self.kind](here)
                    return None
                except Undecided as error:
                    last = error
                except NoDerivative:
                    raise
                except Disagreement as error:
                    return error if error.sides is not None and error.gap > ROUNDING else None
        assert last is not None
        raise last

    def _simpler(self, at: AtShape, point: Point, error: Disagreement, rng: Random) -> tuple[Point, Disagreement]:
        """The point with tangents and cotangents of 1, for a reader, where the claim fails with them as well."""
        ones = [[np.full(x.shape, fmpq(1), dtype=object) for x in group] for group in (point.tangents, point.seeds)]
        plain = Point(point.inputs, *ones)
        with suppress(Undecided, NoDerivative):
            other = self._disagreement(at, plain, rng)
            return (plain, other) if other is not None else (point, error)
        return point, error

    def _witness(self, at: AtShape, point: Point, error: Disagreement) -> WitnessPoint:
        assert error.sides is not None
        names, moving = at.asked.names, at.space.moving
        return WitnessPoint(
            kind=self.kind,
            dims=Dims(at.shape.sizes, at.shape.groups),
            inputs={name: x.tolist() for name, x in zip(names, point.inputs, strict=True)},
            tangents={names[i]: x.tolist() for i, x in zip(moving, point.tangents, strict=True)},
            seeds={str(k): x.tolist() for k, x in enumerate(point.seeds)},
            where=error.where,
            lhs=error.sides[0],
            rhs=error.sides[1],
            undefined=not all(map(s.finite, error.sides)),
            used_stop_gradient=False,
            relative_gap="" if error.gap == float("inf") else f"{error.gap:.3g}",
        )


def _smooth(here: At, at: AtShape, rng: Random) -> None:
    """The forward has a derivative along the tangent, and where that is a limit at a seam, one along others, linearly.

    Raises:
        NoDerivative: it does not.
    """
    places = [(k, place) for k, shape in enumerate(at.programs.outputs) for place in np.ndindex(shape)]
    slopes = [derivative(here, k, place) for k, place in places]
    if not any(seam for _, seam in slopes):
        return
    others = [np.vectorize(lambda _: fmpq(rng.randint(-64, 64) or 1, 7), otypes=[object])(x) for x in here.point.tangents]
    sums = [x + y for x, y in zip(here.point.tangents, others, strict=True)]
    along, both = (
        At(here.programs, Point(here.point.inputs, dx, here.point.seeds), here.moving, here.precision, {})
        for dx in (others, sums)
    )
    for (k, place), (slope, _) in zip(places, slopes, strict=True):
        added = s.add(slope, derivative(along, k, place)[0])
        try:
            equal(added, derivative(both, k, place)[0], "slopes along directions", loose=True)
        except Disagreement as error:
            raise NoDerivative(str(error)) from None


def _look(subject: Subject, case: Case, kind: str, claim: Any) -> _Look | None:
    """What is looked at for one claim of a case; None where no hypothesis of it excludes a point of the domain."""
    declared = [question(parse(text, tuple(case.names))) for text in subject.domain]
    moving = {name for name, dtype in zip(case.names, case.kinds, strict=True) if dtype == "float"} - set(subject.params)
    domain, excluding = list(declared), []
    for hypothesis in claim.hypotheses:
        asked = case.condition(hypothesis)
        if isinstance(asked, OffBoundaries) or hypothesis.source == "domain" or bounds_no_gradient(hypothesis.tree, moving):
            domain.append(asked)
        else:
            excluding.append((hypothesis, asked))
    return _Look(kind, domain, excluding) if excluding else None


def bounds_no_gradient(statement: Statement, moving: set[str]) -> bool:
    """The statement only bounds arguments that have no gradient: `labels >= 0`, `ids < v`."""
    while isinstance(statement, ForAll | Where):
        statement = statement.holds if isinstance(statement, ForAll) else statement.then
    bound = isinstance(statement, Compare) and statement.relation not in ("!=", "=")
    return bound and not arrays(statement) & moving
