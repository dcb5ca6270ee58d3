"""What the comparisons need of a rule: what was traced of it, and ways to trace and to call it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..tracing.jax_internals import Program
from ._points import Point

Sizes = Mapping[str, int]
Programs = Mapping[str, Program]
"""By name: `forward`, `primal` and `reference` take the arguments, `jvp` tangents as well and `vjp` seeds."""
Called = Mapping[str, Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]]
"""By the same names: called with the arguments, with tangents or seeds, and with the numbers left open."""


@dataclass(frozen=True)
class Precision:
    """A dtype of floats in which rules are called."""

    dtype: str
    weak: bool = False

    @property
    def wide(self) -> bool:
        return self.dtype == "float64"

    @property
    def half(self) -> bool:
        return self.dtype in ("float16", "bfloat16")

    def __str__(self) -> str:
        return f"weak {self.dtype}" if self.weak else self.dtype


class Subject(Protocol):
    """A rule, or a function, that was traced at symbolic sizes."""

    title: str
    names: Sequence[str]
    """Its dimension variables."""
    roots: Sequence[Any]
    """What runs: functions, and objects that hold some."""
    functions: Sequence[Any]
    """The functions outside of the libraries whose code it can run."""

    def programs(self, dtype: str) -> Programs:
        """What was proved, at symbolic sizes, of floats of this dtype. It may be traced in 64 bits."""

    def at(self, sizes: Sizes, dtype: str, anew: bool = False) -> Programs:
        """The same traced at numbers, in a dtype; `anew` even if it was traced there before. Raises CertgradError."""

    def point(self, sizes: Sizes, number: int) -> Point | None:
        """A point of the domain at these sizes; None where none was found."""

    def callables(self, sizes: Sizes) -> Called:
        """What runs at these sizes, outside of any trace."""


def numbers(values: Sequence[Any]) -> list[np.ndarray]:
    """Results as arrays of numpy."""
    return [np.asarray(v) for v in values]
