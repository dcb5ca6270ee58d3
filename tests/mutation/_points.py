"""Where a mutant breaks a law: concrete shapes and exact points, decided by the ball evaluator, not by the calculus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import cycle
from random import Random
from typing import Any

import numpy as np

from certgrad.obligations.balls import (
    UNKNOWN,
    Dims,
    Gap,
    Input,
    NotDifferentiable,
    Point,
    Programs,
    Rule,
    Undecided,
    derivative,
    evaluate,
)
from certgrad.obligations.balls._draw import draw_direction, draw_inputs, nested, seeded
from certgrad.obligations.balls._gaps import _differ
from certgrad.obligations.balls._gaps import gap_at as gap_of_programs
from certgrad.obligations.balls.statements import all_conditions_hold
from certgrad.ops import Case, Op
from certgrad.signatures.sizes import parse_size

BITS = 128
SPECIAL = [*map(Fraction, (0, 0, 1, -1, 2, -2, 3, -3, 6)), Fraction(1, 2), Fraction(-1, 2), Fraction(5, 10**7)]
SPECIAL += [Fraction(-5, 10**7), 1 + Fraction(5, 10**7), Fraction(7, 2), Fraction(1, 3)]
SCHEDULE = ("plain", "special", "equal", "eighths", "special", "large", "unit")
PROGRAMS = {"forward": ("forward",), "fwd": ("primal", "jvp", "vjp"), "jvp": ("jvp",), "vjp": ("vjp",)}
"""The programs whose outputs a change in each rule can change."""
LAWS = {
    "forward": ("jvp_is_derivative", "rule_runs_forward"),
    "fwd": ("rule_runs_forward", "jvp_is_derivative", "vjp_is_adjoint"),
    "jvp": ("jvp_is_derivative", "vjp_is_adjoint"),
    "vjp": ("vjp_is_adjoint",),
}
"""The obligations that are about each rule."""


@dataclass
class Place:
    """One op at one concrete shape: its programs, and points inside its domain."""

    op: Op
    inputs: list[Input]
    dims: Dims
    statics: dict[str, Any]
    outputs: dict[tuple[str, int], Any] = field(default_factory=dict)

    def rule(self, op: Op) -> Rule:
        """The rules of the op (or of a mutant of it) as the evaluator takes them."""
        rules, count = op.rules(self.statics), len(op.arg_names)
        primal = rules.primal
        return Rule(
            forward=lambda xs: rules.forward(xs[:count], xs[count:]),
            jvp=lambda xs, tangents: rules.jvp(xs[:count], tangents, xs[count:]),
            vjp=lambda xs, seeds: rules.vjp(xs[:count], seeds, xs[count:]),
            primal=None if primal is None else lambda xs: primal(xs[:count], xs[count:]),
        )

    @cached_property
    def programs(self) -> Programs:
        """Of the op as it is."""
        return Programs(self.rule(self.op), self.inputs, self.dims)

    def mutant(self, op: Op, role: str) -> Programs:
        """Of a mutant, sharing what the change does not touch."""
        programs = Programs(self.rule(op), self.inputs, self.dims)
        touched = set(PROGRAMS[role])
        for name in ("forward", "jvp", "vjp", *(["primal"] if op.fwd_rule is not None else [])):
            if name not in touched:
                programs.__dict__[name] = getattr(self.programs, name)
        return programs

    @cached_property
    def points(self) -> list[Point]:
        """Ordinary ones, ties, kinks, large ones; all inside the domain and the constraints of the parameters."""
        rng = seeded(self.op.name, str(self.dims), str(self.statics))
        found = []
        for k in range(len(SCHEDULE)):
            inputs = self._inputs(k, rng)
            if inputs is not None:
                tangents = [draw_direction(self.programs.shapes[i], rng) for i in self.programs.moving]
                seeds = [draw_direction(shape, rng) for shape in self.programs.output_shapes]
                found.append(Point(inputs, tangents, seeds))
        return found

    def _inputs(self, k: int, rng: Random) -> list[Any] | None:
        if SCHEDULE[k] != "special":
            style = {"plain": 0, "eighths": 1, "large": 3, "unit": 5, "equal": 6}[SCHEDULE[k]]
            return draw_inputs(self.inputs, self.programs.shapes, style, rng, self.inside)
        for _ in range(100):
            base = draw_inputs(self.inputs, self.programs.shapes, 0, rng, None)
            assert base is not None
            for one, x in zip(self.inputs, base, strict=True):
                if one.kind == "float" and (one.differentiable or rng.random() < 0.5):
                    for at in np.ndindex(x.shape):
                        x[at] = rng.choice(SPECIAL)
            if self.inside({one.name: nested(x) for one, x in zip(self.inputs, base, strict=True)}):
                return base
        return None

    def inside(self, values: Mapping[str, Any]) -> bool:
        """The domain and the constraints of the parameters hold."""
        return all_conditions_hold((*self.op.domain, *(c for c in self.op.params.values() if c)), values)

    def original(self, name: str, k: int) -> Any:
        """The outputs of one of the op's own programs at point k, or None where they cannot be decided."""
        if (name, k) not in self.outputs:
            self.outputs[name, k] = run(self.programs, name, self.points[k])
        return self.outputs[name, k]


