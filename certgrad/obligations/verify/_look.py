"""The last look at a rule before it is called proved: both sides are evaluated at points inside the listed hypotheses.

The calculus has no part in it: programs that are traced at numbers run on balls, and hypotheses are read back from the
certificate. A failure is a defect of the proof, or of the hypotheses that it lists. The lack of one proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from math import inf
from random import Random

import msgspec

from certgrad._subject import Subject
from certgrad.jaxpr.at_shapes import DoesNotTraceError, Programs, traced
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import seeded
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._evaluate import PRECISION
from certgrad.obligations.balls._readings import Run
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.verify._case import ROUNDING, AtShape, Case, NotCheckedError, PointClaims
from certgrad.signatures.cases import Case as SubjectCase
from certgrad.signatures.cases import Shape
from certgrad.signatures.schedule import all_ones_shape, shapes

DRAWS = 2
"""Points drawn inside the hypotheses at each shape. One point anywhere and points on boundaries come on top."""


def last_look(
    subject: Subject,
    certificate: Certificate,
    index: int,
    places: Iterable[tuple[Shape, Programs]],
    until: float = inf,
) -> tuple[str, str] | None:
    """Return the kind of an obligation that fails inside its own hypotheses, and where and how; None if none is found.

    Nothing is found where a hypothesis is in words alone or the balls do not know a primitive.

    Args:
        subject: the rule that the certificate is about.
        certificate: claims that hold.
        index: the number of the case.
        places: concrete shapes of the case with its programs there.
        until: the thread's processor time after which no evaluation begins.
    """
    with s.precision(PRECISION):
        try:
            case = Case(subject, subject.cases[index], certificate, index)
        except (NotCheckedError, UnfitError, BallError):
            return None
    case.until = until
    if subject.is_op:
        case.sides = 0  # for ops, `certgrad verify` goes through the other sides of comparisons
    rng = seeded(case.digest, "a last look")
    for k, (shape, programs) in enumerate(places):
        if (failure := failing(case, shape, programs, range(k * DRAWS, (k + 1) * DRAWS), rng)) is not None:
            return failure
    return None


def ordinary_runs(
    subject: Subject, certificate: Certificate, index: int, places: Iterable[tuple[Shape, Programs]]
) -> Iterator[Run]:
    """Yield the programs of a case at each shape, with arguments at one point without coincidences.

    The point is inside the case's hypotheses if they can be evaluated and such a point is drawn, else anywhere.
    """
    with s.precision(PRECISION):
        try:
            case = Case(subject, subject.cases[index], certificate, index)
        except (NotCheckedError, UnfitError, BallError):
            case = Case(subject, subject.cases[index], msgspec.structs.replace(certificate, claims=[]), index)
    rng = seeded(case.digest, "literals")
    for shape, programs in places:
        with s.precision(PRECISION):
            at_shape = AtShape(case, shape, programs)
            point = at_shape.ordinary(rng)
        yield from at_shape.runs(point) if point is not None else ()


def failing(
    asked: PointClaims, shape: Shape, programs: Programs, draws: Sequence[int], rng: Random
) -> tuple[str, str] | None:
    """Return the kind of a claim that fails inside its hypotheses at a shape, and where and how; None if none does."""
    with s.precision(PRECISION), suppress(UnfitError, BallError):
        at_shape = AtShape(asked, shape, programs)
        for point, _ in at_shape.points(draws, rng):
            if (failure := at_shape.disagreement(point, 0 if asked.exact else ROUNDING)) is not None:
                return failure
    return None


def first_shape(subject: Subject, index: int) -> Iterator[tuple[Shape, Programs]]:
    """Yield the first shape of a case at which its functions trace, with the programs; nothing if there is none."""
    case = subject.cases[index]
    drawn = shapes(subject, case, seeded(subject.name, "a last look"), 0)
    yield from islice(_traced(subject, case, drawn), 1)


def least_shape(subject: Subject, index: int) -> Iterator[tuple[Shape, Programs]]:
    """Yield the shape with all sizes 1 (ranges such as n − 1 are empty there), with the programs, if they trace."""
    case = subject.cases[index]
    if case.names and not subject.broadcast:
        yield from _traced(subject, case, [all_ones_shape(case)])


def _traced(subject: Subject, case: SubjectCase, at: Iterable[Shape]) -> Iterator[tuple[Shape, Programs]]:
    """Yield the shapes at which the functions trace, with the programs there."""
    kinds = [spec.dtype for spec in case.signature.inputs]
    for shape in at:
        with suppress(DoesNotTraceError):
            yield shape, traced(subject, case.keywords(shape.ranks, shape.sizes), shape.inputs, kinds)
