"""The whole graph at concrete sizes: the derivative of its function by dual numbers against its reverse sweep.

The sweep is the one that runs: node by node, by the programs whose digests the certificate names. Both sides are
evaluated in ball arithmetic, at rational points inside the hypotheses, also where compared values are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from random import Random
from typing import Any

import jax
import numpy as np

from certgrad.accel._sweep import Sweep
from certgrad.accel.verify._steps import Walk
from certgrad.errors import CertgradError
from certgrad.graph.points.node_statements import NodeStatement, holds
from certgrad.graph.points.run import Key, Run
from certgrad.graph.tracing.numbers import IDEAL_NUMBERS
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.jaxpr.at_shapes import Programs
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import GENERIC
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._evaluate import PRECISION, evaluate
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array
from certgrad.obligations.balls.statements import question
from certgrad.obligations.generality.decisions import broken, has_same_programs
from certgrad.obligations.tracing.jax_internals import jaxpr_of, kind_of, wide_floats
from certgrad.obligations.tracing.jax_internals._operations import operations
from certgrad.obligations.verify._agreement import PRECISIONS, At, Disagreement, vjp_is_adjoint
from certgrad.obligations.verify._case import AtShape, Condition
from certgrad.obligations.verify._case import PointClaims as Claim
from certgrad.obligations.verify._points import Point
from certgrad.signatures.cases import Shape
from certgrad.signatures.sizes import integer_size

NODES = 400
OPERATIONS = 100_000
"""Operations on numbers of a sweep, at most; a graph beyond this, or with more than `NODES` nodes, is not evaluated."""
TRIES = 8
"""Points that are drawn, at most, until one lies inside the hypotheses; each evaluates the whole graph."""
_SMALL = 12
"""Entries of all inputs, at most, where points on boundaries are looked for."""


class NotEvaluatedError(Exception):
    """The error for a graph that is too large for this check or cannot be evaluated: there is no verdict either way."""


@dataclass
class Counts:
    """Counts of the sizes and points that were evaluated."""

    sizes: list[str] = field(default_factory=list)
    points: int = 0
    boundary: int = 0
    undecided: int = 0


def check(walk: Walk, dimensions: bool, rng: Random, draws: int, counts: Counts) -> str:
    """Return the first failure with its point, or "".

    `dimensions` says whether the certificate has hypotheses on dimensions; `counts` is filled with what was evaluated.
    Raises NotEvaluatedError with the reason where no point can be evaluated.
    """
    for statement in (*walk.shared.hypotheses, *walk.shared.signs):
        try:
            question(statement.tree)
        except UnfitError as error:
            raise NotEvaluatedError(f"'{statement.text}' is not one that can be evaluated: {error}") from None
    if _count(walk) > NODES:
        raise NotEvaluatedError(f"the graph has more than {NODES} nodes")
    for sizes in _sizes(walk.traced.ir.dims, dimensions):
        at_these = _at_sizes(walk, sizes)
        if at_these is None:
            continue
        counts.sizes.append(", ".join(f"{n} = {v}" for n, v in sizes.items()) or "its own")
        with s.precision(PRECISION):
            failing = at_these.failing(rng, draws, counts)
        if failing:
            return failing
    if not counts.points:
        where = f"inside the hypotheses at {'; '.join(counts.sizes)}" if counts.sizes else "small enough to evaluate"
        raise NotEvaluatedError(f"no point was found {where}")
    return ""


def _count(walk: Walk) -> int:
    return len(walk.traced.nodes) + sum(_count(w) for inner in walk.inside.values() for w in inner)


def _sizes(dims: Sequence[str], apart: bool) -> Iterator[dict[str, int]]:
    """Yield sizes 2, 3, 4, …; then 2 and 3 in turn; and all 1, unless some sizes are excluded (`apart`)."""
    yield {name: 2 + k for k, name in enumerate(dims)}
    if dims:
        yield {name: 2 + k % 2 for k, name in enumerate(dims)}
    if dims and not apart:
        yield dict.fromkeys(dims, 1)


def _at_sizes(walk: Walk, sizes: dict[str, int]) -> AtSizes | None:
    """Return the graph at these sizes; None where it is too large, or the function is another program."""
    traced = walk.traced
    try:
        graph_there = traced.retraced({name: integer_size(n) for name, n in sizes.items()})
    except CertgradError:
        return None
    if broken(traced, sizes) is not None and not has_same_programs(
        traced, graph_there, {n: integer_size(v) for n, v in sizes.items()}
    ):
        return None
    at_these = AtSizes(walk, sizes, graph_there.program)
    return at_these if operations(jaxpr_of(at_these.programs.vjp)) <= OPERATIONS else None


def _outputs(traced: TracedGraph, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs of the user's function itself."""
    assert traced.fn is not None
    return jax.tree.leaves(traced.fn(*traced.specs.nest(arrays)))