def run(programs: Programs, name: str, point: Point) -> Any:
    """The outputs of a program at a point, or None."""
    more = {"jvp": point.tangents, "vjp": point.seeds}.get(name, [])
    try:
        return evaluate(getattr(programs, name), [*point.inputs, *more], precision=BITS).values
    except (Undecided, NotDifferentiable):
        return None


def differ(left: Any, right: Any) -> bool:
    """Some entry certainly differs; nan is a value."""
    if left is None or right is None:
        return False
    for a, b in zip(left, right, strict=True):
        for x, y in zip(a.flat, b.flat, strict=True):
            if x is not UNKNOWN and y is not UNKNOWN and a.dtype == object and _differ(x, y):
                return True
    return False


def places(op: Op, case: Case) -> list[Place]:
    """Shapes of ranks 0 to 3: distinct, equal, odd, even and unit sizes, and every form of broadcasting."""
    params = [Input(p, (), "float", differentiable=False) for p in op.params]
    if op.broadcast:
        return [Place(op, [*inputs, *params], Dims(), dict(case.statics)) for inputs in _broadcast(op, case)]
    signature = case.signature
    inputs = [Input(name, s.dims, s.dtype) for name, s in zip(op.arg_names, signature.inputs, strict=True)]  # type: ignore[arg-type]
    found = {}
    for dims in _dims(list(case.names), list(signature.stars)):
        ranks = {star: len(group) for star, group in dims.stars.items()}
        if all(n > 0 for one in inputs for n in dims.shape(one.dims)):
            found.setdefault(str(dims), Place(op, [*inputs, *params], dims, case.keywords(ranks, dims.sizes)))
    return list(found.values())


def _dims(names: list[str], stars: list[str]) -> Iterator[Dims]:
    schedule: list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = [
        ((2, 3, 4, 2, 3), ((2,), (3,))),
        ((3, 3, 3, 3, 3), ((), ())),
        ((2, 2, 2, 2, 2), ((2, 2), (2,))),
        ((1, 1, 1, 1, 1), ((1,), (1,))),
        ((1, 3, 2, 1, 2), ((3,), ())),
        ((3, 1, 1, 2, 1), ((1, 2, 2), (1, 2))),
    ]
    for sizes, groups in schedule if names else [*schedule[:4], schedule[5]]:
        yield Dims(dict(zip(names, cycle(sizes))), dict(zip(stars, cycle(groups))))


_FORMS = [((2,), (2,)), ((), ()), ((2,), (1,)), ((1,), (3,)), ((), (2,)), ((2,), ()), ((2, 3), (3,)), ((2, 1), (1, 2))]
_FORMS += [((1, 2), (2, 1)), ((2, 2), (2, 2)), ((1,), (1,)), ((2, 1, 2), (2, 2))]


def _broadcast(op: Op, case: Case) -> Iterator[list[Input]]:
    count = len(op.arg_names)
    for form in _FORMS:
        for shapes in {form + form[:1], form + form[1:], form[:1] + form} if count == 3 else [form[:count]]:
            yield [
                Input(name, tuple(map(parse_size, shape)), spec.dtype)  # type: ignore[arg-type]
                for name, shape, spec in zip(op.arg_names, shapes, case.signature.inputs, strict=True)
            ]


@dataclass(frozen=True)
class Break:
    """A point where a mutant differs, and the laws that it breaks there."""

    place: Place
    point: Point
    gaps: dict[str, Gap]


def broken(mutant: Op, role: str, where: list[Place]) -> tuple[Break | None, bool]:
    """The first point at which the mutant breaks a law, and whether it differs anywhere at all.

    A mutant that differs only where the forward has no derivative, or both rules in the same way, breaks none.
    Raises MalformedRule where it does not run.
    """
    different = False
    for place in where:
        programs = place.mutant(mutant, role)
        names = [n for n in PROGRAMS[role] if n != "primal" or mutant.fwd_rule is not None]
        for k, point in enumerate(place.points):
            if any(differ(run(programs, n, point), place.original(n, k)) for n in names):
                different = True
            elif role != "forward":
                continue
            gaps = laws_broken(programs, role, point, mutant.fwd_rule is not None)
            if gaps:
                return Break(place, point, gaps), True
    return None, different


def laws_broken(programs: Programs, role: str, point: Point, custom: bool) -> dict[str, Gap]:
    """The obligations about this rule that fail at a point."""
    found = {}
    for kind in LAWS[role]:
        if kind == "rule_runs_forward" and not custom:
            continue
        gap = gap_at(kind, programs, point)
        if gap is not None:
            found[kind] = gap
    return found


def smooth_at(programs: Programs, point: Point) -> bool:
    """The forward certainly has a derivative at the point, as far as the evaluator can tell."""
    try:
        derivative(programs, point, BITS)
    except (Undecided, NotDifferentiable):
        return False
    return True


def gap_at(kind: str, programs: Programs, point: Point) -> Gap | None:
    """The gap in one law at a point; None also where the point says nothing."""
    try:
        return gap_of_programs(kind, programs, point, BITS)
    except (Undecided, NotDifferentiable):
        return None
