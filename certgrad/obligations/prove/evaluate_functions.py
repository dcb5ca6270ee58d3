"""The named functions of terms, at balls."""

from __future__ import annotations

from collections.abc import Callable

from flint import acb, arb

from certgrad.obligations.tracing.jax_internals import bits_function


class UndecidedError(ArithmeticError):
    """A sign that the precision does not decide."""


def _atan2(y: arb, x: arb) -> arb:
    return arb.atan2(y, x)


def _round_even(x: arb) -> arb:
    low = (x + arb(0.5)).floor()
    return low - 1 if x + arb(0.5) == low and int(low.unique_fmpz()) % 2 else low


def _cbrt(x: arb) -> arb:
    if x == 0:
        return arb(0)
    return x.root(3) if x > 0 else -((-x).root(3))


def _whole(x: arb) -> int:
    n = x.unique_fmpz()
    if n is None:
        raise UndecidedError("an integer that is not exactly known")
    return int(n)


_BITS: dict[str, Callable[..., int]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
}


def _machine(name: str, dtype: str, args: list[arb]) -> arb:
    """A function of the bits of integers, as JAX computes it."""
    whole = [_whole(x) for x in args]
    if not dtype:
        return arb(_BITS[name](*whole))
    return arb(bits_function(name, dtype, whole))


def _igamma_slope(a: arb, x: arb) -> arb:
    """∂P/∂a: d/da of x^a·Σ (−x)ᵏ/(k!·(a + k)) / Γ(a)."""
    if x == 0:
        return arb(0)
    series = (acb(-x).hypgeom([acb(a), acb(a)], [acb(a + 1), acb(a + 1)])).real / a**2
    whole = x.gamma_lower(a, 1)
    return whole * (x.log() - a.digamma()) - x**a * series * a.rgamma()


def function(name: str, args: list[arb]) -> arb:
    """A named function of the terms' language at balls."""
    name, _, dtype = name.partition(":")
    return _machine(name, dtype, args) if dtype or name in _BITS else FUNCTIONS[name](*args)


FUNCTIONS: dict[str, Callable[..., arb]] = {
    "log": arb.log,
    "sin": arb.sin,
    "cos": arb.cos,
    "asin": arb.asin,
    "acos": arb.acos,
    "atan": arb.atan,
    "asinh": arb.asinh,
    "acosh": arb.acosh,
    "atanh": arb.atanh,
    "erf": arb.erf,
    "erf_inv": arb.erfinv,
    "cbrt": _cbrt,
    "lgamma": lambda x: abs(x.gamma()).log(),
    "digamma": arb.digamma,
    "polygamma": lambda m, x: acb(x).polygamma(m).real,
    "bessel_i0": lambda x: x.bessel_i(0),
    "bessel_i1": lambda x: x.bessel_i(1),
    "igamma": lambda a, x: x.gamma_lower(a, 1),
    "igamma_grad_a": _igamma_slope,
    "incomplete_beta": lambda a, b, x: x.beta_lower(a, b, 1),
    "zeta": lambda s, q: s.zeta(q),
    "whole_power": lambda x, k: x ** _whole(k),
    "round_away": lambda x: (abs(x) + arb(0.5)).floor() * (1 if x >= 0 else -1),
    "atan2": _atan2,
    "floor": arb.floor,
    "round_even": _round_even,
    "stop": lambda x: x,
}
