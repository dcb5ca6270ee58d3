"""A numeric check of an obligation that is not proved: differences of the forward in floats, at drawn points.

That both sides agree proves nothing, and the texts say so. A point where they differ is evaluated in ball arithmetic;
if the difference is confirmed, the point is a witness. Degenerate points, at which a column or a row is 0, are checked
as well: if the forward is smooth at one, the rule must return its derivative, and not nan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import cycle, islice
from random import Random
from typing import Any

import numpy as np
from jax.extend.core import jaxpr_as_fun

from certgrad._subject import Subject
from certgrad.obligations.balls import BallError, Dims, Point, Programs, witness_at
from certgrad.obligations.balls._draw import draw_dims, draw_point, nested, seeded, structured
from certgrad.obligations.certificate import DIFFERS_IN_FLOATS, Witness
from certgrad.obligations.floats import NoValueError, Setting, compute
from certgrad.obligations.floats import run as evaluated
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.points import inside_domain
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import computed_by, wide_floats

from .witnesses import ROUNDING, array, as_data, programs_at

SHAPES, POINTS = 3, 4
"""How many shapes a numeric check takes at most, and how many points at each."""
FEW = 2, 2
"""How many shapes a check takes, and how many points at each, if a claim has many open families."""
MANY = 4
"""If a claim has at least this many open families, a check takes `FEW` shapes and points."""
DRAWN, WITHOUT_VALUE = 40, 2
"""How many shapes are drawn at most, as the function may have no value at some: a solver under constraints has none if
these outnumber the unknowns. And after how many points without a value the next shape is drawn."""
SECONDS, LEAST_SECONDS = 20.0, 5.0
"""Seconds for the checks of a rule: a backstop, so high that results do not depend on the machine. And the seconds if
the audit has no time left."""
STEP = 1e-3
"""The larger step of the difference quotients; the smaller one is half of it."""
CLOSE, APART = 1e-6, 1e-3
"""Two sides agree if their gap, relative to the larger one, is at most `CLOSE`, and differ if it is above `APART`."""


@dataclass(frozen=True)
class Numeric:
    """The result of a numeric check: the number of points at which both sides agree, and where they differ."""

    agreed: int = 0
    differs: str = ""
    """The two sides, in words."""
    witness: Witness | None = None
    """A point where ball arithmetic confirms that both sides differ."""

    @property
    def differing(self) -> str:
        """Return the sentence that both sides differ; "" if they do not."""
        return f"{DIFFERS_IN_FLOATS}: {self.differs}; no rigorous arithmetic confirms it" if self.differs else ""

    @property
    def agrees(self) -> str:
        """Return the sentence that both sides agree; "" if they differ, or no point was evaluated."""
        points = "point" if self.agreed == 1 else "points"
        text = f"a numeric check in floats agrees at {self.agreed} {points}, which proves nothing"
        return text if self.agreed and not self.differs else ""


def numeric(op: Subject, instance: Instance, kind: str, of: int = 1, until: float | None = None) -> Numeric:
    """Return the result of checking an obligation in floats, at points of the domain at some shapes of a family.

    A difference that a witness confirms, or a side that is not finite, ends the check. After the first difference that
    no witness confirms, as many further shapes are checked as at first. A shape at which the function has no value does
    not count.

    Args:
        op: the subject.
        instance: the family of shapes.
        kind: the obligation.
        of: how many families of the claim are open; if these are many, the check takes fewer shapes and points.
        until: when no further point is begun, by the thread's processor time.
    """
    shapes, points = (SHAPES, POINTS) if of < MANY else FEW
    programs_of, rng = programs_at(op, instance), seeded(op.name, kind, "numeric")
    agreed, differs, remaining = 0, "", shapes
    until = budget.until(SECONDS, LEAST_SECONDS) if until is None else until
    for dims in islice(draw_dims(programs_of.inputs, rng, lambda dims: True, instance.names), DRAWN):
        if remaining == 0 or time.thread_time() > until:
            break
        has_value = False
        try:
            programs = programs_of(dims)
            for point, left, right, error in _evaluated(op, programs, kind, points, rng, until):
                has_value = True
                if not np.isfinite([left, right]).all():
                    return Numeric(agreed, f"{left:.6g} and {right:.6g} at {_point_text(op, point)}")
                scale = max(abs(left), abs(right), 1e-6)
                if abs(left - right) <= CLOSE * scale + 10 * error:
                    agreed += 1
                elif abs(left - right) > APART * scale + 100 * error:
                    text = f"{left:.6g} and {right:.6g} at {_point_text(op, point)}"
                    witness = _confirmed(kind, programs, point, instance, dims)
                    if witness is not None:
                        return Numeric(agreed, text, witness)
                    if not differs:
                        differs, remaining = text, shapes + 1
                    break
        except Exception:  # a rule may refuse a shape, or a point, in its own way
            has_value = True
        remaining -= has_value
    return Numeric(agreed, differs)


def _evaluated(
    op: Subject, programs: Programs, kind: str, count: int, rng: Random, until: float
) -> Iterator[tuple[Point, float, float, float]]:
    """Yield points at one shape with both sides of the obligation and the error of the difference quotient.

    There are `count` drawn points, then degenerate ones. Points at which a side is no number are left out; if the first
    `WITHOUT_VALUE` points are, no further ones are evaluated.
    """
    points_or_none = (draw_point(programs, kind, k, rng, partial(inside_domain, op)) for k in range(count))
    drawn = [point for point in points_or_none if point is not None]
    degenerate = _degenerate(op, programs, drawn) if kind != "rule_runs_forward" else ()
    has_value = False
    for k, point in enumerate([*drawn, *degenerate]):
        if time.thread_time() > until or (k == WITHOUT_VALUE and not has_value):
            return
        sides = _sides(programs, kind, point, degenerate=k >= len(drawn))
        if sides is not None:
            has_value = True
            yield point, *sides


def _confirmed(kind: str, programs: Programs, point: Point, instance: Instance, dims: Dims) -> Witness | None:
    """Return the point as a witness if ball arithmetic confirms the difference there, and both sides are finite."""
    try:
        witness = witness_at(kind, programs, point, ROUNDING)
    except (BallError, ArithmeticError):
        return None
    return (
        as_data(witness, instance.keywords(witness.dims.sizes))
        if witness is not None and not witness.undefined
        else None
    )


def _degenerate(op: Subject, programs: Programs, drawn: Sequence[Point]) -> Iterator[Point]:
    """Yield drawn points of the domain with 0 at the first place along one axis of an array: one for each axis."""
    axes = [(k, axis) for point in drawn[:1] for k, x in enumerate(point.inputs) for axis in range(np.ndim(x))]
    for (k, axis), point in zip(axes, cycle(drawn), strict=False):
        x = np.array(point.inputs[k], dtype=object)
        if x.shape[axis] < 2 or not isinstance(x.flat[0], Fraction):
            continue
        x[(slice(None),) * axis + (0,)] = Fraction(0)
        inputs = [x if j == k else other for j, other in enumerate(point.inputs)]
        degenerate = structured(programs.inputs, replace(point, inputs=inputs))
        if inside_domain(
            op, {spec.name: nested(y) for spec, y in zip(programs.inputs, degenerate.inputs, strict=True)}
        ):
            yield degenerate


def _sides(programs: Programs, kind: str, point: Point, degenerate: bool) -> tuple[float, float, float] | None:
    """Return both sides of an obligation as numbers, and the error of the difference quotient; None if one is not
    finite, or the function has a kink at the point.

    The outputs are weighted by the seeds, or summed. The function's slope along the tangents is a difference quotient,
    extrapolated from the steps h and h/2 to order h⁴. A VJP is compared with the JVP, or with this slope if the rule
    has no JVP. At a `degenerate` point only the function's own side must be finite.
    """
    rule, moving = programs.rule, programs.moving
    # A loop without end raises an error here, and the difference of two infinite values is nan, without a warning.
    with wide_floats(True), computed_by(compute), np.errstate(all="ignore"):
        xs, tangents, seeds = ([np.asarray(array(x)) for x in xs] for xs in (point.inputs, point.tangents, point.seeds))

        def at(step: float) -> list[np.ndarray]:
            """Return the float outputs of the function after a step along the tangents."""
            moved = list(xs)
            for i, dx in zip(moving, tangents, strict=True):
                moved[i] = xs[i] + step * dx
            values = _run(programs.forward, moved)
            return [values[k] for k in programs.floats]

        def slopes(h: float) -> tuple[float, float]:
            """Return the slope over both sides of the point, and by how much it is steeper on the right."""
            up, down = (
                _dot([(y - y0) / h for y, y0 in zip(at(step), values, strict=True)], weights) for step in (h, -h)
            )
            return (up - down) / 2, up + down

        error = 0.0
        values = at(0.0)
        if not all(np.isfinite(y).all() for y in values):
            return None
        weights = seeds if seeds else [np.ones_like(y) for y in values]
        if kind == "rule_runs_forward":
            if rule.primal is None:
                return None
            primal = _run(programs.primal, xs)
            left, right = _dot([primal[k] for k in programs.floats], weights), _dot(values, weights)
        else:
            (coarse, coarse_bend), (fine, fine_bend) = slopes(STEP), slopes(STEP / 2)
            slope = (4 * fine - coarse) / 3
            error = abs(slope - fine) + 1e-10 * max(1.0, abs(slope))
            if abs(2 * fine_bend - coarse_bend) > APART * max(abs(slope), abs(fine_bend)):
                return None  # a kink: for a smooth function the bend halves with the step
            if kind == "jvp_is_derivative":
                assert rule.jvp is not None
                left, right = _dot(_run(programs.jvp, [*xs, *tangents]), weights), slope
            else:
                pushed = _dot(_run(programs.jvp, [*xs, *tangents]), weights) if rule.jvp is not None else slope
                cotangents = _run(programs.vjp, [*xs, *weights])
                left, right = pushed, _dot(cotangents, tangents)
                error = error if rule.jvp is None else 0.0
    if degenerate:
        of_function = left if kind == "vjp_is_adjoint" else right
        return (left, right, error) if np.isfinite([of_function, error]).all() else None
    return (left, right, error) if np.isfinite([left, right, error]).all() else None


def _run(program: Any, args: Sequence[Any]) -> list[np.ndarray]:
    """Return the outputs of a program: by numpy, or by JAX if numpy cannot evaluate an operation."""
    types = [v.aval.dtype for v in program.jaxpr.invars]
    arguments = [np.asarray(x).astype(t) if isinstance(t, np.dtype) else x for x, t in zip(args, types, strict=True)]
    try:
        outputs = evaluated(program, arguments, Setting())
    except NoValueError:
        outputs = jaxpr_as_fun(program)(*map(array, arguments))
    return [np.asarray(y, float) for y in outputs]


def _dot(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the inner product of two lists of arrays."""
    pairs = zip(left, right, strict=True)
    return float(sum(np.vdot(np.asarray(a, float), np.asarray(b, float)) for a, b in pairs))


def _point_text(op: Subject, point: Point) -> str:
    """Return the arguments and parameters at a point as text, cut off after 200 characters."""
    names = [*op.arg_names, *op.params]
    parts = [f"{n} = {np.asarray(array(x)).tolist()}" for n, x in zip(names, point.inputs, strict=True)]
    text = ", ".join(parts)
    return text if len(text) < 200 else f"{text[:200]} …"
