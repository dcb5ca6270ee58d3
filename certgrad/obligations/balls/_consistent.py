"""Whether solvers that are marked by `certgrad.solves` solve their declared equations at enough drawn points."""

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
"""Shapes at which both sides of the obligation are compared."""
POINTS = 16
"""Points of each shape; where both sides agree at too few of them, the claim is unproved."""
MOST_AXES = 8
"""A shape whose axes all have size 2 is never too large if it has at most this many axes."""
ENOUGH = 8
"""Points, of those of all shapes, at which both sides must agree. One point would not do: a solver of another equation,
or one of too few steps, comes near a solution of the declared equation at some points, such as those where a layer is
saturated or a matrix is nearly the identity."""
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
    """Return whether both sides of the obligation `kind` have values and agree at `ENOUGH` of the drawn points.

    Named sizes are at least 2 and entries are generic: a symmetric matrix, or a matrix with one row, would hide which
    equation a solver solves. `further` names sizes that no input has; `name` seeds the draws.
    """
    rng = seeded(name, kind, "consistent")
    agreements = 0
    # How many entries an input has where all axes are 2: so many are never too many.
    smallest = 2 ** min(max((len(argument.dims) for argument in inputs), default=0), MOST_AXES)
    for dims in islice(draw_dims(inputs, rng, _two_or_more, further, smallest), SHAPES):
        programs = programs_at(dims)
        for point in islice(_points(programs, kind, rng, domain), POINTS):
            try:
                agreements += gap_at(kind, programs, point, PRECISION) is None
            except BallError:  # this includes a solver's result that is near no solution of its equation
                continue
            if agreements == ENOUGH:
                return True
    return False


def _two_or_more(dims: Dims) -> bool:
    return min(dims.sizes.values(), default=2) > 1


def _points(programs: Programs, kind: str, rng: Random, domain: Domain) -> Iterator[Point]:
    """Yield drawn points inside the domain, with the tangents and seeds that the obligation needs."""
    for attempt in range(20 * POINTS):
        xs = [
            _draw(argument, shape, attempt, rng)
            for argument, shape in zip(programs.inputs, programs.shapes, strict=True)
        ]
        if not domain({argument.name: nested(x) for argument, x in zip(programs.inputs, xs, strict=True)}):
            continue
        has_tangents = kind != "rule_runs_forward"
        tangents = [draw_direction(programs.shapes[i], rng) for i in programs.moving] if has_tangents else []
        seeds = [draw_direction(s, rng) for s in programs.output_shapes] if kind == "vjp_is_adjoint" else []
        yield Point(xs, tangents, seeds)


def _draw(one: Input, shape: tuple[int, ...], attempt: int, rng: Random) -> Array:
    """Return one input with small or middle entries, in turn of either sign and positive. Half of the square matrices
    are near the identity. After many attempts, so where the domain seems to allow nothing smaller, entries are large.
    """
    if one.kind != "float":
        return draw_input(one, shape, "plain", rng, max(shape, default=2))
    scale = (Fraction(1, 4), Fraction(1))[attempt % 2] if attempt < 10 * POINTS else Fraction(3)
    low = 1 if attempt // 2 % 2 else -64
    out = filled_by(shape, lambda: scale * Fraction(rng.randint(low, 64) * 2 + 1, 129))
    if len(shape) > 1 and shape[-1] == shape[-2] and attempt // 4 % 2:
        out = out + 2 * scale * np.eye(shape[-1], dtype=int).astype(object)
    return out
