"""Whether a program with marked solvers can be evaluated at all: whether they solve their equations somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from random import Random

import numpy as np

from certgrad.obligations.balls._draw import Domain, draw_dims, draw_direction, draw_input, filled_by, nested, seeded
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._gaps import Point, gap_at
from certgrad.obligations.balls._rule import Dims, Input, Programs
from certgrad.obligations.balls._values import Array

SHAPES = 2
"""Shapes at which a solver's equation is tried."""
POINTS = 16
"""Points of each shape; where too few agree, the claim is unproved."""
MOST_AXES = 8
"""Axes of size 2, at most, in the smallest shape that is never too large."""
ENOUGH = 8
"""At so many of all points: a solver of another equation, or one of too few steps, is near a solution of the declared
one at some, as where a layer is saturated or a matrix is nearly the identity."""
PRECISION = 256


def agrees_somewhere(
    kind: str,
    programs_at: Callable[[Dims], Programs],
    inputs: Sequence[Input],
    *,
    further: Sequence[str],
    domain: Domain,
    name: str,
) -> bool:
    """Return whether both sides of the obligation have values and agree at `ENOUGH` of the drawn points.

    Named sizes are at least 2 there and entries are generic: a symmetric matrix, or one with one row, would hide which
    equation a solver solves.
    """
    rng = seeded(name, kind, "consistent")
    agreements = 0
    smallest = 2 ** min(max((len(one.dims) for one in inputs), default=0), MOST_AXES)  # of all axes 2
    for dims in islice(draw_dims(inputs, rng, _two_or_more, further, smallest), SHAPES):
        programs = programs_at(dims)
        for point in islice(_points(programs, kind, rng, domain), POINTS):
            try:
                agreements += gap_at(kind, programs, point, PRECISION) is None
            except BallError:
                continue
            if agreements == ENOUGH:
                return True
    return False


def _two_or_more(dims: Dims) -> bool:
    return min(dims.sizes.values(), default=2) > 1


def _points(programs: Programs, kind: str, rng: Random, domain: Domain) -> Iterator[Point]:
    for attempt in range(20 * POINTS):
        xs = [_draw(one, shape, attempt, rng) for one, shape in zip(programs.inputs, programs.shapes, strict=True)]
        if not domain({one.name: nested(x) for one, x in zip(programs.inputs, xs, strict=True)}):
            continue
        moves = kind != "rule_runs_forward"
        tangents = [draw_direction(programs.shapes[i], rng) for i in programs.moving] if moves else []
        seeds = [draw_direction(s, rng) for s in programs.output_shapes] if kind == "vjp_is_adjoint" else []
        yield Point(xs, tangents, seeds)


def _draw(one: Input, shape: tuple[int, ...], attempt: int, rng: Random) -> Array:
    """Small or middle entries, of either sign or positive, and large ones where the domain leaves no others. Half of
    square matrices are near the identity."""
    if one.kind != "float":
        return draw_input(one, shape, "plain", rng, max(shape, default=2))
    scale = (Fraction(1, 4), Fraction(1))[attempt % 2] if attempt < 10 * POINTS else Fraction(3)
    low = 1 if attempt // 2 % 2 else -64
    out = filled_by(shape, lambda: scale * Fraction(rng.randint(low, 64) * 2 + 1, 129))
    if len(shape) > 1 and shape[-1] == shape[-2] and attempt // 4 % 2:
        out = out + 2 * scale * np.eye(shape[-1], dtype=int).astype(object)
    return out
