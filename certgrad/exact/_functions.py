"""Functions in the model: by exp, log and roots where they are made of these, else oracles."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import factorial
from typing import TYPE_CHECKING, Any

from flint import acb, arb

from certgrad.language.arithmetic import UndefinedError, UnfitError
from certgrad.language.functions import FUNCTIONS

from ._number import Infinite, NoSlopeError, Number, OpenError
from ._primes import P

if TYPE_CHECKING:
    from ._model import Model


Slope = Callable[..., Any]
"""The derivative of a function at x, given x and the value at x."""


HALF = Fraction(1, 2)
MOST_SHIFTS = 60
"""The furthest an argument of Γ is shifted by its recurrence; beyond, the point is undecided."""
SLOPES: dict[str, Slope] = {
    "atan": lambda x, y: 1 / (1 + x * x),
    "erf": lambda x, y: 2 * (-(x * x)).of("exp") / x.m.constant("pi") ** HALF,
    "erf_inv": lambda x, y: x.m.constant("pi") ** HALF * (y * y).of("exp") / 2,
    "bessel_i0e": lambda x, y: x.of("bessel_i1e") - x.of("sign") * y,
    "bessel_i1e": lambda x, y: x.of("bessel_i0e") - y * (x.of("sign") + 1 / x),
}
"""The derivatives of the functions of one argument that are oracles."""
SEVERAL: dict[str, tuple[Slope | None, ...]] = {
    "zeta": (None, lambda s, q, v: -s * (s + 1).of("zeta", q)),
    "igamma": (
        lambda a, x, v: a.of("igamma_grad_a", x),
        lambda a, x, v: ((a - 1) * x.of("log") - x - a.of("lgamma")).of("exp"),
    ),
    "igamma_grad_a": (None, None),
    "regularized_incomplete_beta": (
        None,
        None,
        lambda a, b, x, v: (
            (a - 1) * x.of("log") + (b - 1) * (1 - x).of("log") + (a + b).of("lgamma") - a.of("lgamma") - b.of("lgamma")
        ).of("exp"),
    ),
}
"""The derivatives of oracles of several arguments, one for each argument; None where it is not known here."""


def _polygamma(n: arb, x: arb) -> arb:
    return acb(x).polygamma(n).real


def _ball_function(name: str) -> Callable[..., Any]:
    enclosure = FUNCTIONS[name].ball
    if enclosure is None:
        raise UnfitError(f"'{name}' is no known function")
    return enclosure


def _of_one(name: str) -> Callable[[Model, Any], Any]:
    """Return a function of one argument as an oracle, with its parity, its value at 0 and its derivative."""
    facts = FUNCTIONS[name]

    def value(m: Model, u: Any) -> Any:
        zero = 0 if facts.parity == "odd" else facts.at_zero
        u = m.lifted(u)
        is_at_zero = zero is not None and m.is_zero(u)
        result = m.lifted(zero) if is_at_zero else m.oracle(name, (u,), _ball_function(name), facts.parity)
        if u.d is None:
            return result
        return m.moving(result, u, lambda: SLOPES[name](u.still(), result))

    return value


def _of_several(name: str) -> Callable[..., Any]:
    """Return a function of several arguments as an oracle, whose tangent is the sum of those in each argument."""

    def value(m: Model, *arguments: Any) -> Any:
        numbers = [m.lifted(u) for u in arguments]
        result: Any = m.oracle(name, numbers, _ball_function(name))
        constants = [u.still() for u in numbers]
        out = result.still()
        for u, slope in zip(numbers, SEVERAL[name], strict=True):
            if u.d is None:
                continue
            if slope is None:
                raise UnfitError(f"the derivative of {name}")
            derivative = slope(*constants, result)
            moved = m.moving(result, u, partial(m.still, derivative))
            out.d = moved.d if out.d is None else (out.d + moved.d) % P
            out.dx = moved.dx if out.dx is None else out.dx + moved.dx
            out.top, out.low = out.top + moved.top + moved.low, out.low + moved.low
        return out

    return value


def _sinh(m: Model, u: Any) -> Any:
    e = m.exp(m.lifted(u))
    return (e - 1 / e) / 2


def _cosh(m: Model, u: Any) -> Any:
    e = m.exp(m.lifted(u))
    return (e + 1 / e) / 2


def _tanh(m: Model, u: Any) -> Any:
    e = m.exp(2 * m.lifted(u))
    return (e - 1) / (e + 1)


_OF_ONE = _of_one("atan")


def _atan(m: Model, u: Any) -> Any:
    """Return atan u; where |u| > 1, as ±π/2 − atan(1/u)."""
    if not isinstance(u, Number) and abs(u) == 1:
        return Fraction(u, 4) * m.constant("pi")
    if m.order(_absolute(m, u), 1) <= 0:
        return _OF_ONE(m, u)
    return Fraction(m.order(u, 0), 2) * m.constant("pi") - _OF_ONE(m, 1 / m.lifted(u))


def _asin(m: Model, u: Any) -> Any:
    """Return asin u as atan(u/√(1 − u²)); ±π/2 at ±1, where it has no slope."""
    if m.order(_absolute(m, u), 1) == 0:
        if isinstance(u, Number) and u.d is not None:
            raise NoSlopeError("asin at 1")
        return Fraction(m.order(u, 0), 2) * m.constant("pi")
    x = m.lifted(u)
    return _atan(m, x / (1 - x * x) ** HALF)


def _acos(m: Model, u: Any) -> Any:
    return HALF * m.constant("pi") - _asin(m, u)


def _atan2(m: Model, y: Any, x: Any) -> Any:
    """Return the angle of (x, y) as atan(y/x), ±π for x < 0; ±π/2 or 0 at x = 0."""
    side = m.order(x, 0)
    if not side:
        m.of_zero(x)
        return m.order(y, 0) * HALF * m.constant("pi")
    angle = _atan(m, m.mul(y, m.inverse(x)))
    return angle if side > 0 else (1 if m.order(y, 0) >= 0 else -1) * m.constant("pi") + angle


def _asinh(m: Model, u: Any) -> Any:
    x = m.lifted(u)
    if m.order(x, 0) < 0:
        return -_asinh(m, -x)
    return (x + (x * x + 1) ** HALF).of("log")


def _acosh(m: Model, u: Any) -> Any:
    x = m.lifted(u)
    return (x + (x * x - 1) ** HALF).of("log")


def _atanh(m: Model, u: Any) -> Any:
    x = m.lifted(u)
    return HALF * ((1 + x) / (1 - x)).of("log")


def _real_power(m: Model, u: Any, v: Any) -> Any:
    if not isinstance(v, Number):
        return m.power(u, Fraction(v))
    return m.exp(m.mul(v, m.log(u))) if m.order(u, 0) else m.of_zero(u)


def _whole_power(m: Model, u: Any, n: Any) -> Any:
    return m.power(u, Fraction(m.index(n)))


def _of_bits(operation: Callable[[int, int], int]) -> Callable[[Model, Any, Any], Any]:
    return lambda m, u, v: operation(m.index(u), m.index(v))


def _absolute(m: Model, u: Any) -> Any:
    return m.mul(-1, u) if m.order(u, 0) < 0 else u


def _gamma(order: int) -> Callable[[Model, Any], Any]:
    """Return log|Γ| (order −1), digamma (0) or a derivative of digamma as a function of the model.

    The argument is moved by an integer into [1, 2), where the function is an oracle; the recurrence gives the rest.
    """

    def value(m: Model, u: Any) -> Any:
        shift = m.floor(u) - 1
        if abs(shift) > MOST_SHIFTS:
            raise OpenError(f"Γ at {shift}")
        x = m.lifted(u) - shift
        shifted = m.oracle(f"Γ {order}", (x,), arb.lgamma if order < 0 else partial(_polygamma, arb(order)))
        total = m.moving(shifted, x, lambda: _gamma(order + 1)(m, x.still()))
        for k in range(abs(shift)):
            total = total + _step(x + k) if shift > 0 else total - _step(x - (k + 1))
        return total

    def _step(x: Number) -> Any:
        return x.of("abs").of("log") if order < 0 else (-1) ** order * factorial(order) * x ** -(order + 1)

    return value


def _of_order(m: Model, order: Any, u: Any) -> Any:
    return _gamma(m.index(order))(m, u)


APPLIED: dict[str, Callable[..., Any]] = {
    "exp": lambda m, u: m.exp(u),
    "log": lambda m, u: m.log(u),
    "sqrt": lambda m, u: m.root(u),
    "cbrt": lambda m, u: m.odd_root(u, 3),
    "sin": lambda m, u: m.circle(u)[1],
    "cos": lambda m, u: m.circle(u)[0],
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "abs": _absolute,
    "sign": lambda m, u: m.sign(u),
    "square": lambda m, u: m.mul(u, u),
    "floor": lambda m, u: m.floor(u),
    "is finite": lambda m, u: not isinstance(u, Infinite),
    "lgamma": _gamma(-1),
    "digamma": _gamma(0),
    "polygamma": _of_order,
    "real power": _real_power,
    "whole power": _whole_power,
    "integer power": _whole_power,
    "bitwise and": _of_bits(operator.and_),
    "bitwise or": _of_bits(operator.or_),
    "bitwise xor": _of_bits(operator.xor),
    **{name: _of_one(name) for name in SLOPES},
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "atan2": _atan2,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    **{name: _of_several(name) for name in SEVERAL},
}


def applied(m: Model, name: str, arguments: Sequence[Any]) -> Any:
    """Return a function's value at arguments in its domain. Raises UnfitError if unknown, UndefinedError at ∞."""
    if name not in APPLIED:
        raise UnfitError(f"the function '{name}'")
    if name not in ("exp", "is finite") and any(isinstance(u, Infinite) for u in arguments):
        raise UndefinedError(f"{name} of ∞")
    return APPLIED[name](m, *arguments)
