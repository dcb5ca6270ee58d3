"""Derivatives of the functions that stay atoms, taken from sympy and read back as terms.

Functions that sympy does not have with the meaning that runs get their derivative from the equation that defines them:
cbrt (c³ = x), floor, ceil and round (locally constant where they are differentiable at all).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import sympy
from flint import fmpq

from ._power import exp_of, fn, log_of, power
from ._terms import ONE, ZERO, Num, Poly, intern, number, poly_of

_X, _Y = sympy.symbols("x y", real=True)

# lgamma is log|Γ|, which sympy's loggamma is only for x > 0; the derivative, digamma, is the same off the poles.
_SYMPY: dict[str, sympy.Expr] = {
    "log": sympy.log(_X),
    "sin": sympy.sin(_X),
    "cos": sympy.cos(_X),
    "asin": sympy.asin(_X),
    "acos": sympy.acos(_X),
    "atan": sympy.atan(_X),
    "asinh": sympy.asinh(_X),
    "acosh": sympy.acosh(_X),
    "atanh": sympy.atanh(_X),
    "erf": sympy.erf(_X),
    "erf_inv": sympy.erfinv(_X),
    "lgamma": sympy.loggamma(_X),
    "digamma": sympy.polygamma(0, _X),
    "atan2": sympy.atan2(_X, _Y),
}

_FROM_EQUATION: dict[str, Callable[[Poly], Poly]] = {
    "cbrt": lambda p: power(fn("cbrt", p), -2).scale(fmpq(1, 3)),
    "floor": lambda p: ZERO,
    "ceil": lambda p: ZERO,
    "round_even": lambda p: ZERO,
    "round_away": lambda p: ZERO,
}


class NoDerivativeError(Exception):
    """The calculus has no derivative for a function."""


def derivative_of(name: str, args: tuple[Poly, ...], position: int) -> Poly:
    """∂f/∂(argument `position`) at the arguments."""
    if name in _FROM_EQUATION:
        return _FROM_EQUATION[name](args[0])
    if name not in _SYMPY:
        raise NoDerivativeError(name)
    return _read(_differentiated(name, position), dict(zip((_X, _Y), args, strict=False)))


@cache
def _differentiated(name: str, position: int) -> sympy.Expr:
    return sympy.diff(_SYMPY[name], (_X, _Y)[position])


def _read(expr: sympy.Expr, values: dict[sympy.Symbol, Poly]) -> Poly:
    """A sympy expression as a term."""
    if expr in values:
        return values[expr]
    if expr.is_Rational:
        return number(Fraction(int(expr.p), int(expr.q)))
    if expr is sympy.pi:
        return poly_of(intern(Num("pi")))
    if expr.is_Add:
        total = ZERO
        for a in expr.args:
            total = total + _read(a, values)
        return total
    if expr.is_Mul:
        result = ONE
        for a in expr.args:
            result = result * _read(a, values)
        return result
    if expr.is_Pow:
        base, e = expr.args
        if e.is_Rational:
            return power(_read(base, values), Fraction(int(e.p), int(e.q)))
    args = [_read(a, values) for a in expr.args]
    if isinstance(expr, sympy.exp):
        return exp_of(args[0])
    if isinstance(expr, sympy.log):
        return log_of(args[0])
    if isinstance(expr, sympy.sin):
        return fn("sin", *args)
    if isinstance(expr, sympy.cos):
        return fn("cos", *args)
    if isinstance(expr, sympy.erfinv):
        return fn("erf_inv", *args)
    if isinstance(expr, sympy.polygamma):
        order = args[0].constant()
        if order == 0:
            return fn("digamma", args[1])
        if order == 1:
            return fn("polygamma1", args[1])
    raise NoDerivativeError(f"sympy's {expr.func.__name__}")
