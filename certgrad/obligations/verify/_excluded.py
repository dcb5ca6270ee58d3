"""Points that the hypotheses of a claim exclude: where the forward has a derivative there, the rule must give it.

A hypothesis may exclude a point because the function has no derivative there (a kink, a pole, the end of a domain), or
because the rule alone needs it: `prod(x) / x` divides by 0 where the product is smooth. The claim holds of the second
kind of rule as well, and says nothing of the point at which it returns nan. So the rule is evaluated at such points, by
balls, and a value that is not the derivative refutes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from flint import fmpq
from msgspec.structs import replace

from certgrad._subject import OF_REFERENCE, Subject
from certgrad.jaxpr.at_shapes import Programs
from certgrad.language.arithmetic import UnfitError
from certgrad.language.parse import parse
from certgrad.language.text import text
from certgrad.language.tree import (
    UNKNOWN,
    ZERO,
    Compare,
    Entry,
    Fold,
    ForAll,
    OffBoundaries,
    Statement,
    Truth,
    Where,
    Words,
    arrays,
    walk,
)
from certgrad.obligations.balls import Dims, WitnessPoint
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import SCHEDULE, seeded
from certgrad.obligations.balls._errors import BallError, Undecided
from certgrad.obligations.balls._evaluate import PRECISION
from certgrad.obligations.balls._values import Array
from certgrad.obligations.balls.statements import question
from certgrad.obligations.certificate import CaseClaim, Certificate
from certgrad.obligations.verify._agreement import CLAIMS, PRECISIONS, At, Disagreement, NoDerivative, derivative, equal
from certgrad.obligations.verify._case import ROUNDING, AtShape, Case, Condition, NotCheckedError
from certgrad.obligations.verify._points import GENERIC, Point
from certgrad.signatures.cases import Shape

if TYPE_CHECKING:
    from certgrad.language.evaluate import Question

DRAWS = (*[SCHEDULE.index("special")] * 4, SCHEDULE.index("equal"))
"""The points that are drawn at each shape: entries are often 0 or equal, as hypotheses exclude them."""
_TRIES = 40
"""At most this many draws of a point until a hypothesis excludes one."""
_BESIDE = 12
"""Points beside one inside of all hypotheses, with special numbers and with others."""
_KINKS = 2
"""Points without a derivative, at most, beside the first one for each hypothesis."""
_NEAR_ENTRIES = 12
"""The zeros of what a hypothesis compares are met exactly at shapes with at most so many entries."""
_SIMPLER = 24
"""At most this many entries of a witness are tried as 1."""
_ONE = fmpq(1)


@dataclass(frozen=True)
class Excluded:
    """A point at which the forward has a derivative and the rule returns something else."""

    kind: str
    statement: Statement
    """A hypothesis that does not hold at the point."""
    shape: Shape
    witness: WitnessPoint

    def __str__(self) -> str:
        rule = "is undefined" if self.witness.undefined else "returns another value"
        needed = text(self.statement)
        return f"the rule alone needs {needed}: at the witness the function has a derivative, and the rule {rule}"


@dataclass
class Outside:
    """The results at points that the hypotheses of a case exclude."""

    wrong: Excluded | None = None
    kinked: set[Statement] = field(default_factory=set)
    """Hypotheses outside of which the forward has no derivative, at some point where no other one fails."""
    smooth: set[Statement] = field(default_factory=set)
    """Those outside of which it has one, at some such point, and the rule gives it."""


def excluded_look(
    subject: Subject, certificate: Certificate, index: int, places: Iterable[tuple[Shape, Programs]]
) -> Outside:
    """Return the results at points that the hypotheses of a case exclude, up to the first one at which the rule is
    wrong.

    Points outside of the declared domain are not looked at, nor those that a hypothesis excludes which bounds an
    argument without a gradient: a label is an index, whatever the forward does with another number. What cannot
    be evaluated excludes no point either: that something is finite, say, which shows in the forward's value.
    """
    outside = Outside()
    certificate = _with_evaluable_hypotheses(certificate)
    with s.precision(PRECISION):
        try:
            case = Case(subject, subject.cases[index], certificate, index)
            looks = [_look(subject, case, c.kind, c.cases[index]) for c in certificate.claims if c.kind != OF_REFERENCE]
        except (NotCheckedError, UnfitError, BallError):
            return outside
    rng = seeded(case.digest, "excluded")
    for shape, programs in places if any(look.excluding for look in looks) else ():
        if outside.wrong is None:
            look_outside(outside, AtShape(case, shape, programs), looks, rng)
    return outside


def _with_evaluable_hypotheses(certificate: Certificate) -> Certificate:
    """Return a certificate without the hypotheses that are said in words, or of places that nothing counts."""

    def is_evaluable(statement: Statement) -> bool:
        return not any(isinstance(node, Words) or node == UNKNOWN for node in walk(statement))

    def of_case(case: CaseClaim) -> CaseClaim:
        return replace(case, hypotheses=[h for h in case.hypotheses if is_evaluable(h.tree)])

    claims = [replace(claim, cases=[*map(of_case, claim.cases)]) for claim in certificate.claims]
    return replace(certificate, claims=claims)


def look_outside(seen: Outside, at: AtShape, looks: Sequence[Look], rng: Random) -> None:
    """Add the results at one shape, up to the first point at which the rule is wrong."""
    looks = [look for look in looks if look.excluding]
    if not looks:
        return
    kinks = 0
    with s.precision(PRECISION), suppress(UnfitError, BallError):
        for point in _points(at, looks, seen.kinked, rng):
            asked = [(look, failing) for look in looks if (failing := look.broken(at, point.inputs))]
            broken = {statement for _, failing in asked for statement in failing}
            try:
                if (wrong := _wrong_claim_at(at, asked, point, rng)) is not None:
                    seen.wrong = wrong
                    return
                seen.smooth |= broken if len(broken) == 1 else set()
            except NoDerivative:
                kinks += not (len(broken) == 1 and broken - seen.kinked)  # such a one tells something new
                seen.kinked |= broken if len(broken) == 1 else set()
                if kinks == _KINKS:
                    return


@dataclass(frozen=True)
class Look:
    """The hypotheses of one claim whose excluded points are evaluated."""

    kind: str
    domain: Sequence[Condition]
    """What holds at every point that is looked at."""
    excluding: Sequence[tuple[Statement, Question]]
    """The hypotheses one of which does not hold there."""

    def broken(self, at: AtShape, inputs: Sequence[Array]) -> list[Statement]:
        """Return the hypotheses that are certainly false at the point, if it is one to evaluate."""
        named = dict(zip(at.asked.names, inputs, strict=True))
        found = []
        for statement, asked in self.excluding:
            with suppress(Undecided):
                if not at.condition_holds(asked, named):
                    found.append(statement)
        if not found or not at.holds(self.domain, inputs):
            return []
        kinds = dict(zip(at.asked.names, at.asked.kinds, strict=True))
        if all(_bounds_a_count(statement, kinds) for statement in found) and not at.off_boundaries(inputs):
            return []  # the forward divides by the count as well: its author leaves the point out
        return found


Excluding = Sequence[tuple[Look, list[Statement]]]
"""The claims whose hypotheses exclude a point, each with those that do."""


def _points(at: AtShape, looks: Sequence[Look], kinked: Set[Statement], rng: Random) -> Iterator[Point]:
    """Yield points that hypotheses of some claim exclude; where there are several, first those that one alone does.

    Of a point that is drawn most often several hypotheses fail: one that fails alone does so beside a point inside of
    all. None of these follows for a hypothesis that is `kinked` by then.
    """

    def broken(point: Point) -> set[Statement]:
        return {statement for look in looks for statement in look.broken(at, point.inputs)}

    several = len({statement for look in looks for statement, _ in look.excluding}) > 1
    inside = at.space.draw(GENERIC, rng, lambda x: at.holds(at.asked.all, x)) if several else None
    for beside in chain(_beside(at, inside, rng), _on_boundaries(at, inside)) if inside is not None else ():
        if len(failing := broken(beside)) == 1 and not failing & kinked:
            yield beside
    for k in DRAWS:
        drawn = at.space.draw(k, rng, lambda inputs: any(look.broken(at, inputs) for look in looks), _TRIES)
        if drawn is None:
            break
        yield drawn
    start = at.space.draw(GENERIC, rng, lambda x: at.holds(looks[0].domain, x)) if inside is None else None
    yield from filter(broken, _on_boundaries(at, start)) if start is not None else ()


def _beside(at: AtShape, inside: Point, rng: Random) -> Iterator[Point]:
    """Yield points with one entry changed, to a special number or another one."""
    entries = [(which, place) for which, x in enumerate(inside.inputs) for place in np.ndindex(x.shape)]
    for style in (DRAWS[0], GENERIC) if entries else ():
        for k in range(_BESIDE):
            other = at.space.draw(style, rng, lambda _: True)
            if other is not None:
                which, place = entries[k % len(entries)]
                yield inside.moved(which, place, other.inputs[which][place])


def _on_boundaries(at: AtShape, start: Point) -> Iterable[Point]:
    small = sum(np.prod(x, dtype=int) for x in at.space.shapes) <= _NEAR_ENTRIES
    return at.on_boundaries(start) if small else ()


def _wrong_claim_at(at: AtShape, asked: Excluding, point: Point, rng: Random) -> Excluded | None:
    """A claim that is wrong at a point that its hypotheses exclude. Raises NoDerivative, as `_errors` does."""
    for (look, broken), error in zip(asked, _errors(at, [look.kind for look, _ in asked], point, rng), strict=True):
        if error is not None:
            point, error = _simpler(at, look, point, error, rng)
            return Excluded(look.kind, broken[0], at.shape, _witness(at, look.kind, point, error))
    return None


def _errors(at: AtShape, kinds: Sequence[str], point: Point, rng: Random) -> Iterator[Disagreement | None]:
    """Yield, for each claim, how it fails at a point; None where it holds or that is not decided.

    Raises NoDerivative where the forward has none, so that no claim is about the point.
    """
    known: dict[int, At] = {}

    def here(bits: int) -> At:
        return known.setdefault(bits, At(at.programs, point, at.space.moving, bits, {}))

    smooth = False
    for kind in kinds:
        found = None
        for bits in PRECISIONS[:2]:
            try:
                with s.precision(bits):
                    if not smooth:
                        _smooth(here(bits), at, rng)
                        smooth = True
                    CLAIMS[kind](here(bits))
                    break
            except Undecided:
                continue
            except NoDerivative:
                raise
            except Disagreement as error:
                found = error if error.sides is not None and error.gap > ROUNDING else None
                break
        yield found


def _simpler(at: AtShape, look: Look, point: Point, error: Disagreement, rng: Random) -> tuple[Point, Disagreement]:
    """The point for a reader: tangents, cotangents and entries of 1, as far as the claim fails with them as well."""

    def fails(other: Point) -> Disagreement | None:
        with suppress(NoDerivative):
            if look.broken(at, other.inputs):
                return next(_errors(at, [look.kind], other, rng))
        return None

    ones = [[np.full(x.shape, _ONE, dtype=object) for x in group] for group in (point.tangents, point.seeds)]
    if (plain := fails(other := Point(point.inputs, *ones))) is not None:
        point, error = other, plain
    entries = [(k, place) for k in at.space.moving for place in np.ndindex(point.inputs[k].shape)]
    for k, place in entries[:_SIMPLER]:
        if point.inputs[k][place] not in (0, 1) and (plain := fails(other := point.moved(k, place, _ONE))) is not None:
            point, error = other, plain
    return point, error


def _witness(at: AtShape, kind: str, point: Point, error: Disagreement) -> WitnessPoint:
    assert error.sides is not None
    names, moving = at.asked.names, at.space.moving
    return WitnessPoint(
        kind=kind,
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
    """Check that the forward has a derivative along the tangent, and at a seam also along others, and is linear there.

    Raises NoDerivative.
    """
    places = [(k, place) for k, shape in enumerate(at.programs.outputs) for place in np.ndindex(shape)]
    slopes = [derivative(here, k, place) for k, place in places]
    if not any(seam for _, seam in slopes):
        return
    others = [
        np.vectorize(lambda _: fmpq(rng.randint(-64, 64) or 1, 7), otypes=[object])(x) for x in here.point.tangents
    ]
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


def _look(subject: Subject, case: Case, kind: str, claim: CaseClaim) -> Look:
    """Return the hypotheses of one claim whose excluded points are evaluated."""
    declared = [question(parse(condition, tuple(case.names))) for condition in subject.domain]
    kinds = dict(zip(case.names, case.kinds, strict=True)) | dict.fromkeys(subject.params, "number")
    domain: list[Condition] = [*declared]
    excluding: list[tuple[Statement, Question]] = []
    for hypothesis in claim.hypotheses:
        asked = case.condition(hypothesis)
        if (
            isinstance(asked, OffBoundaries)
            or hypothesis.source == "domain"
            or bounds_no_gradient(hypothesis.tree, kinds)
        ):
            domain.append(asked)
        else:
            excluding.append((hypothesis.tree, asked))
    return Look(kind, domain, excluding)


def bounds_no_gradient(statement: Statement, kinds: Mapping[str, str]) -> bool:
    """The statement only bounds arguments without a gradient: `labels >= 0`, `ids < v`. `kinds` are those of the
    arguments by name."""
    bound = _of_no_gradient(statement, kinds)
    return bound is not None and bound.relation not in ("!=", "=")


def _bounds_a_count(statement: Statement, kinds: Mapping[str, str]) -> bool:
    """Return whether the statement says that a number of booleans that are true is not 0."""
    bound = _of_no_gradient(statement, kinds)
    if bound is None or bound.right != ZERO or not isinstance(bound.left, Fold) or bound.left.kind != "sum":
        return False
    body = bound.left.body
    return isinstance(body, Truth) or (isinstance(body, Entry) and kinds.get(body.name) == "bool")


def _of_no_gradient(statement: Statement, kinds: Mapping[str, str]) -> Compare | None:
    """Return the comparison in a statement, if all of its arguments are without a gradient."""
    while isinstance(statement, ForAll | Where):
        statement = statement.holds if isinstance(statement, ForAll) else statement.then
    if not isinstance(statement, Compare) or any(kinds.get(name) == "float" for name in arrays(statement)):
        return None
    return statement
