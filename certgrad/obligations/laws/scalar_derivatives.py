"""Derivatives of the functions that stay atoms, taken from sympy and read back as terms.

Functions that sympy does not have with the meaning that runs get their derivative from the equation that defines them:
cbrt (c³ = x), floor and round (locally constant where they are differentiable at all), I₁ (x·I₁' = x·I₀ − I₁),
Bessel functions by their recurrences, Owen's T (Owen 1956, 2.2), Spence's function, Lambert's W, hypergeometric
functions by those whose parameters are one larger (DLMF 13.3.15, 15.5.1), an integer power, and the derivative of the
incomplete gamma function by its first argument, which JAX has as a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import prod

import sympy
from flint import fmpq

from certgrad.obligations.terms.atoms import Num
from certgrad.obligations.terms.functions import EXPRESSIONS, A, Q
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number, poly_of
from certgrad.obligations.terms.power import exp_of, fn, log_of, power
from certgrad.obligations.terms.session import intern

from .functions import HALF


def _pi() -> Poly:
    return poly_of(intern(Num("pi")))


def _slope_of_order(name: str, order: Poly, x: Poly) -> Poly:
    from .bessel import slope  # which few programs have

    return slope(name, order, x)


def _wofz_slope(x: Poly, y: Poly) -> tuple[Poly, Poly]:
    """Return the real and the imaginary part of w′(z) = 2i/√π − 2z·w(z), z = x + iy; ∂w/∂y is i·w′. DLMF 7.10."""
    u, v = fn("wofz_re", x, y), fn("wofz_im", x, y)
    return (y * v - x * u).scale(2), (power(_pi(), -HALF) - x * v - y * u).scale(2)


_FROM_EQUATION: dict[tuple[str, int], Callable[..., Poly]] = {
    ("cbrt", 0): lambda p: power(fn("cbrt", p), -2).scale(fmpq(1, 3)),
    ("floor", 0): lambda p: ZERO,
    ("round_even", 0): lambda p: ZERO,
    ("round_away", 0): lambda p: ZERO,
    ("bessel_i1", 0): lambda p: fn("bessel_i0", p) - fn("bessel_i1", p) * power(p, -1),
    ("whole_power", 0): lambda p, k: k * fn("whole_power", p, k) * power(p, -1),
    ("igamma", 0): lambda a, x: fn("igamma_grad_a", a, x),
    ("igamma_grad_a", 1): lambda a, x: _slope_by_both(a, x),
    **{(f"bessel_{c}", 1): partial(_slope_of_order, f"bessel_{c}") for c in "jyik"},
    ("owens_t", 0): lambda h, a: (
        exp_of((h * h).scale(fmpq(-1, 2))) * fn("erf", a * h * power(number(2), -HALF)) * power(_pi().scale(8), -HALF)
    ).scale(-1),
    ("owens_t", 1): lambda h, a: (
        exp_of((h * h * (ONE + a * a)).scale(fmpq(-1, 2))) * power((ONE + a * a) * _pi().scale(2), -1)
    ),
    ("wofz_re", 0): lambda x, y: _wofz_slope(x, y)[0],
    ("wofz_re", 1): lambda x, y: -_wofz_slope(x, y)[1],
    ("wofz_im", 0): lambda x, y: _wofz_slope(x, y)[1],
    ("wofz_im", 1): lambda x, y: _wofz_slope(x, y)[0],
    ("spence", 0): lambda x: log_of(x) * power(ONE - x, -1),
    ("lambertw", 0): lambda x: exp_of(-fn("lambertw", x)) * power(ONE + fn("lambertw", x), -1),
    ("hyp1f1", 2): lambda a, b, x: a * power(b, -1) * fn("hyp1f1", a + ONE, b + ONE, x),
    ("hyp2f1", 3): lambda a, b, c, x: a * b * power(c, -1) * fn("hyp2f1", a + ONE, b + ONE, c + ONE, x),
}


NEVER = {"stop", "cbrt", "floor", "whole_power"}
"""Functions whose derivative no expression of sympy gives."""


class NoDerivativeError(Exception):
    """The calculus has no derivative for a function."""


def derivative_of(name: str, args: tuple[Poly, ...], position: int) -> Poly:
    """Return ∂f/∂(argument `position`) at the arguments, for the function f of this name.

    Raises NoDerivativeError where neither the table nor sympy gives it as a term.
    """
    if (name, position) in _FROM_EQUATION:
        return _FROM_EQUATION[name, position](*args)
    expression = EXPRESSIONS.get(name)
    if expression is None or name in NEVER:
        raise NoDerivativeError(f"{name} by its argument {position}")
    try:
        return _from_sympy(_differentiated(name, position), dict(zip(expression.symbols, args, strict=True)))
    except NoDerivativeError as error:
        raise NoDerivativeError(f"{name} by its argument {position} ({error})") from error


@cache
def _differentiated(name: str, *positions: int) -> sympy.Expr:
    expression = EXPRESSIONS[name]
    antiderivative = (
        expression.of(*expression.symbols) if expression.antiderivative is None else expression.antiderivative
    )
    return sympy.diff(antiderivative, *(expression.symbols[k] for k in positions))


def _slope_by_both(a: Poly, x: Poly) -> Poly:
    return _from_sympy(_differentiated("igamma", 0, 1), {A: a, Q: x})


def _from_sympy(expr: sympy.Expr, values: dict[sympy.Symbol, Poly]) -> Poly:
    """Return a sympy expression as a term, in which each symbol is the term that `values` has for it.

    Raises NoDerivativeError for a function that terms do not have.
    """
    if expr in values:
        return values[expr]
    if expr.is_Rational:
        return number(Fraction(int(expr.p), int(expr.q)))
    if expr is sympy.pi:
        return _pi()
    if expr.is_Add:
        return sum((_from_sympy(a, values) for a in expr.args), ZERO)
    if expr.is_Mul:
        return prod((_from_sympy(a, values) for a in expr.args), start=ONE)
    if expr.is_Pow:
        base, e = expr.args
        if e.is_Rational:
            return power(_from_sympy(base, values), Fraction(int(e.p), int(e.q)))
        if base.is_positive or base == 1 - Q:  # 0 < x < 1 where the incomplete beta function is differentiable
            return exp_of(_from_sympy(e, values) * log_of(_from_sympy(base, values)))
    args = [_from_sympy(a, values) for a in expr.args]
    if isinstance(expr, sympy.exp):
        return exp_of(args[0])
    if isinstance(expr, sympy.log):
        return log_of(args[0])
    for name, kind in (("sin", sympy.sin), ("cos", sympy.cos), ("erf_inv", sympy.erfinv), ("zeta", sympy.zeta)):
        if isinstance(expr, kind):
            return fn(name, *args)
    if isinstance(expr, sympy.polygamma):
        return fn("digamma", args[1]) if args[0].is_zero else fn("polygamma", *args)
    if isinstance(expr, sympy.besseli) and args[0] == ONE:
        return fn("bessel_i1", args[1])
    if isinstance(expr, sympy.gamma) and expr.args[0].is_positive:
        return exp_of(fn("lgamma", *args))
    if isinstance(expr, sympy.beta):
        a, b = args  # both positive
        return exp_of(fn("lgamma", a) + fn("lgamma", b) - fn("lgamma", a + b))
    raise NoDerivativeError(f"sympy's {expr.func.__name__}")
