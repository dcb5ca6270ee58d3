"""Exact arithmetic: rationals as long as they can be, balls that hold the value, and ±∞.

±∞ are Python's floats. What is not defined raises `UndefinedError`; where the precision does not decide a comparison,
`UndecidedError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from flint import acb, arb, fmpq

from .arithmetic import UndefinedError, UnfitError

Real = Any
"""fmpq, arb, or a float that is ±∞."""


class UndecidedError(Exception):
    """The precision does not tell which of two cases holds."""


def infinite(x: Real) -> bool:
    """The value is ±∞."""
    return isinstance(x, float)


def add(x: Real, y: Real) -> Real:
    """x + y, where at most one is infinite, or both are the same infinity."""
    if infinite(x) and infinite(y) and x != y:
        raise UndefinedError("∞ − ∞")
    return x if infinite(x) else y if infinite(y) else x + y


def multiply(x: Real, y: Real) -> Real:
    """x · y; ±∞ times a number other than 0 is infinite."""
    if infinite(x) or infinite(y):
        if equal(x, 0) or equal(y, 0):
            raise UndefinedError("0·∞")
        return math.inf if less(0, x) == less(0, y) else -math.inf
    return x * y


def divide(x: Real, y: Real) -> Real:
    """x / y of numbers, for y ≠ 0."""
    if infinite(x) or infinite(y) or equal(y, 0):
        raise UndefinedError("division by 0, or of ∞")
    return fmpq(x) / y if isinstance(x, int) else x / y


def less(x: Real, y: Real) -> bool:
    """x < y"""
    if infinite(x) or infinite(y):
        return _key(x) < _key(y)
    if x < y:
        return True
    if x >= y:
        return False
    raise UndecidedError("a comparison that the precision does not decide")


def equal(x: Real, y: Real) -> bool:
    """x = y"""
    if infinite(x) or infinite(y):
        return infinite(x) and infinite(y) and x == y
    if x == y:
        return True
    if x != y:
        return False
    raise UndecidedError("an equation that the precision does not decide")


def _key(x: Real) -> float:
    return x if infinite(x) else 0.0


def floor(x: Real) -> int:
    """The greatest integer that is at most x."""
    if infinite(x):
        raise UndefinedError("⌊∞⌋")
    if isinstance(x, (int, fmpq)):
        return int(fmpq(x).floor())
    found = x.floor().unique_fmpz()
    if found is None:
        raise UndecidedError("a floor that the precision does not decide")
    return int(found)


def integer_power(x: Any, n: int) -> Any:
    """x to the power of an integer, by multiplication."""
    if infinite(x):
        raise UndefinedError("a power of ∞")
    if n < 0 and equal(x, 0):
        raise UndefinedError("a negative power of 0")
    out = x**0
    for _ in range(abs(n)):
        out = out * x
    return divide(1, out) if n < 0 else out


def power(x: Real, y: Real) -> Real:
    """x to the power of a real that is not written as an integer."""
    if infinite(x) or infinite(y):
        raise UndefinedError("a power with ∞")
    if less(0, x):
        return arb(x) ** arb(y)
    if equal(x, 0) and less(0, y):
        return fmpq(0)
    raise UndefinedError("a power of a number that is not positive")


def apply(name: str, arguments: Sequence[Any]) -> Any:
    """A function of programs at arguments in its domain."""
    if name == "is finite":
        return not infinite(arguments[0])
    if name in _EXACT:
        return _EXACT[name](*arguments)
    if any(map(infinite, arguments)):
        if name == "exp" and arguments[0] < 0:
            return fmpq(0)
        raise UndefinedError(f"{name} of ∞")
    return _FUNCTIONS[name](*map(arb, arguments))


_EXACT: dict[str, Callable[..., Any]] = {
    "floor": floor,
    "quotient": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "real power": power,
    "whole power": integer_power,
    "integer power": integer_power,
    "bitwise and": lambda x, y: x & y,
    "bitwise or": lambda x, y: x | y,
    "bitwise xor": lambda x, y: x ^ y,
}


def _cbrt(x: arb) -> arb:
    if x == 0:
        return arb(0)
    return x.root(3) if less(0, x) else -((-x).root(3))


def _acosh(x: arb) -> arb:
    return arb(0) if x == 1 else x.acosh()


def _lgamma(x: arb) -> arb:
    return x.lgamma() if less(0, x) else abs(x.gamma()).log()


def _igamma(a: arb, x: arb) -> arb:
    return arb(0) if x == 0 else x.gamma_lower(a, regularized=1)


def _igamma_grad_a(a: arb, x: arb) -> arb:
    """Σ_{k≥0} of the derivative in a of exp(−x)·xᵃ⁺ᵏ/Γ(a + k + 1)."""
    if x == 0:
        return arb(0)
    total = arb(0)
    for k in range(400):
        b = a + k + 1
        total += (-x).exp() * x ** (a + k) * b.rgamma() * (x.log() - b.digamma())
    return total


def _polygamma(n: arb, x: arb) -> arb:
    return acb.polygamma(acb(x), int(n.unique_fmpz())).real


def _bessel(order: int) -> Callable[[arb], arb]:
    return lambda x: (-abs(x)).exp() * x.bessel_i(arb(order))


_FUNCTIONS: dict[str, Callable[..., arb]] = {
    **{n: getattr(arb, n) for n in "exp log sqrt sin cos asin acos atan sinh cosh tanh asinh atanh erf".split()},
    "digamma": arb.digamma,
    "atan2": lambda y, x: arb.atan2(y, x),
    "cbrt": _cbrt,
    "acosh": _acosh,
    "erf_inv": arb.erfinv,
    "lgamma": _lgamma,
    "polygamma": _polygamma,
    "zeta": lambda s, q: arb.zeta(s, q),
    "igamma": _igamma,
    "igamma_grad_a": _igamma_grad_a,
    "regularized_incomplete_beta": lambda a, b, x: x.beta_lower(a, b, regularized=1),
    "bessel_i0e": _bessel(0),
    "bessel_i1e": _bessel(1),
}


class Exact:
    """Integers, rationals, balls and ±∞, as the arithmetic of a `Reader`."""

    undecided: ClassVar[tuple[type[Exception], ...]] = (UndecidedError,)

    def number(self, value: int | Fraction) -> Any:
        return value if isinstance(value, int) else fmpq(value.numerator, value.denominator)

    def entry(self, value: Any) -> Any:
        return value

    def constant(self, name: str) -> Any:
        if name in ("∞", "−∞"):
            return math.inf if name == "∞" else -math.inf
        if name == "pi":
            return arb.pi()
        raise UnfitError(f"the number '{name}'")

    def add(self, a: Any, b: Any) -> Any:
        return add(a, b)

    def mul(self, a: Any, b: Any) -> Any:
        return multiply(a, b)

    def power(self, a: Any, e: Fraction) -> Any:
        return integer_power(a, e.numerator) if e.denominator == 1 else power(a, self.number(e))

    def maximum(self, a: Any, b: Any) -> Any:
        return b if less(a, b) else a

    def apply(self, function: str, arguments: Sequence[Any]) -> Any:
        return apply(function, arguments)

    def order(self, a: Any, b: Any) -> int:
        return -1 if less(a, b) else 0 if equal(a, b) else 1

    def is_whole(self, a: Any) -> bool:
        return equal(a, floor(a))

    def index(self, a: Any) -> int:
        return int(a)
