"""What programs and callables are called, and the dtypes in which rules are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tracing.jax_internals import Program

Sizes = Mapping[str, int]
Programs = Mapping[str, Program]
"""By name: `forward`, `primal` and `reference` take the arguments, `jvp` tangents as well and `vjp` seeds."""
Called = Mapping[str, Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]]
"""By the same names, or `both` for `primal` and `vjp` by one call: of arguments, tangents or seeds, and of
numbers left open."""


@dataclass(frozen=True)
class Precision:
    """A dtype of floats in which rules are called."""

    dtype: str
    weak: bool = False
    under_x64: bool = False
    """Arrays of a narrower dtype while JAX computes in 64 bits where nothing else is said."""

    @property
    def wide(self) -> bool:
        return self.dtype == "float64" or self.under_x64

    @property
    def everywhere(self) -> bool:
        """It is called at each place."""
        return not (self.weak or self.under_x64)

    @property
    def half(self) -> bool:
        return self.dtype in ("float16", "bfloat16")

    def __str__(self) -> str:
        return f"{'weak ' if self.weak else ''}{self.dtype}{' under x64' if self.under_x64 else ''}"


def numbers(values: Sequence[Any]) -> list[np.ndarray]:
    """Results as arrays of numpy."""
    return [np.asarray(v) for v in values]
