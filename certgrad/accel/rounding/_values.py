"""Values of the rounding analysis: an interval for each exact value, and a bound on its distance from the computed
one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.accel.rounding._error import Error, remainder, zero
from certgrad.accel.rounding._model import Format
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._values import Array, Value, boxed


class Rounded(Value):
    """An array of real numbers with their errors and format, or of truth values or integers, with where they are sure:
    where the computed one is certainly the exact one.
    """

    __slots__ = ("error", "format", "sure")

    def __init__(
        self, primal: Array, error: Error | None = None, format: Format | None = None, sure: Any = None
    ) -> None:
        super().__init__(primal)
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "sure", sure)

    error: Error | None
    format: Format | None
    sure: Any
    """For truth values and integers: where the computed one is the exact one. None means everywhere."""


def with_error(x: Value, format: Format) -> Rounded:
    """Return a value with an error: that of a literal is the distance to the nearest number of the format."""
    if isinstance(x, Rounded):
        return x
    if not x.real:
        return Rounded(x.primal)
    distances = (
        np.vectorize(lambda v: _conversion_error(v, format), otypes=[float])(x.primal)
        if x.primal.size
        else np.zeros(x.primal.shape)
    )
    return Rounded(x.primal, remainder(distances) if np.any(distances) else zero(x.primal.shape), format)


def _conversion_error(v: Any, format: Format) -> float:
    """Return a bound on the distance of an exact number to its nearest in the format; 0 for a ball."""
    if type(v) is not fmpq:
        return 0.0
    exact = Fraction(int(v.p), int(v.q))
    try:
        nearest = float(np.asarray(float(exact)).astype(format.name))
    except OverflowError:
        return np.inf
    if not np.isfinite(nearest):
        return np.inf
    distance = abs(Fraction(nearest) - exact)
    return 0.0 if not distance else float(np.nextafter(float(distance), np.inf))


def span(primal: Array) -> tuple[Any, Any]:
    """Return floats at or below, and at or above, each entry; infinite where nothing is known."""
    lower, upper = np.empty(primal.shape), np.empty(primal.shape)
    for at in np.ndindex(primal.shape):
        lower[at], upper[at] = _ends(primal[at])
    return lower, upper


def _ends(v: Any) -> tuple[float, float]:
    """Return a float at or below a scalar, and one at or above it."""
    if not s.finite(v):
        return -np.inf, np.inf
    if type(v) is fmpq and int(v.q) == 1 and abs(int(v.p)) < 2**53:
        return float(int(v.p)), float(int(v.p))
    b = s.ball(v)
    with_ends = float(b.lower().mid()), float(b.upper().mid())
    return float(np.nextafter(with_ends[0], -np.inf)), float(np.nextafter(with_ends[1], np.inf))


def max_magnitude(primal: Array) -> Any:
    """Return an upper bound on the magnitude of each entry."""
    lower, upper = span(primal)
    return np.maximum(np.abs(lower), np.abs(upper))


def middle(primal: Array) -> tuple[Any, Any]:
    """Return a float in each entry's interval, and a radius around it that covers the interval."""
    lower, upper = span(primal)
    with np.errstate(all="ignore"):
        mid = np.where(np.isfinite(lower) & np.isfinite(upper), lower / 2 + upper / 2, 0.0)
        radius = np.maximum(upper - mid, mid - lower)
    return mid, np.where(radius == 0, 0.0, np.nextafter(radius, np.inf))


def widened(x: Rounded) -> Array:
    """Return intervals that contain both the exact and the computed values."""
    assert x.error is not None
    size = x.error.size

    def widened_entry(v: Any, e: float) -> Any:
        if e == 0:
            return v
        return s.UNKNOWN if not np.isfinite(e) or not s.finite(v) else s.ball(v) + arb(0, e)

    return boxed(np.frompyfunc(widened_entry, 2, 1)(x.primal, size))
