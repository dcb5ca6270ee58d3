"""Values of a rule's programs along a line, in ball arithmetic, from which plots are drawn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certgrad.obligations.balls import UNKNOWN, Point, ball, finite, precision

BITS = 96
"""The precision of evaluation, which is enough for a picture."""
COUNT = 80
"""The number of steps of a curve."""
DECIMALS = 4
SECONDS = 6.0
"""Seconds for one curve. Points that are not reached by then are left out."""


def steps(low: Fraction, high: Fraction) -> list[Fraction]:
    """Return evenly spaced numbers from `low` to `high`, both included."""
    return [low + (high - low) * Fraction(k, COUNT) for k in range(COUNT + 1)]


def number(x: Any) -> float | None:
    """Return a scalar as a float with six significant digits, equal on every machine; None if it is no real number."""
    if x is UNKNOWN or x is None or not finite(x):
        return None
    with precision(BITS):
        value = float(ball(x).mid())
    return float(f"{value:.6g}") if math.isfinite(value) else None


def difference(left: Any, right: Any) -> float | None:
    """Return the difference of two scalars as a float, rounded after the subtraction; None if it is no number."""
    if number(left) is None or number(right) is None:
        return None
    with precision(BITS):
        return number(ball(left) - ball(right))


def curve(xs: Sequence[Fraction], value: Callable[[Fraction], Any]) -> list[tuple[float, float] | None]:
    """Return the points of a curve, with None in place of those without a value; it ends after `SECONDS`."""
    points: list[tuple[float, float] | None] = []
    until = time.thread_time() + SECONDS
    for x in xs:
        if time.thread_time() > until:
            break
        try:
            y = number(value(x))
        except Exception:  # a comparison is undecided, or a program has no value here
            y = None
        points.append(None if y is None else (round(float(x), DECIMALS), y))
    return points


def exact(value: Any, shape: Sequence[int], kind: str = "float") -> np.ndarray:
    """Return an array from a certificate, given as nested lists of texts, with exact entries of the dtype `kind`."""
    flat = _flat(value)
    out = np.empty(len(flat), dtype=object)
    for k, text in enumerate(flat):
        out[k] = text == "True" if kind == "bool" else int(Fraction(text)) if kind == "int" else Fraction(text)
    shaped = out.reshape(tuple(shape))
    return shaped if kind == "float" else shaped.astype(bool if kind == "bool" else np.int64)


def _flat(value: Any) -> list[str]:
    return [x for v in value for x in _flat(v)] if isinstance(value, list) else [str(value)]


def point_along(point: Point, moving: Sequence[int], direction: Sequence[np.ndarray], t: Fraction) -> Point:
    """Return the point with the inputs at the positions `moving` moved by t times a direction."""
    inputs = list(point.inputs)
    for i, d in zip(moving, direction, strict=True):
        inputs[i] = np.asarray(inputs[i] + t * d, dtype=object).reshape(np.shape(inputs[i]))
    return Point(inputs, point.tangents, point.seeds)
