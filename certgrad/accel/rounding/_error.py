"""Errors as affine forms: e = Σ c_k·ε_k + r with every |ε_k| ≤ 1 and |r| at most a remainder.

An ε_k stands for the rounding of one entry in one operation. The same ε_k in two errors is the same number, so that the
error of x − x cancels. Coefficients are floats of 64 bits; their own rounding is added to the remainder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certgrad.accel.rounding._model import ROUNDED_UP

SYMBOLS = 3000
"""The number of ε, at most; later roundings are added to remainders."""
UNDERFLOW = 1e-315
"""More than the underflow of a product of float64 numbers."""
SUM_LOSS = 1e-14
"""More than the relative rounding, in float64, of a sum of a few terms of an error."""


@dataclass(frozen=True, eq=False)
class Error:
    """The errors of an array's entries. `terms` has one more axis, for the coefficients of the ε given out so far."""

    terms: Any
    rest: Any

    @property
    def size(self) -> Any:
        """Return an upper bound on the magnitude of each error."""
        return (np.abs(self.terms).sum(axis=-1) + self.rest) * ROUNDED_UP

    @property
    def none(self) -> bool:
        """Whether the error is 0."""
        return not self.terms.any() and not self.rest.any()

    def scaled(self, middle: Any, radius: Any) -> Error:
        """Return the error times numbers that lie within a radius of a middle, entry by entry.

        The terms are multiplied by the middle; the rest of the product, at most radius · |error|, is remainder.
        """
        m, r = np.abs(middle), np.asarray(radius)
        terms = self.terms * np.asarray(middle)[..., None]
        with np.errstate(invalid="ignore"):
            lost = np.where(self.size == 0, 0.0, (r + SUM_LOSS * m) * self.size)
            kept = np.where(self.rest == 0, 0.0, m * self.rest)
        return bounded(terms, (kept + lost) * ROUNDED_UP + np.where(self.size > 0, UNDERFLOW, 0.0))

    def __add__(self, other: Error) -> Error:
        count = max(self.terms.shape[-1], other.terms.shape[-1])
        a, b = (_padded(e.terms, count) for e in (self, other))
        terms = a + b
        lost = SUM_LOSS * (self.size + other.size)
        return bounded(terms, (self.rest + other.rest + np.where(np.isfinite(lost), lost, np.inf)) * ROUNDED_UP)

    def of(self, function: Any) -> Error:
        """Return the error after a move of entries, which is applied to terms and remainders alike."""
        return Error(function(self.terms), function(self.rest))


class Noise:
    """The supply of new ε, with the number given out so far."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self, most: Any) -> Error:
        """Return new errors, each at most this large, with an ε of its own; as remainders once all ε are used."""
        most = np.asarray(most, np.float64)
        places = np.flatnonzero((most > 0) & np.isfinite(most))
        if self.count + len(places) > SYMBOLS:
            return Error(np.zeros((*most.shape, 0)), most)
        terms = np.zeros((most.size, self.count + len(places)))
        terms[places, self.count + np.arange(len(places))] = most.reshape(-1)[places]
        self.count += len(places)
        return Error(terms.reshape(*most.shape, -1), np.where(np.isfinite(most), 0.0, np.inf))


def zero(shape: Any) -> Error:
    """Return no error, for an array of this shape."""
    return Error(np.zeros((*shape, 0)), np.zeros(shape))


def remainder(size: Any) -> Error:
    """Return an error of which only a bound on its size is known."""
    size = np.asarray(size, np.float64)
    return Error(np.zeros((*size.shape, 0)), size)


def bounded(terms: Any, rest: Any) -> Error:
    """Return an error; where its terms or remainder are not finite, it is unbounded."""
    odd = ~np.isfinite(terms).all(axis=-1) | ~np.isfinite(rest)
    return Error(np.where(odd[..., None], 0.0, terms), np.where(odd, np.inf, rest))


def _padded(terms: Any, count: int) -> Any:
    missing = count - terms.shape[-1]
    return np.concatenate([terms, np.zeros((*terms.shape[:-1], missing))], axis=-1) if missing else terms
