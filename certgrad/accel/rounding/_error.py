"""Errors as affine forms: e = Σ c_k·ε_k + r with every |ε_k| ≤ 1 and |r| at most a remainder.

An ε_k is what one operation rounded. The same ε_k in two terms is the same number: that is how what is subtracted from
itself cancels. Coefficients are floats of 64 bits; what they lose is added to the remainder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certgrad.accel.rounding._model import ROUNDED_UP

SYMBOLS = 3000
"""How many ε are told apart. What is rounded after that goes into remainders."""
UNDERFLOW = 1e-315
"""More than what products lose below the normal numbers of 64 bits."""
SUM_LOSS = 1e-14
"""Relative to an error, more than what a sum of a few of its terms loses in 64 bits."""


@dataclass(frozen=True, eq=False)
class Error:
    """The errors of an array's entries. `terms` has an axis more, for the ε; it may be shorter than another's."""

    terms: Any
    rest: Any

    @property
    def size(self) -> Any:
        """The most that each error can be."""
        return (np.abs(self.terms).sum(axis=-1) + self.rest) * ROUNDED_UP

    @property
    def none(self) -> bool:
        """Whether the error is 0."""
        return not self.terms.any() and not self.rest.any()

    def scaled(self, middle: Any, radius: Any) -> Error:
        """Return the error times numbers that lie within a radius of a middle, entry by entry."""
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
        """A move of entries, done to terms and remainders alike."""
        return Error(function(self.terms), function(self.rest))


class Noise:
    """The ε that were given out."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self, most: Any) -> Error:
        """Return new errors, each at most this large and independent of all others."""
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
    """An error; where its terms or remainder are not finite, nothing is known."""
    odd = ~np.isfinite(terms).all(axis=-1) | ~np.isfinite(rest)
    return Error(np.where(odd[..., None], 0.0, terms), np.where(odd, np.inf, rest))


def _padded(terms: Any, count: int) -> Any:
    missing = count - terms.shape[-1]
    return np.concatenate([terms, np.zeros((*terms.shape[:-1], missing))], axis=-1) if missing else terms
