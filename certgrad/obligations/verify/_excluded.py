"""Points that the hypotheses of a claim exclude: where the forward has a derivative there, the rule must give it.

A hypothesis may exclude a point because the function has no derivative there (a kink, a pole, the end of a domain), or
because the rule alone needs it: `prod(x) / x` divides by 0 where the product is smooth. A claim under such a hypothesis
is true, but says nothing of a point at which the rule returns nan although there is a derivative. So rules are
evaluated by balls at points that hypotheses exclude, and a value that is not the derivative refutes them.
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
"""At most this many draws until a point is drawn that a hypothesis excludes."""
_BESIDE = 12
"""How many points are made of one inside all hypotheses by changing an entry to special numbers, and to others."""
_KINKS = 3
"""At a shape, the search ends after this many points without a derivative that tell nothing new."""
_NEAR_ENTRIES = 12
"""Points on boundaries are tried at shapes with at most this many entries."""
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
    """Hypotheses for which some point is known where they alone fail, and the forward has no derivative."""
    smooth: set[Statement] = field(default_factory=set)
    """Hypotheses for which some point is known where they alone fail, and the rule gives the forward's derivative."""


def excluded_look(
    subject: Subject, certificate: Certificate, index: int, places: Iterable[tuple[Shape, Programs]]
) -> Outside:
    """Return the results at points that the hypotheses of a case exclude, up to the first where the rule is wrong.

    Points outside of the declared domain are left out, and those excluded by a hypothesis that bounds an argument
    without a gradient: a label is an index, whatever the forward does with other numbers. A hypothesis that cannot be
    evaluated excludes no point.
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
    """Return a certificate without the hypotheses that are in words or range over an unknown size."""

    def is_evaluable(statement: Statement) -> bool:
        return not any(isinstance(node, Words) or node == UNKNOWN for node in walk(statement))

    def of_case(case: CaseClaim) -> CaseClaim:
        return replace(case, hypotheses=[h for h in case.hypotheses if is_evaluable(h.tree)])

    claims = [replace(claim, cases=[*map(of_case, claim.cases)]) for claim in certificate.claims]
    return replace(certificate, claims=claims)


def look_outside(seen: Outside, at: AtShape, looks: Sequence[Look], rng: Random) -> None:
    """Add to `seen` the results at one shape, up to the first point at which the rule is wrong.

    A point tells something of a hypothesis where that fails alone: `kinked` if the forward has no derivative there,
    `smooth` if it has one and the rule gives it.
    """
    looks = [look for look in looks if look.excluding]
    if not looks:
        return
    kinks = 0
    with s.precision(PRECISION), suppress(UnfitError, BallError):
        for point, claims in _points(at, looks, seen.kinked, rng):
            broken = _statements(claims)
            try:
                if (wrong := _wrong_claim_at(at, claims, point, rng)) is not None:
                    seen.wrong = wrong
                    return
                seen.smooth |= broken if len(broken) == 1 else set()
            except NoDerivative:
                # A hypothesis that fails alone for the first time tells something new.
                kinks += not (len(broken) == 1 and broken - seen.kinked)
                seen.kinked |= broken if len(broken) == 1 else set()
                if kinks == _KINKS:
                    return


@dataclass(frozen=True)
class Look:
    """The hypotheses of one claim whose excluded points are evaluated."""

    kind: str
    domain: Sequence[Condition]
    """Conditions that hold at every point that is tried."""
    excluding: Sequence[tuple[Statement, Question]]
    """Hypotheses of which at least one fails at every point that is tried."""

    def broken(self, at: AtShape, inputs: Sequence[Array]) -> list[Statement]:
        """Return the hypotheses that are certainly false at the point; none if the rule need not be right there.

        It need not be right outside of the domain, nor where the forward itself divides by a count that is 0.
        """
        named = dict(zip(at.asked.names, inputs, strict=True))
        broken_statements = []
        for statement, condition in self.excluding:
            with suppress(Undecided):
                if not at.condition_holds(condition, named):
                    broken_statements.append(statement)
        if not broken_statements or not at.holds(self.domain, inputs):
            return []
        kinds = dict(zip(at.asked.names, at.asked.kinds, strict=True))
        if all(_bounds_a_count(statement, kinds) for statement in broken_statements) and not at.off_boundaries(inputs):
            return []  # the forward divides by the count as well: its author leaves the point out
        return broken_statements


Excluding = Sequence[tuple[Look, list[Statement]]]
"""Claims of which hypotheses exclude a point, each with these hypotheses."""


def _statements(claims: Excluding) -> set[Statement]:
    """Return the hypotheses that exclude a point, of all claims."""
    return {statement for _, failing in claims for statement in failing}


def _points(
    at: AtShape, looks: Sequence[Look], kinked: Set[Statement], rng: Random
) -> Iterator[tuple[Point, Excluding]]:
    """Yield points that hypotheses of some claim exclude, with these claims.

    At a drawn point several hypotheses fail, most often. So if there are several, a point inside all of them comes
    first and is changed in one entry, until a single one fails; points of hypotheses that are already `kinked` (the
    forward has no derivative where they alone fail) are left out. Then follow drawn points and points on boundaries.
    """

    def excluding(inputs: Sequence[Array]) -> Excluding:
        return [(look, failing) for look in looks if (failing := look.broken(at, inputs))]

    several = len({statement for look in looks for statement, _ in look.excluding}) > 1
    inside = at.space.draw(GENERIC, rng, lambda inputs: at.holds(at.asked.all, inputs)) if several else None
    if inside is not None:
        for point in chain(_beside(at, inside, rng), _on_boundaries(at, inside)):
            claims = excluding(point.inputs)
            if len(failing := _statements(claims)) == 1 and not failing & kinked:
                yield point, claims
    for k in DRAWS:
        drawn = at.space.draw(k, rng, lambda inputs: any(look.broken(at, inputs) for look in looks), _TRIES)
        if drawn is None:
            break
        yield drawn, excluding(drawn.inputs)
    start = at.space.draw(GENERIC, rng, lambda inputs: at.holds(looks[0].domain, inputs)) if inside is None else None
    for point in _on_boundaries(at, start) if start is not None else ():
        if claims := excluding(point.inputs):
            yield point, claims


def _beside(at: AtShape, inside: Point, rng: Random) -> Iterator[Point]:
    """Yield the point `inside` with one entry changed, first to special numbers such as 0, then to ordinary ones."""
    entries = [(which, place) for which, x in enumerate(inside.inputs) for place in np.ndindex(x.shape)]
    for style in (DRAWS[0], GENERIC) if entries else ():
        for k in range(_BESIDE):
            drawn_point = at.space.draw(style, rng, lambda _: True)
            if drawn_point is not None:
                which, place = entries[k % len(entries)]
                yield inside.moved(which, place, drawn_point.inputs[which][place])


def _on_boundaries(at: AtShape, start: Point) -> Iterable[Point]:
    """Return points near `start` on boundaries of the programs and hypotheses; none at large shapes."""
    small = sum(np.prod(x, dtype=int) for x in at.space.shapes) <= _NEAR_ENTRIES
    return at.on_boundaries(start) if small else ()


def _wrong_claim_at(at: AtShape, asked: Excluding, point: Point, rng: Random) -> Excluded | None:
    """Return a claim that is wrong at a point that its hypotheses exclude, or None. Raises NoDerivative."""
    for (look, broken), error in zip(asked, _errors(at, [look.kind for look, _ in asked], point, rng), strict=True):
        if error is not None:
            point, error = _simpler(at, look, point, error, rng)
            return Excluded(look.kind, broken[0], at.shape, _witness(at, look.kind, point, error))
    return None


def _errors(at: AtShape, kinds: Sequence[str], point: Point, rng: Random) -> Iterator[Disagreement | None]:
    """Yield, for each claim, how it fails at a point; None where it holds or that is not decided.

    Raises NoDerivative where the forward has no derivative, so that no claim is about the point. That is checked once,
    before the first claim is.
    """
    evaluations: dict[int, At] = {}

    def at_bits(bits: int) -> At:
        return evaluations.setdefault(bits, At(at.programs, point, at.space.moving, bits, {}))

    smooth = False
    for kind in kinds:
        failure = None
        for bits in PRECISIONS[:2]:
            try:
                with s.precision(bits):
                    if not smooth:
                        _smooth(at_bits(bits), at, rng)
                        smooth = True
                    CLAIMS[kind](at_bits(bits))
                    break
            except Undecided:
                continue
            except NoDerivative:
                raise
            except Disagreement as error:
                failure = error if error.sides is not None and error.gap > ROUNDING else None
                break
        yield failure


def _simpler(at: AtShape, look: Look, point: Point, error: Disagreement, rng: Random) -> tuple[Point, Disagreement]:
    """Return a simpler point, with its error: tangents, cotangents and entries become 1 where the claim still fails."""

    def fails(candidate: Point) -> Disagreement | None:
        """Return how the claim fails at another point, if that is excluded and the forward has a derivative there."""
        with suppress(NoDerivative):
            if look.broken(at, candidate.inputs):
                return next(_errors(at, [look.kind], candidate, rng))
        return None

    ones = [[np.full(x.shape, _ONE, dtype=object) for x in group] for group in (point.tangents, point.seeds)]
    if (plain := fails(candidate := Point(point.inputs, *ones))) is not None:
        point, error = candidate, plain
    entries = [(k, place) for k in at.space.moving for place in np.ndindex(point.inputs[k].shape)]
    for k, place in entries[:_SIMPLER]:
        if (
            point.inputs[k][place] not in (0, 1)
            and (plain := fails(candidate := point.moved(k, place, _ONE))) is not None
        ):
            point, error = candidate, plain
    return point, error


def _witness(at: AtShape, kind: str, point: Point, error: Disagreement) -> WitnessPoint:
    """Return a point at which a claim fails as a witness, with the two sides of the failure."""
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
    """Raise NoDerivative unless the forward has a derivative at the point.

    Away from seams a slope along the tangent shows that. At a seam a slope along one direction does not: so slopes
    along a random second direction and along the sum of both are taken as well, and the slope must be additive.
    """
    places = [(k, place) for k, shape in enumerate(at.programs.outputs) for place in np.ndindex(shape)]
    slopes = [derivative(here, k, place) for k, place in places]
    if not any(seam for _, seam in slopes):
        return
    second_direction = [
        np.vectorize(lambda _: fmpq(rng.randint(-64, 64) or 1, 7), otypes=[object])(x) for x in here.point.tangents
    ]
    sums = [x + y for x, y in zip(here.point.tangents, second_direction, strict=True)]
    along, both = (
        At(here.programs, Point(here.point.inputs, dx, here.point.seeds), here.moving, here.precision, {})
        for dx in (second_direction, sums)
    )
    for (k, place), (slope, _) in zip(places, slopes, strict=True):
        added = s.add(slope, derivative(along, k, place)[0])
        try:
            equal(added, derivative(both, k, place)[0], "slopes along directions", loose=True)
        except Disagreement as error:
            raise NoDerivative(str(error)) from None


def _look(subject: Subject, case: Case, kind: str, claim: CaseClaim) -> Look:
    """Return what to try of one claim: which hypotheses exclude points, and which conditions points must satisfy."""
    declared = [question(parse(condition, tuple(case.names))) for condition in subject.domain]
    kinds = dict(zip(case.names, case.kinds, strict=True)) | dict.fromkeys(subject.params, "number")
    domain: list[Condition] = [*declared]
    excluding: list[tuple[Statement, Question]] = []
    for hypothesis in claim.hypotheses:
        as_condition = case.condition(hypothesis)
        if (
            isinstance(as_condition, OffBoundaries)
            or hypothesis.source == "domain"
            or bounds_no_gradient(hypothesis.tree, kinds)
        ):
            domain.append(as_condition)
        else:
            excluding.append((hypothesis.tree, as_condition))
    return Look(kind, domain, excluding)


def bounds_no_gradient(statement: Statement, kinds: Mapping[str, str]) -> bool:
    """Return whether a statement only bounds arguments without a gradient: `labels >= 0`, `ids < v`.

    `kinds` are those of the arguments by name.
    """
    bound = _of_no_gradient(statement, kinds)
    return bound is not None and bound.relation not in ("!=", "=")


def _bounds_a_count(statement: Statement, kinds: Mapping[str, str]) -> bool:
    """Return whether the statement compares with 0 how many booleans are true."""
    bound = _of_no_gradient(statement, kinds)
    if bound is None or bound.right != ZERO or not isinstance(bound.left, Fold) or bound.left.kind != "sum":
        return False
    body = bound.left.body
    return isinstance(body, Truth) or (isinstance(body, Entry) and kinds.get(body.name) == "bool")


def _of_no_gradient(statement: Statement, kinds: Mapping[str, str]) -> Compare | None:
    """Return the comparison in a statement, under its quantifiers, if it names no float argument; else None."""
    while isinstance(statement, ForAll | Where):
        statement = statement.holds if isinstance(statement, ForAll) else statement.then
    if not isinstance(statement, Compare) or any(kinds.get(name) == "float" for name in arrays(statement)):
        return None
    return statement
