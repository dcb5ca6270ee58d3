"""One case of an op: its hypotheses, the points at which its claims are evaluated, and the results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf, prod
from time import thread_time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from certgrad import language
from certgrad._subject import Subject
from certgrad.jaxpr.at_shapes import Programs, traced
from certgrad.language.arithmetic import UnfitError
from certgrad.language.tree import OffBoundaries, Statement
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import on_boundaries, seeded
from certgrad.obligations.balls._errors import BallError, OutOfTime, Undecided, Unsupported
from certgrad.obligations.balls._evaluate import PRECISION, evaluate, needed_equations, watched_distances
from certgrad.obligations.balls._readings import Run
from certgrad.obligations.balls._values import Array
from certgrad.obligations.balls.statements import compared_with, question
from certgrad.obligations.certificate import Certificate, Hypothesis
from certgrad.obligations.verify._agreement import CLAIMS, PRECISIONS, At, Disagreement, Tied, Unbounded
from certgrad.obligations.verify._points import (
    GENERIC,
    WITHOUT_COINCIDENCES,
    Point,
    Space,
    coincides,
    collapsed,
)
from certgrad.obligations.verify._sides import on_other_sides
from certgrad.signatures.cases import Case as SubjectCase
from certgrad.signatures.cases import Shape
from certgrad.signatures.schedule import entries, shapes
from certgrad.signatures.sizes import Star

if TYPE_CHECKING:
    from certgrad import exact
    from certgrad.language.evaluate import Question

TIED = "tied"
"""Said of a claim that stays undecided at a point: irrational numbers of the forward are tied all around the point, so
that no precision decides their comparison. The tie is in the forward, and not in a rule."""
ROUNDING = 1e-12
"""At concrete sizes Python computes `d ** -0.5` in floats, in users' code: a smaller gap may be that rounding."""
_SMALL = 5
"""Points on boundaries are tried at shapes with at most this many entries, and at two such shapes alone."""
ENTRIES, AT_POINT, POINTS, SPECIAL, LARGEST = 1_000, 10_000, 2, 0, 2
"""Limits of exact evaluation in a second check: entries in all, entries at a point, points, special points, sizes."""
_FEW = 16
"""Points on other sides of comparisons are tried at shapes with at most this many entries, at two such shapes."""


class NotCheckedError(Exception):
    """The case is beyond this check. No verdict either way."""


@dataclass
class Counts:
    """What was evaluated: how many shapes, points and points on boundaries, and undecided claims at points."""

    shapes: int = 0
    points: int = 0
    boundary: int = 0
    undecided: int = 0
    exact: list[exact.Result] = field(default_factory=list)
    """The result of exact evaluation for each case."""


Condition: TypeAlias = "Question | OffBoundaries"


class PointClaims:
    """Claims to be checked at points, each under its hypotheses, about named arguments.

    `hypotheses` holds the conditions of each claim by its kind, `constraints` those of the parameters, `told` integers
    that are drawn for each argument. `open` are the claims that are still asked, and `answered` those that held at some
    point. `boundaries` and `sides` count the shapes at which points on boundaries, and on other sides of comparisons,
    are still tried.
    """

    parameters = 0
    """How many of the arguments, the last ones, are parameters."""
    broadcast = False
    """Whether arguments broadcast against each other."""
    exact = False
    """Whether every gap counts; else one that rounding in users' code may make (`ROUNDING`) does not."""
    until = inf
    """The thread's processor time after which no evaluation begins."""

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        kinds: tuple[str, ...],
        hypotheses: Mapping[str, Sequence[Condition]],
        constraints: Sequence[Condition] = (),
        told: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self.name, self.names, self.kinds, self.told = name, names, kinds, told
        self.hypotheses, self.constraints = hypotheses, constraints
        self.all = list(dict.fromkeys(f for formulas in hypotheses.values() for f in formulas))
        self.open = set(hypotheses)
        self.answered: set[str] = set()
        self.boundaries, self.sides = 2, 2

    def in_time(self) -> None:
        """Raise OutOfTime if the time for evaluations is over (`until`)."""
        if thread_time() > self.until:
            raise OutOfTime

    def axes(self, shape: Shape) -> dict[str, tuple[int, ...]]:
        """Return, by argument, the axes as statements count them, if they are not those of the array itself."""
        return {}