class AtSizes(AtShape):
    """The graph at concrete sizes: its programs, and the values that its hypotheses are about."""

    def __init__(self, walk: Walk, sizes: dict[str, int], program: Any) -> None:
        """Trace the sweep of a certified graph at these sizes, and the values (`keys`) that its hypotheses are about.

        `program` is the function's at these sizes. Raises NotEvaluatedError where it takes a random key.
        """
        self.walk, self.sizes = walk, sizes
        ir = walk.traced.ir
        traced_specs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in program.jaxpr.invars]
        specs = [jax.ShapeDtypeStruct(x.shape, IDEAL_NUMBERS.dtype(x.dtype)) for x in traced_specs]
        real_outputs = [k for k, o in enumerate(ir.outputs) if ir.type_of(o).real]
        if any(kind_of(x.dtype) == "k" for x in specs):
            raise NotEvaluatedError("it takes a random key")
        kinds = tuple({"f": "float", "i": "int", "u": "int", "b": "bool"}[np.dtype(x.dtype).kind] for x in specs)
        traced = walk.traced
        # The sweep takes the walk in the place of an induction: it has what moves, and the programs of the lemmas.
        sweep = Sweep(walk, sizes, IDEAL_NUMBERS)  # type: ignore[arg-type]
        in_hypotheses = [key for a in (*walk.shared.hypotheses, *walk.shared.signs) for key in a.keys.values()]
        zero_tangents = [
            (assumption.place, assumption.value.node, assumption.value.output) for assumption in walk.shared.still
        ]
        self.keys: list[Key] = list(dict.fromkeys([*in_hypotheses, *zero_tangents]))

        def swept(args: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
            values = sweep.forward(args)
            by_output = dict(zip(real_outputs, seeds, strict=True))
            cotangents = sweep.backward(values, [by_output.get(k) for k in range(len(ir.outputs))])
            inputs = zip(ir.inputs, args, strict=True)
            return [cotangents.get((n.id, 0), jax.numpy.zeros_like(x)) for n, x in inputs if n.outputs[0].real]

        def watched(*args: Any) -> Any:
            run = Run(sizes, IDEAL_NUMBERS, frozenset(self.keys))
            run.values(walk.traced, args)
            self.places = list(run.taken)
            return [run.kept[key] for key in self.keys], list(run.taken.values())

        with wide_floats(traced.specs.wide):
            forward = jax.make_jaxpr(lambda *args: [_outputs(traced, args)[k] for k in real_outputs])(*traced_specs)
        with wide_floats():
            outputs = [v.aval for v in getattr(forward, "jaxpr", forward).outvars]
            seeds = [jax.ShapeDtypeStruct(a.shape, IDEAL_NUMBERS.dtype(a.dtype)) for a in outputs]
            vjp = jax.make_jaxpr(lambda *xs: swept(xs[: len(specs)], xs[len(specs) :]))(*specs, *seeds)
            self.values = jax.make_jaxpr(watched)(*specs)
        shapes = tuple(tuple(x.shape) for x in specs)
        # Programs as in the second check of ops; there is no JVP, of which a graph certificate claims nothing.
        programs = Programs(forward, None, vjp, None, shapes, tuple(tuple(a.shape) for a in outputs))
        claim = Claim(ir.name, [n.name for n in ir.inputs], kinds, {"vjp_is_adjoint": ()})
        super().__init__(claim, Shape(sizes, {}, shapes), programs)

    def failing(self, rng: Random, draws: int, counts: Counts) -> str:
        """Return how the claim fails at a point inside all hypotheses or on a boundary; "" if no failure is found."""
        for point, on_boundary in self.points(range(draws), rng):
            problem = self._problem(point)
            if problem is None:
                counts.points += 1
                counts.boundary += on_boundary
            elif problem == "":
                counts.undecided += 1
            else:
                return f"at {self._point_text(point)}: {problem}"
        return ""

    def points(self, draws: Sequence[int], rng: Random) -> Iterator[tuple[Point, bool]]:
        """Yield points inside all hypotheses, each with whether it is on a boundary; only small inputs have these."""
        start = None
        for k in draws:
            # Every second point is generic; the others may have equal entries or zeros.
            point = self.space.draw(GENERIC if k % 2 == 0 else k, rng, partial(self.holds, ()), TRIES)
            if point is not None:
                start = start or point
                yield point, False
        if sum(prod(x) for x in self.space.shapes) > _SMALL:
            return
        if start is not None:
            for point in self.on_boundaries(start):
                if self.holds((), point.inputs):
                    yield point, True

    def holds(self, formulas: Sequence[Condition], inputs: Sequence[Array]) -> bool:
        """Return whether the point is certainly inside all hypotheses."""
        try:
            return self._false(inputs, self.walk.shared.hypotheses, PRECISION) is None
        except Undecided:
            return False

    def _false(self, inputs: Sequence[Array], asked: Sequence[NodeStatement], precision: int) -> str | None:
        """Return the first statement that is false at the point, or None. Raises Undecided."""
        if not asked:
            return None
        values = evaluate(self.values, inputs, precision=precision).values
        table = dict(zip([*self.keys, *self.places], values, strict=True))
        for statement in asked:
            try:
                if not holds(statement, table, self.sizes):
                    return statement.text
            except UnfitError as error:
                raise NotEvaluatedError(f"'{statement.text}' is not one that can be evaluated: {error}") from None
        return None

    def _false_sign(self, inputs: Sequence[Array], precision: int) -> str | None:
        """Return a false statement about the sign of a value, or None, also where a value is too close to decide."""
        try:
            return self._false(inputs, self.walk.shared.signs, precision)
        except Undecided:
            return None

    def _moving_zero(self, point: Point, precision: int) -> str | None:
        """Return the claim that a value has a zero tangent where it is 0, if it is false; or None. Raises Undecided."""
        if not self.walk.shared.still:
            return None
        _, inputs, along = next(self.runs(point))
        evaluated = evaluate(self.values, inputs, along, precision=precision)
        value_and_tangent = {
            key: pair for key, *pair in zip(self.keys, evaluated.values, evaluated.tangents, strict=False)
        }
        for assumption in self.walk.shared.still:
            values, tangents = value_and_tangent[assumption.place, assumption.value.node, assumption.value.output]
            pairs = zip(np.ravel(values), np.ravel(tangents), strict=True)
            moved = (t for x, t in pairs if x == 0 and t not in (None, KINK, s.UNKNOWN))
            if any(s.compare(t, s.ZERO) for t in moved):
                return assumption.text
        return None

    def _problem(self, point: Point) -> str | None:
        """Return None where the laws hold at the point, "" where that is not decided, else what is wrong."""
        for bits in PRECISIONS[:2]:
            at = At(self.programs, point, self.space.moving, bits, {})
            try:
                with s.precision(bits):
                    if (false_claim := self._false_sign(point.inputs, bits)) is not None:
                        return f"what is said of a value is false: {false_claim}"
                    if (false_claim := self._moving_zero(point, bits)) is not None:
                        return f"what is said of a value is false: {false_claim}"
                    vjp_is_adjoint(at)
                return None
            except Undecided:
                continue
            except Disagreement as error:
                return str(error)
            except (Unsupported, UnfitError) as error:
                raise NotEvaluatedError(str(error)) from None
        return ""
