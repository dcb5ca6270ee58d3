"""How sympy writes the functions that terms keep as atoms. Their domains, signs … are in `language/functions.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy
from flint import arb

from certgrad.language.functions import FUNCTIONS

X, Y = sympy.symbols("x y", real=True)
A, B, S, Q = sympy.symbols("a b s q", positive=True)
M = sympy.Symbol("m", integer=True, nonnegative=True)


class UndecidedError(ArithmeticError):
    """The precision does not decide a sign, or which integer a ball holds."""


def integer_of_ball(x: arb) -> int:
    """Return the only integer that a ball holds. Raises UndecidedError where it holds several, or none."""
    n = x.unique_fmpz()
    if n is None:
        raise UndecidedError("an integer that is not exactly known")
    return int(n)


WHOLE_VALUED = frozenset(name for name, known in FUNCTIONS.items() if known.whole)
"""Names of the functions whose values are whole numbers, such as `floor`."""


@dataclass(frozen=True)
class Expression:
    """A function as an expression of sympy, by which it is also differentiated unless there is an `antiderivative`."""

    of: Callable[..., sympy.Expr]
    symbols: tuple[sympy.Symbol, ...] = (X,)
    """Symbols for the arguments, with the assumptions that sympy may use where the function is differentiable."""
    antiderivative: sympy.Expr | None = None
    """An expression with the same derivatives, which sympy differentiates in place of `of`."""


EXPRESSIONS: dict[str, Expression] = {
    **{name: Expression(getattr(sympy, name)) for name in "log sin cos asin acos atan asinh acosh atanh erf".split()},
    **{name: Expression(getattr(sympy, name)) for name in "floor digamma erfi fresnels fresnelc".split()},
    "atan2": Expression(sympy.atan2, (X, Y)),
    "erf_inv": Expression(sympy.erfinv),
    "cbrt": Expression(lambda x: sympy.real_root(x, 3)),
    # lgamma is log|Γ|, which sympy's loggamma is only for x > 0; the derivative, digamma, is the same off the poles.
    "lgamma": Expression(lambda x: sympy.log(sympy.Abs(sympy.gamma(x))), antiderivative=sympy.loggamma(X)),
    "polygamma": Expression(sympy.polygamma, (M, X)),
    "bessel_i0": Expression(lambda x: sympy.besseli(0, x)),
    "bessel_i1": Expression(lambda x: sympy.besseli(1, x)),
    "igamma": Expression(lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a), (A, Q)),  # regularised: P(a, x)
    "incomplete_beta": Expression(lambda a, b, x: sympy.betainc_regularized(a, b, 0, x), (A, B, Q)),
    **{f"bessel_{c}": Expression(getattr(sympy, f"bessel{c}"), (Y, Q)) for c in "jyik"},
    "expi": Expression(sympy.Ei),
    "si": Expression(sympy.Si),
    "ci": Expression(sympy.Ci),
    "lambertw": Expression(sympy.LambertW),
    "spence": Expression(lambda x: sympy.polylog(2, 1 - x)),
    "hyp1f1": Expression(lambda a, b, x: sympy.hyper((a,), (b,), x), (A, B, X)),
    "hyp2f1": Expression(lambda a, b, c, x: sympy.hyper((a, b), (c,), x), (A, B, S, X)),
    "zeta": Expression(sympy.zeta, (S, Q)),
    "whole_power": Expression(lambda x, k: x**k),
    "stop": Expression(lambda x: x),
}