class Case(PointClaims):
    """One case of the op with the certificate's claims about it."""

    def __init__(
        self, op: Subject, case: SubjectCase, certificate: Certificate, index: int, symbols: Any = None
    ) -> None:
        """Read the hypotheses and the domain of one case of a certificate, for the points at which it is checked."""
        self.op, self.case, self.symbols = op, case, symbols
        names = [*op.arg_names, *op.params]
        kinds = (*(spec.dtype for spec in case.signature.inputs), *("float" for _ in op.params))
        numbers = tuple(
            compared_with(op.domain, names, name) if kind == "int" else ()
            for name, kind in zip(names, kinds, strict=True)
        )
        constraints = [question(language.parse.parse(text, tuple(op.params))) for text in op.params.values() if text]
        # Programs see to granted hypotheses themselves, such as that an argument is symmetric.
        granted = {*op.granted.values()}
        hypotheses: dict[str, list[Condition]] = {
            claim.kind: [self.condition(h) for h in claim.cases[index].hypotheses if h.tree not in granted]
            for claim in certificate.claims
        }
        super().__init__(op.name, names, kinds, hypotheses, constraints, numbers)
        self.statements = dict.fromkeys(h.tree for claim in certificate.claims for h in claim.cases[index].hypotheses)
        self.digest = certificate.traced[index].digest
        self.parameters, self.broadcast, self.exact = len(op.params), op.broadcast, op.is_op
        self._known: dict[Any, Programs] = {}

    def axes(self, shape: Shape) -> dict[str, tuple[int, ...]]:
        """Return, by array, its axes at a shape, each star group as one axis."""
        if self.broadcast:
            return {}
        return {
            name: tuple(
                prod(shape.groups[d.name]) if isinstance(d, Star) else d.evaluate(shape.sizes) for d in spec.dims
            )
            for name, spec in zip(self.op.arg_names, self.case.signature.inputs, strict=True)
        }

    def condition(self, hypothesis: Hypothesis) -> Condition:
        """Return a hypothesis as a condition on points. Raises NotCheckedError where it cannot be evaluated."""
        tree: Statement = hypothesis.tree
        if self.op.is_composed and isinstance(tree, OffBoundaries):
            return OffBoundaries("")  # off the boundaries of all parts, whichever needs it
        try:
            return question(tree)
        except UnfitError as error:
            text = hypothesis.text[:120]
            raise NotCheckedError(f"the hypothesis '{text}' is not one that can be evaluated: {error}") from None

    def check(self, counts: Counts, seed: str, draws: int) -> list[str]:
        """Return the failures with their points; empty where all claims agree everywhere."""
        with s.precision(PRECISION):
            return self._check(counts, seed, draws)

    def _check(self, counts: Counts, seed: str, draws: int) -> list[str]:
        """Return the failures of `check`, in exact evaluation first, then in evaluation by balls at drawn points.

        Exact evaluation goes over finite fields. It leaves open points where equal numbers are compared: at a shape
        that it covers, balls are used at points with likely coincidences and on boundaries alone, unless arguments are
        integers. The `draws` points are spread evenly over the shapes.
        """
        failures: list[str] = []
        rng = seeded(self.digest, seed)
        drawn_shapes = list(shapes(self.op, self.case, rng, draws // 10))
        drawn = itertools.count()
        from certgrad import exact  # it reads users' rules, which are verified here

        exact_check = exact.Check(
            self.op, self.case, self.statements, drawn_shapes, self._traced, LARGEST, self.symbols
        )
        limits = exact.Limits(entries=ENTRIES / len(self.op.cases), at_point=AT_POINT, points=POINTS, special=SPECIAL)
        result = exact_check.run(limits)
        counts.exact.append(result)
        counts.points += result.points + result.special
        if result.verdict == "differs":
            return [f"{self.name}.{result.difference}"]
        agrees = result.verdict == "agrees" and bool(result.sizes)
        if agrees:
            self.answered |= self.open
        has_whole_numbers = not {"int", "bool"}.isdisjoint(self.kinds)  # they choose among many regions
        smallest = min(drawn_shapes, key=entries, default=None)
        for k, shape in enumerate(drawn_shapes):
            draws_here = list(itertools.islice(drawn, draws // len(drawn_shapes) + (k < draws % len(drawn_shapes))))
            try:
                if agrees:  # exact evaluation was on both sides of each number that the programs compare with
                    self.sides = int(shape is smallest)
                at_shape = AtShape(self, shape, self._traced(shape))
                counts.shapes += 1
                at_shape.ordinary_ones = has_whole_numbers or not exact_check.exact_at(shape)
                for point, on_boundary in at_shape.points(draws_here, rng):
                    failures += at_shape.ask(point, on_boundary, counts)
                    if not self.open:
                        return failures
            except (UnfitError, Unsupported) as error:
                raise NotCheckedError(f"at {shape}: {error}") from None
        missed = self.open - self.answered
        if missed:
            raise NotCheckedError(f"no point was found inside the hypotheses of {', '.join(sorted(missed))}")
        return failures

    def _traced(self, shape: Shape) -> Programs:
        """Return the programs at a shape; exact evaluation and balls share them."""
        key = tuple(shape.sizes.items()), shape.inputs
        if key not in self._known:
            statics = self.case.keywords(shape.ranks, shape.sizes)
            self._known[key] = traced(self.op, statics, shape.inputs, self.kinds[: len(shape.inputs)])
        return self._known[key]


class AtShape:
    """The evaluation of a case at one concrete shape."""

    ordinary_ones = True
    """Whether drawn points without likely coincidences are used too; if not, exact evaluation has covered them."""

    def __init__(self, asked: PointClaims, shape: Shape, programs: Programs) -> None:
        self.asked, self.shape, self.programs = asked, shape, programs
        shapes_ = (*shape.inputs, *(() for _ in range(asked.parameters)))
        self.space = Space(asked.kinds, shapes_, asked.parameters, programs.outputs, asked.told)
        self.axes = asked.axes(shape)

    def points(self, draws: Sequence[int], rng: Any) -> Iterator[tuple[Point, bool]]:
        """Yield points, each with whether it was moved to a boundary or beyond one.

        Points inside all hypotheses come first, one for each number in `draws`, which gives its style (`SCHEDULE`).
        Without `ordinary_ones` only those with likely coincidences are yielded, as exact evaluation has covered the
        others, which still serve as starts. Then follows a point anywhere in the domain. At the first small shapes
        there follow points on boundaries (a compared difference or a denominator is 0) and points at which some
        comparison of the programs falls out otherwise than before.
        """
        points_inside: list[Point] = []
        for k in draws:
            point = self.space.draw(k, rng, lambda inputs: self.holds(self.asked.all, inputs))
            if point is None:
                break
            points_inside.append(point)
            if self.ordinary_ones or coincides(k):
                yield point, False
        anywhere = self.space.draw(rng.randrange(10), rng, lambda inputs: self.holds([], inputs))
        if anywhere is not None:
            yield anywhere, False
        if self.asked.boundaries and sum(prod(x) for x in self.space.shapes) <= _SMALL:
            self.asked.boundaries -= 1
            start = self.space.draw(GENERIC, rng, lambda inputs: self.holds(self.asked.all, inputs)) or anywhere
            for point in self.on_boundaries(start) if start is not None else ():
                if self.holds([], point.inputs):
                    yield point, True
        if self.asked.sides and sum(prod(x) for x in self.space.shapes) <= _FEW:
            self.asked.sides -= 1
            for point in on_other_sides(points_inside[:2], self.space, self._asked_at, self.decided):
                yield point, True

    def on_boundaries(self, start: Point) -> Iterator[Point]:
        """Yield points near this one on the boundaries of the programs and hypotheses."""
        return on_boundaries(start, self.space.kinds, self.space.moving, self.watched)

    def holds(self, formulas: Sequence[Condition], inputs: Sequence[Array]) -> bool:
        """Return whether the point is certainly inside these hypotheses and the parameters' constraints."""
        arrays = dict(zip(self.asked.names, inputs, strict=True))
        try:
            return all(
                self.off_boundaries(inputs) if isinstance(f, OffBoundaries) else self.condition_holds(f, arrays)
                for f in (*self.asked.constraints, *formulas)
            )
        except Undecided:
            return False

    def _asked_at(self, point: Point) -> bool:
        """Return whether the hypotheses of some open claim hold at the point."""
        return any(self.holds(self.asked.hypotheses[kind], point.inputs) for kind in self.asked.open)

    def off_boundaries(self, inputs: Sequence[Array]) -> bool:
        """Return whether nothing that the forward compares or divides by is 0 at the point."""
        with s.watched() as distances:
            evaluate(self.programs.forward, inputs)
        return all(s.compare(distance, s.ZERO) for distance in distances)

    def condition_holds(self, asked: Question, arrays: Mapping[str, Array]) -> bool:
        """Return whether a condition holds at a point. Statements with indices see each star group as one axis."""
        if asked.whole or not asked.names:
            return asked.holds(arrays, self.shape.collapsed)
        if self.asked.broadcast:
            raise UnfitError("an index into arguments that broadcast")
        return asked.holds(collapsed(arrays, self.axes), self.shape.collapsed)

    def watched(self, point: Point, most: int | None = None) -> list[Any]:
        """Return the distances to boundaries of the programs, then of the hypotheses, at the point.

        These are the numbers that are compared with 0 or divided by. With `most`, evaluation ends when there are as
        many.
        """
        distances = self.decided(point, most)
        if most is not None and len(distances) >= most:
            return distances
        with s.watched() as of_hypotheses:
            self.holds(self.asked.all, point.inputs)
        return distances + of_hypotheses

    def decided(self, point: Point, most: int | None = None) -> list[Any]:
        """Return the distances to boundaries of the programs alone at the point; `most` is as in `watched`."""
        self.asked.in_time()
        runs = (run for run in self.runs(point) if run[0] is not self._repeated)
        return watched_distances(runs, lambda seen: most is not None and len(seen) >= most)

    @cached_property
    def _repeated(self) -> Any:
        """The primal if the vjp runs all of its equations, so that it decides nothing else; None if not."""
        primal, vjp = self.programs.primal, self.programs.vjp
        return primal if primal is not None and needed_equations(primal) <= needed_equations(vjp) else None

    def runs(self, point: Point) -> Iterator[Run]:
        """Yield the programs, each with its arguments at the point and, for the forward, their tangents."""
        count = len(self.shape.inputs)
        args, params = point.inputs[:count], point.inputs[count:]
        extra: dict[str, Sequence[Array]] = {"jvp": point.tangents, "vjp": point.seeds}
        for name, program in self.programs.all().items():
            if name == "forward":
                yield program, point.inputs, point.along(self.space.moving)
            else:
                yield program, [*args, *extra.get(name, ()), *params], None

    def ordinary(self, rng: Any) -> Point | None:
        """Return a point inside all hypotheses, else anywhere, best without coincidences; None where none is drawn."""
        styles: tuple[int | str, ...] = (WITHOUT_COINCIDENCES, GENERIC)
        for formulas in (self.asked.all, []):
            for style in styles:
                with suppress(UnfitError, BallError):
                    point = self.space.draw(style, rng, partial(self.holds, formulas))
                    if point is not None:
                        return point
        return None

    def ask(self, point: Point, on_boundary: bool, counts: Counts) -> list[str]:
        """Return the failures at a point: of each open claim whose hypotheses hold there.

        A claim that fails is asked no more. One that is undecided on a boundary, or `TIED`, is only counted; one that
        is undecided elsewhere counts as failed.
        """
        kinds = [k for k in CLAIMS if k in self.asked.open and self.holds(self.asked.hypotheses[k], point.inputs)]
        failures = []
        tried: dict[int, At] = {}
        counts.points += bool(kinds)
        counts.boundary += bool(kinds) and on_boundary
        for kind in kinds:
            problem = self._claim(kind, point, tried)
            if problem is None:
                self.asked.answered.add(kind)
            elif problem is TIED or (problem == "" and on_boundary):
                counts.undecided += 1
            else:
                self.asked.open.discard(kind)
                text = problem or f"not decided with {PRECISIONS[-1]} bits"
                failures.append(f"{self.asked.name}.{kind} at {self._point_text(point)}: {text}")
        return failures

    def disagreement(self, point: Point, at_least: float) -> tuple[str, str] | None:
        """Return the kind of a claim whose hypotheses hold at the point and whose sides differ there, and how.

        None where there is no such claim, or the relative difference is at most `at_least`.
        """
        self.asked.in_time()
        tried: dict[int, At] = {}
        for kind in (k for k in CLAIMS if k in self.asked.open and self.holds(self.asked.hypotheses[k], point.inputs)):
            at = tried.setdefault(PRECISION, At(self.programs, point, self.space.moving, PRECISION, {}))
            try:
                CLAIMS[kind](at)
            except Undecided:
                continue
            except Disagreement as error:
                if error.gap > at_least:
                    return kind, f"at {self._point_text(point)}: {error}"
        return None

    def _claim(self, kind: str, point: Point, tried: dict[int, At]) -> str | None:
        """Return None where the claim holds at the point, "" or `TIED` where that is not decided, else what is wrong.

        `tried` keeps the evaluations at each precision for the other claims.
        """
        last: Undecided | None = None
        for bits in PRECISIONS:
            at = tried.setdefault(bits, At(self.programs, point, self.space.moving, bits, {}))
            try:
                with s.precision(bits), s.last_counts():
                    CLAIMS[kind](at)
                return None
            except Undecided as error:
                last = error
            except Disagreement as error:
                return None if error.gap <= ROUNDING and not self.asked.exact else str(error)
        if isinstance(last, Tied):
            return TIED
        return f"no bound is found for {last}" if isinstance(last, Unbounded) else ""

    def _point_text(self, point: Point) -> str:
        parts = [f"{name} = {_text(x)}" for name, x in zip(self.asked.names, point.inputs, strict=True)]
        text = ", ".join(parts)
        return text if len(text) < 300 else f"{text[:300]} …"


def _text(x: Any) -> str:
    if isinstance(x, np.ndarray) and x.ndim:
        return f"[{', '.join(map(_text, x))}]"
    return str(x[()] if isinstance(x, np.ndarray) else x)
