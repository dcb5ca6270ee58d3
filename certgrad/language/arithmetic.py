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
    """The nearest float, which is infinite where a number is larger than all."""
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
        """A rational."""

    def entry(self, value: Any) -> Any:
        """An entry of an array."""

    def constant(self, name: str) -> Any:
        """`pi`. Raises UnfitError for others."""

    def add(self, a: Any, b: Any) -> Any: ...

    def mul(self, a: Any, b: Any) -> Any: ...

    def power(self, a: Any, e: Fraction) -> Any: ...

    def maximum(self, a: Any, b: Any) -> Any: ...

    def apply(self, function: str, arguments: Sequence[Any]) -> Any:
        """A function of one or two numbers. Raises UnfitError for one that is not known."""

    def order(self, a: Any, b: Any) -> int | None:
        """Return −1, 0 or 1 as a is below, equal to or above b; None where one of them is undefined."""

    def is_whole(self, a: Any) -> bool: ...

    def index(self, a: Any) -> int:
        """A number that is a whole one, as such."""
