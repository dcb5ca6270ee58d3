"""How far two functions are apart, at drawn points: a measurement in ball arithmetic, and no proof of a bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from flint import arb

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import SCHEDULE, Domain, draw_dims, draw_inputs, nested, seeded
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._evaluate import evaluate
from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule
from certgrad.obligations.balls._scalars import UNKNOWN

NEAR = 1e-3
"""The relative difference below which an entry counts as near: an approximation stays below it."""
SHAPES = 6
"""Shapes at which two functions are compared."""
POINTS = 3 * len(SCHEDULE)
SECONDS = 10.0
"""Seconds of one comparison; points that are not reached by then are not counted."""
PRECISION = 256


@dataclass
class Distance:
    """The largest differences between the outputs of two functions, entry by entry, and where they are."""

    entries: int = 0
    """How many entries of the outputs were compared."""
    undefined: int = 0
    """How many further entries have a finite value in only one of the two functions."""
    near: int = 0
    """How many entries are within `NEAR` of the second function's value, which is not 0."""
    far: int = 0
    """How many entries are not that near."""
    absolute: arb = field(default_factory=arb)
    """The largest absolute difference."""
    relative: arb = field(default_factory=arb)
    """The largest difference relative to the second function's value, where that is not 0."""
    inputs: dict[str, Any] = field(default_factory=dict)
    """The arguments where the absolute difference is the largest; empty where no entries differ."""
    problem: str = ""
    """Why points were left out: the first error; empty where none were."""
    in_floats: bool = False
    """Whether the compared numbers are those that the functions compute in float64, rounding included."""


def distance(
    first: Callable[[Dims], Rule],
    second: Callable[[Dims], Rule],
    inputs: Sequence[Input],
    *,
    domain: Domain,
    name: str,
    further: Sequence[str] = (),
) -> Distance:
    """Return how far the forwards of two rules are apart at points inside the domain.

    `name` seeds the draws, so that the same call compares at the same points, unless its time ends first. `further`
    names dims that no input has. A shape or point that the balls cannot evaluate is left out, with the first such error
    in `problem`.
    """
    distance_so_far = Distance()
    rng = seeded(name, "distance")
    deadline = time.thread_time() + SECONDS
    for dims in islice(draw_dims(inputs, rng, lambda dims: True, further), SHAPES):
        try:
            first_programs, second_programs = (Programs(rule(dims), inputs, dims) for rule in (first, second))
            programs = first_programs.forward, second_programs.forward
        except BallError as error:
            distance_so_far.problem = distance_so_far.problem or str(error)
            continue
        for k in range(POINTS):
            point = draw_inputs(inputs, first_programs.shapes, k, rng, domain)
            if point is None or time.thread_time() > deadline:
                break
            try:
                values = [evaluate(p, point, precision=PRECISION).values for p in programs]
            except BallError as error:
                distance_so_far.problem = distance_so_far.problem or str(error)
                continue
            arguments = {i.name: nested(x) for i, x in zip(inputs, point, strict=True)}
            for position in first_programs.floats:
                compared(distance_so_far, values[0][position], values[1][position], arguments)
    return distance_so_far


def compared(found: Distance, left: np.ndarray, right: np.ndarray, here: dict[str, Any]) -> None:
    """Add the entries of two outputs, computed at the arguments `here`, to the distance.

    Entries are skipped where one is UNKNOWN or neither is finite.
    """
    with s.precision(PRECISION):
        for at in np.ndindex(left.shape):
            a, b = left[at], right[at]
            if a is UNKNOWN or b is UNKNOWN or not (s.finite(a) or s.finite(b)):
                continue
            if not (s.finite(a) and s.finite(b)):
                found.undefined += 1
                continue
            found.entries += 1
            difference = abs(s.ball(a) - s.ball(b)).upper()
            if difference > found.absolute:
                found.absolute, found.inputs = difference, here
            if not s.ball(b).contains(0):
                relative = (difference / abs(s.ball(b))).upper()
                near = bool(relative < NEAR)
                found.near, found.far = found.near + near, found.far + (not near)
                found.relative = found.relative.max(relative)
