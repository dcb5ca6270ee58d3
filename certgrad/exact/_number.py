"""A number of the model: what an expression is worth in a prime field, as an exponent and over the reals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb


class OpenError(Exception):
    """A comparison that the balls of the point do not decide."""


class NoRootError(Exception):
    """The field has no root of a number at this point; another point is drawn."""


class NoConstantRootError(Exception):
    """The field has no root of a constant."""


class NoSlopeError(Exception):
    """The function has no derivative at the point."""


class Number:
    """The value of an expression in the field, as an exponent, and over the reals.

    `a` is its value modulo P, and `d` the tangent modulo P, None for 0. `b` are its values modulo Q, at points that
    were drawn apart from that of `a`: exp, sine and cosine take them as exponent. `x` and `dx` are balls around the
    real value and its tangent. `m` is the model of the number. Constants are plain integers and fractions.
    """

    __slots__ = ("a", "b", "d", "dx", "logs", "low", "m", "made", "top", "x")

    def __init__(
        self,
        m: Any,
        a: int,
        b: tuple[int, ...],
        x: arb,
        d: int | None = None,
        dx: arb | None = None,
        top: int = 1,
        low: int = 0,
        logs: dict[int, Fraction] | None = None,
        made: tuple[Any, ...] | None = None,
    ) -> None:
        self.m, self.a, self.b, self.x, self.d, self.dx = m, a, b, x, d, dx
        self.top, self.low = top, low
        """Bounds on the degrees of the numerator and the denominator, in all that is drawn."""
        self.logs = logs
        """The logarithms that are summands of the number: their coefficients, by the `a` of the number below each."""
        self.made = made
        """The multiplicative operation that made it, with operands: ("mul", u, v), ("power", u, e) or ("exp", u)."""

    def still(self) -> Number:
        """Return the number without a tangent."""
        return Number(self.m, self.a, self.b, self.x, None, None, self.top, self.low, self.logs, self.made)

    def __add__(self, other: Any) -> Any:
        return self.m.add(self, other)

    def __mul__(self, other: Any) -> Any:
        return self.m.mul(self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self.m.mul(-1, self)

    def __sub__(self, other: Any) -> Any:
        return self.m.add(self, self.m.mul(-1, other))

    def __rsub__(self, other: Any) -> Any:
        return self.m.add(other, -self)

    def __truediv__(self, other: Any) -> Any:
        return self.m.mul(self, self.m.inverse(other))

    def __rtruediv__(self, other: Any) -> Any:
        return self.m.mul(other, self.m.inverse(self))

    def __pow__(self, n: int | Fraction) -> Any:
        return self.m.power(self, Fraction(n))

    def of(self, function: str, *more: Any) -> Any:
        """Return a function of this number, and of further arguments."""
        return self.m.apply(function, [self, *more])


def as_float(u: Any) -> Any:
    """Return the real value of a number as a float; return any other entry as it is."""
    return float(u.x.mid()) if isinstance(u, Number) else u


PI: tuple[str, ...] = ("π",)
"""The field `made` of π."""


class Infinite:
    """+∞ or −∞, which programs compare with and mask by."""

    __slots__ = ("sign",)

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def __gt__(self, other: Any) -> bool:
        return self.sign > 0


INFINITE = {1: Infinite(1), -1: Infinite(-1)}
