"""The dtypes that a traced program runs in: its own, or others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certgrad.obligations.tracing.jax_internals import kind_of


@dataclass(frozen=True)
class Numbers:
    """The dtypes that a program runs in: of its real numbers, and of its signed integers."""

    real: Any
    integer: Any
    precision: Any = None
    """JAX's `precision` for matrix products and convolutions that name none themselves; None leaves it to JAX."""

    def dtype(self, dtype: Any) -> Any:
        """Return the dtype of the run for a dtype of the program; booleans and other integers keep theirs."""
        if kind_of(dtype) == "f":
            return np.dtype(self.real)
        return np.dtype(self.integer) if dtype in (np.dtype("int32"), np.dtype("int64")) else dtype

    def value(self, value: Any) -> Any:
        """Return a literal or constant in the dtype of the run; in float64, as the decimal that was meant (`meant`)."""
        own_dtype = getattr(value, "dtype", None)
        if own_dtype is not None and kind_of(own_dtype) not in "fi":
            return value
        array = np.asarray(value)
        own_dtype = array.dtype if own_dtype is None else own_dtype  # JAX's literals, Python's floats, have one too
        run_dtype = self.dtype(own_dtype)
        if run_dtype == own_dtype:
            return value
        array = array.astype(own_dtype)
        return meant(array).astype(run_dtype) if run_dtype == np.float64 else array.astype(run_dtype)


@dataclass(frozen=True)
class OwnNumbers(Numbers):
    """The dtypes that a program was traced in."""

    def dtype(self, dtype: Any) -> Any:
        return dtype


IDEAL_NUMBERS = Numbers(np.float64, np.int64)
"""All real numbers in float64, so that casts between float dtypes do not round."""


def meant(array: np.ndarray) -> np.ndarray:
    """Return floats of fewer bits as the shortest decimals that round to them: 0.1, not 0.10000000149011612."""
    if kind_of(array.dtype) != "f" or array.dtype == np.float64:
        return array.astype(np.float64)
    if (numbers := np.unique(array)).size == 1:  # most constants repeat one number
        return np.full(array.shape, float(str(numbers[0])))
    return np.asarray([float(str(x)) for x in array.flat], np.float64).reshape(array.shape)
