"""The interface of an arithmetic by which statements are evaluated: balls, floats, and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol


class UnfitError(Exception):
    """A statement that cannot be evaluated at these arrays. The message says why."""


class UndefinedError(Exception):
    """A number that does not exist is compared."""


def as_float(value: int | float | Fraction) -> float:
    """Return the nearest float, which is infinite for a number beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


class Arithmetic(Protocol):
    """Numbers of one kind. `undecided` are the exceptions that say that a comparison needs more precision."""

    @property
    def undecided(self) -> tuple[type[Exception], ...]: ...

    def __hash__(self) -> int: ...

    def number(self, value: int | Fraction) -> Any:
        """Return a rational number."""

    def entry(self, value: Any) -> Any:
        """Return an entry of an array as a number."""

    def constant(self, name: str) -> Any:
        """Return the constant `pi`. Raises UnfitError for any other name."""

    def add(self, a: Any, b: Any) -> Any: ...

    def mul(self, a: Any, b: Any) -> Any: ...

    def power(self, a: Any, e: Fraction) -> Any: ...

    def maximum(self, a: Any, b: Any) -> Any: ...

    def apply(self, function: str, arguments: Sequence[Any]) -> Any:
        """Return a function of numbers. Raises UnfitError for a function that is not known."""

    def order(self, a: Any, b: Any) -> int | None:
        """Return −1, 0 or 1 as a is below, equal to or above b; None where one of them is undefined."""

    def is_whole(self, a: Any) -> bool: ...

    def index(self, a: Any) -> int:
        """Return a whole number as an int."""
