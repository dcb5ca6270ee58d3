"""Arithmetic on floats, for statements about the numbers that a call is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from .arithmetic import UndefinedError, UnfitError, as_float


def _logistic(x: float) -> float:
    small = math.exp(-abs(x))
    return (small if x < 0 else 1) / (1 + small)


def _of_scipy(name: str) -> Callable[[float], float]:
    """Return a function of scipy.special, which is imported at the first call."""

    def function(x: float) -> float:
        from scipy import special  # which takes a third of a second, and few statements have one

        return float(getattr(special, name)(x))

    return function


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "digamma": _of_scipy("digamma"),
    "erf_inv": _of_scipy("erfinv"),
    "logistic": _logistic,
    "square": lambda x: x * x,
    **{name: getattr(math, name) for name in "acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp".split()},
    **{name: getattr(math, name) for name in "exp2 expm1 floor lgamma log log1p sin sinh sqrt tan tanh".split()},
}


@dataclass(frozen=True)
class Floats:
    """Arithmetic on Python's floats. A number whose computation raises is undefined; one beyond all floats is
    infinite.
    """

    undecided: ClassVar[tuple[type[Exception], ...]] = ()

    def number(self, value: int | Fraction) -> float:
        return int(value) if value.denominator == 1 else as_float(value)

    def entry(self, value: Any) -> float:
        return value if isinstance(value, int) else float(value)

    def constant(self, name: str) -> float:
        if name == "pi":
            return math.pi
        raise UnfitError(f"the number '{name}'")

    def add(self, a: float, b: float) -> float:
        return a + b if isinstance(a, int) and isinstance(b, int) else as_float(a) + as_float(b)

    def mul(self, a: float, b: float) -> float:
        return a * b if isinstance(a, int) and isinstance(b, int) else as_float(a) * as_float(b)

    def power(self, a: float, e: Fraction) -> float:
        if (not a and e < 0) or (a < 0 and e.denominator != 1):
            return math.nan
        try:
            return a ** self.number(e)
        except OverflowError:
            return -math.inf if a < 0 and e % 2 else math.inf

    def maximum(self, a: float, b: float) -> float:
        return max(a, b)

    def apply(self, function: str, arguments: Sequence[float]) -> float:
        if function not in _FUNCTIONS or len(arguments) != 1:
            raise UnfitError(f"'{function}' is no known function")
        try:
            return _FUNCTIONS[function](*arguments)
        except (ValueError, OverflowError):
            return math.nan

    def order(self, a: float, b: float) -> int | None:
        return (a > b) - (a < b) if a == a and b == b else None

    def is_whole(self, a: float) -> bool:
        return isinstance(a, int) or a.is_integer()

    def index(self, a: float) -> int:
        if not math.isfinite(a):
            raise UndefinedError
        return int(a)


@dataclass(frozen=True)
class RoundedFloats(Floats):
    """Arithmetic in a dtype: each result is rounded to it."""

    dtype: Any

    def number(self, value: int | Fraction) -> float:
        return self._rounded(super().number(value))

    def entry(self, value: Any) -> float:
        return self._rounded(super().entry(value))

    def add(self, a: float, b: float) -> float:
        return self._rounded(super().add(a, b))

    def mul(self, a: float, b: float) -> float:
        return self._rounded(super().mul(a, b))

    def power(self, a: float, e: Fraction) -> float:
        return self._rounded(super().power(a, e))

    def apply(self, function: str, arguments: Sequence[float]) -> float:
        return self._rounded(super().apply(function, arguments))

    def _rounded(self, value: float) -> float:
        return float(np.asarray(as_float(value), np.float64).astype(self.dtype))
