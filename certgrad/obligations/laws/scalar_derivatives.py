"""Derivatives of the functions that stay atoms, taken from sympy and read back as terms.

Functions that sympy does not have with the meaning that runs get their derivative from the equation that defines them:
cbrt (c³ = x), floor and round (locally constant where they are differentiable at all), I₁ (x·I₁' = x·I₀ − I₁),
an integer power, and the derivative of the incomplete gamma function by its first argument, which JAX has as a
function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import sympy
from flint import fmpq

from certgrad.obligations.terms.power import exp_of, fn, log_of, power
from certgrad.obligations.terms.terms import ONE, ZERO, Num, Poly, intern, number, poly_of

_X, _Y = sympy.symbols("x y", real=True)
_A, _B, _S, _Q = sympy.symbols("a b s q", positive=True)
_M = sympy.Symbol("m", integer=True, nonnegative=True)
_P = sympy.lowergamma(_A, _Q) / sympy.gamma(_A)  # the regularised incomplete gamma function P(a, x)

# lgamma is log|Γ|, which sympy's loggamma is only for x > 0; the derivative, digamma, is the same off the poles.
_SYMPY: dict[str, tuple[sympy.Expr, tuple[sympy.Symbol, ...]]] = {
    "log": (sympy.log(_X), (_X,)),
    "sin": (sympy.sin(_X), (_X,)),
    "cos": (sympy.cos(_X), (_X,)),
    "asin": (sympy.asin(_X), (_X,)),
    "acos": (sympy.acos(_X), (_X,)),
    "atan": (sympy.atan(_X), (_X,)),
    "asinh": (sympy.asinh(_X), (_X,)),
    "acosh": (sympy.acosh(_X), (_X,)),
    "atanh": (sympy.atanh(_X), (_X,)),
    "erf": (sympy.erf(_X), (_X,)),
    "erf_inv": (sympy.erfinv(_X), (_X,)),
    "lgamma": (sympy.loggamma(_X), (_X,)),
    "digamma": (sympy.polygamma(0, _X), (_X,)),
    "polygamma": (sympy.polygamma(_M, _X), (_M, _X)),
    "bessel_i0": (sympy.besseli(0, _X), (_X,)),
    "atan2": (sympy.atan2(_X, _Y), (_X, _Y)),
    "igamma": (_P, (_A, _Q)),
    "incomplete_beta": (sympy.betainc_regularized(_A, _B, 0, _Q), (_A, _B, _Q)),
    "zeta": (sympy.zeta(_S, _Q), (_S, _Q)),
}

_FROM_EQUATION: dict[tuple[str, int], Callable[..., Poly]] = {
    ("cbrt", 0): lambda p: power(fn("cbrt", p), -2).scale(fmpq(1, 3)),
    ("floor", 0): lambda p: ZERO,
    ("round_even", 0): lambda p: ZERO,
    ("round_away", 0): lambda p: ZERO,
    ("bessel_i1", 0): lambda p: fn("bessel_i0", p) - fn("bessel_i1", p) * power(p, -1),
    ("whole_power", 0): lambda p, k: k * fn("whole_power", p, k) * power(p, -1),
    ("igamma", 0): lambda a, x: fn("igamma_grad_a", a, x),
    ("igamma_grad_a", 1): lambda a, x: _read(sympy.diff(_P, _A, _Q), {_A: a, _Q: x}),
}


class NoDerivativeError(Exception):
    """The calculus has no derivative for a function."""


def derivative_of(name: str, args: tuple[Poly, ...], position: int) -> Poly:
    """∂f/∂(argument `position`) at the arguments."""
    if (name, position) in _FROM_EQUATION:
        return _FROM_EQUATION[name, position](*args)
    if name not in _SYMPY:
        raise NoDerivativeError(f"{name} by its argument {position}")
    try:
        return _read(_differentiated(name, position), dict(zip(_SYMPY[name][1], args, strict=True)))
    except NoDerivativeError as error:
        raise NoDerivativeError(f"{name} by its argument {position} ({error})") from error


@cache
def _differentiated(name: str, position: int) -> sympy.Expr:
    expr, symbols = _SYMPY[name]
    return sympy.diff(expr, symbols[position])


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
        if base.is_positive or base == 1 - _Q:  # 0 < x < 1 where the incomplete beta function is differentiable
            return exp_of(_read(e, values) * log_of(_read(base, values)))
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
        return fn("digamma", args[1]) if args[0].is_zero else fn("polygamma", *args)
    if isinstance(expr, sympy.besseli) and args[0] == ONE:
        return fn("bessel_i1", args[1])
    if isinstance(expr, sympy.zeta):
        return fn("zeta", *args)
    if isinstance(expr, sympy.gamma) and expr.args[0].is_positive:
        return exp_of(fn("lgamma", *args))
    if isinstance(expr, sympy.beta):
        a, b = args  # both positive
        return exp_of(fn("lgamma", a) + fn("lgamma", b) - fn("lgamma", a + b))
    raise NoDerivativeError(f"sympy's {expr.func.__name__}")
