"""Functions that terms keep as atoms: one record each, with all that any floor knows of the function itself.

`ball` encloses it, `expression` is what sympy writes (and differentiates, unless `antiderivative` says otherwise), the
other fields are facts for all real arguments inside its domain. Where it is defined and smooth is `laws.functions`'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import sympy
from flint import acb, arb

X, Y = sympy.symbols("x y", real=True)
A, B, S, Q = sympy.symbols("a b s q", positive=True)
M = sympy.Symbol("m", integer=True, nonnegative=True)

Sign = Literal["", "of its argument", ">= 0", "> 0"]
Size = Literal["", "at most 1", "below 1"]


class UndecidedError(ArithmeticError):
    """A sign that the precision does not decide."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """What is known of a function of real numbers."""

    ball: Callable[..., arb]
    expression: Callable[..., sympy.Expr] | None = None
    symbols: tuple[sympy.Symbol, ...] = (X,)
    """The arguments as sympy may take them where the function is differentiable."""
    antiderivative: sympy.Expr | None = None
    """What sympy differentiates in place of the expression: it has the same derivatives there."""
    parity: Literal["", "odd", "even"] = ""
    at_zero: int | None = None
    """f(0), where it is a whole number. An odd function is 0 there."""
    sign: Sign = ""
    only_zero: bool = False
    """It is 0 at 0 only."""
    size: Size = ""
    """How large its absolute value is."""


def _odd(ball: Callable[..., arb], expression: Callable[..., sympy.Expr] | None, size: Size = "") -> Function:
    """An odd function with the sign of its argument."""
    return Function(
        ball=ball, expression=expression, parity="odd", sign="of its argument", only_zero=True, at_zero=0, size=size
    )


def _cbrt(x: arb) -> arb:
    if x == 0:
        return arb(0)
    return x.root(3) if x > 0 else -((-x).root(3))


def _round_even(x: arb) -> arb:
    low = (x + arb(0.5)).floor()
    return low - 1 if x + arb(0.5) == low and int(low.unique_fmpz()) % 2 else low


def whole(x: arb) -> int:
    """The integer that a ball holds. Raises UndecidedError where it may hold several."""
    n = x.unique_fmpz()
    if n is None:
        raise UndecidedError("an integer that is not exactly known")
    return int(n)


def _igamma_slope(a: arb, x: arb) -> arb:
    """∂P/∂a: d/da of x^a·Σ (−x)ᵏ/(k!·(a + k)) / Γ(a)."""
    if x == 0:
        return arb(0)
    series = (acb(-x).hypgeom([acb(a), acb(a)], [acb(a + 1), acb(a + 1)])).real / a**2
    return x.gamma_lower(a, 1) * (x.log() - a.digamma()) - x**a * series * a.rgamma()


def _owens_t(h: arb, a: arb) -> arb:
    """Its integral over t from 0 to a."""
    inside = acb.integral(lambda t, _: (-(acb(h) ** 2) * (1 + t * t) / 2).exp() / (1 + t * t), acb(0), acb(a))
    return inside.real / (2 * arb.pi())


WHOLE = frozenset({"floor", "round_even", "round_away"})
"""Their values are whole numbers."""

FUNCTIONS: dict[str, Function] = {
    "log": Function(ball=arb.log, expression=sympy.log),
    "sin": Function(ball=arb.sin, expression=sympy.sin, parity="odd", at_zero=0, size="at most 1"),
    "cos": Function(ball=arb.cos, expression=sympy.cos, parity="even", at_zero=1, size="at most 1"),
    "asin": _odd(arb.asin, sympy.asin),
    "acos": Function(ball=arb.acos, expression=sympy.acos, sign=">= 0"),
    "atan": _odd(arb.atan, sympy.atan),
    "atan2": Function(ball=lambda y, x: arb.atan2(y, x), expression=sympy.atan2, symbols=(X, Y)),
    "asinh": _odd(arb.asinh, sympy.asinh),
    "acosh": Function(ball=arb.acosh, expression=sympy.acosh, sign=">= 0"),
    "atanh": _odd(arb.atanh, sympy.atanh),
    "erf": _odd(arb.erf, sympy.erf, size="below 1"),
    "erf_inv": _odd(arb.erfinv, sympy.erfinv),
    "cbrt": _odd(_cbrt, lambda x: sympy.real_root(x, 3)),
    "floor": Function(ball=arb.floor, expression=sympy.floor),
    "round_even": Function(ball=_round_even),
    "round_away": Function(ball=lambda x: (abs(x) + arb(0.5)).floor() * (1 if x >= 0 else -1)),
    # lgamma is log|Γ|, which sympy's loggamma is only for x > 0; the derivative, digamma, is the same off the poles.
    "lgamma": Function(
        ball=lambda x: abs(x.gamma()).log(),
        expression=lambda x: sympy.log(sympy.Abs(sympy.gamma(x))),
        antiderivative=sympy.loggamma(X),
    ),
    "digamma": Function(ball=arb.digamma, expression=sympy.digamma),
    "polygamma": Function(ball=lambda m, x: acb(x).polygamma(m).real, expression=sympy.polygamma, symbols=(M, X)),
    "bessel_i0": Function(
        ball=lambda x: x.bessel_i(0),
        expression=lambda x: sympy.besseli(0, x),
        parity="even",
        at_zero=1,
        sign="> 0",
    ),
    "bessel_i1": _odd(lambda x: x.bessel_i(1), lambda x: sympy.besseli(1, x)),
    "igamma": Function(
        ball=lambda a, x: x.gamma_lower(a, 1),
        expression=lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a),  # regularised: P(a, x)
        symbols=(A, Q),
        sign=">= 0",
        size="at most 1",
    ),
    "igamma_grad_a": Function(ball=_igamma_slope),
    "incomplete_beta": Function(
        ball=lambda a, b, x: x.beta_lower(a, b, 1),
        expression=lambda a, b, x: sympy.betainc_regularized(a, b, 0, x),
        symbols=(A, B, Q),
        sign=">= 0",
        size="at most 1",
    ),
    # Of a real order and an argument; I₀ and I₁ are rows of their own.
    "bessel_j": Function(ball=lambda v, x: x.bessel_j(v), expression=sympy.besselj, symbols=(Y, Q)),
    "bessel_y": Function(ball=lambda v, x: x.bessel_y(v), expression=sympy.bessely, symbols=(Y, Q)),
    "bessel_i": Function(ball=lambda v, x: x.bessel_i(v), expression=sympy.besseli, symbols=(Y, Q)),
    "bessel_k": Function(ball=lambda v, x: x.bessel_k(v), expression=sympy.besselk, symbols=(Y, Q), sign="> 0"),
    "erfi": _odd(arb.erfi, sympy.erfi),
    "expi": Function(ball=arb.ei, expression=sympy.Ei),
    "si": _odd(arb.si, sympy.Si),
    "ci": Function(ball=lambda x: abs(x).ci(), expression=sympy.Ci, parity="even"),
    "fresnels": _odd(arb.fresnel_s, sympy.fresnels, size="below 1"),
    "fresnelc": _odd(arb.fresnel_c, sympy.fresnelc, size="below 1"),
    "lambertw": Function(ball=arb.lambertw, expression=sympy.LambertW, sign="of its argument", at_zero=0),
    "spence": Function(ball=lambda x: acb(1 - x).polylog(2).real, expression=lambda x: sympy.polylog(2, 1 - x)),
    "owens_t": Function(ball=_owens_t, symbols=(X, Y)),
    "hyp1f1": Function(
        ball=lambda a, b, x: x.hypgeom_1f1(a, b),
        expression=lambda a, b, x: sympy.hyper((a,), (b,), x),
        symbols=(A, B, X),
    ),
    "hyp2f1": Function(
        ball=lambda a, b, c, x: x.hypgeom_2f1(a, b, c),
        expression=lambda a, b, c, x: sympy.hyper((a, b), (c,), x),
        symbols=(A, B, S, X),
    ),
    "zeta": Function(ball=lambda s, q: s.zeta(q), expression=sympy.zeta, symbols=(S, Q), sign="> 0"),
    "whole_power": Function(ball=lambda x, k: x ** whole(k), expression=lambda x, k: x**k),
    "stop": Function(ball=lambda x: x, expression=lambda x: x, sign="of its argument"),
}
