"""The functions of programs, by name: what each is, and where it is defined.

Functions that others make are not here: the rule of `tan` says sin / cos, that of `log1p` log(1 + x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .tree import TRUE, ZERO, Apply, Both, Compare, Either, Integer, Not, Number, Sort, Statement, Term, ToReal

Domain = Callable[..., Statement]
_REAL: Sort = "real"


@dataclass(frozen=True)
class Meaning:
    """A function: the sorts of its arguments and its result, what defines it, and where it is defined."""

    arguments: tuple[Sort, ...]
    result: Sort
    says: str
    domain: Domain


def _number(p: int) -> Term:
    return Number(str(p))


def _everywhere(*_: Term) -> Statement:
    return TRUE


def _above(low: int) -> Domain:
    return lambda x, *_: Compare("<", _number(low), x)


def _at_least(low: int) -> Domain:
    return lambda x, *_: Compare("<=", _number(low), x)


def _between(low: int, high: int) -> Domain:
    """low < x < high"""
    return lambda x: Both((Compare("<", _number(low), x), Compare("<", x, _number(high))))


def _from_to(low: int, high: int) -> Domain:
    """low ≤ x ≤ high"""
    return lambda x: Both((Compare("<=", _number(low), x), Compare("<=", x, _number(high))))


def _whole_part(x: Term) -> Term:
    return ToReal(Apply("floor", (x,)))


def _no_pole(x: Term) -> Statement:
    """x is none of 0, −1, −2, …"""
    return Either((Compare("<", ZERO, x), Not(Compare("=", _whole_part(x), x))))


def _no_pole_of_second(n: Term, x: Term) -> Statement:
    """n is one of 0, 1, 2, … and x no pole"""
    return Both((Compare("<=", ZERO, n), Compare("=", _whole_part(n), n), _no_pole(x)))


def _of_zeta(s: Term, q: Term) -> Statement:
    return Both((Compare("<", _number(1), s), Compare("<", ZERO, q)))


def _of_igamma(a: Term, x: Term) -> Statement:
    return Both((Compare("<", ZERO, a), Compare("<=", ZERO, x)))


def _of_betainc(a: Term, b: Term, x: Term) -> Statement:
    return Both((Compare("<", ZERO, a), Compare("<", ZERO, b), _from_to(0, 1)(x)))


def _off_the_cut(y: Term, x: Term) -> Statement:
    """y ≠ 0 or x > 0: elsewhere the sign of a zero tells π from −π, and a real zero has none"""
    return Either((Not(Compare("=", y, ZERO)), Compare("<", ZERO, x)))


def _divisor_not_zero(_: Term, right: Term) -> Statement:
    return Not(Compare("=", right, Integer(0)))


def _of_real_power(base: Term, exponent: Term) -> Statement:
    return Either((Compare("<", ZERO, base), Both((Compare("=", base, ZERO), Compare("<", ZERO, exponent)))))


def _exponent_not_negative(_: Term, exponent: Term) -> Statement:
    return Compare("<=", Integer(0), exponent)


def _of_whole_power(base: Term, exponent: Term) -> Statement:
    return Either((_exponent_not_negative(base, exponent), Not(Compare("=", base, ZERO))))


def _real(says: str, domain: Domain = _everywhere, arity: int = 1) -> Meaning:
    return Meaning((_REAL,) * arity, "real", says, domain)


def _integers(says: str, domain: Domain = _everywhere) -> Meaning:
    return Meaning(("integer", "integer"), "integer", says, domain)


FUNCTIONS: dict[str, Meaning] = {
    "floor": Meaning(("real",), "integer", "the greatest integer that is at most x", _everywhere),
    "quotient": _integers("⌊left/right⌋: rounded towards −∞", _divisor_not_zero),
    "remainder": _integers("left − right·⌊left/right⌋: it has the sign of right", _divisor_not_zero),
    "real power": _real("exp(y·log(x)) for x > 0, and 0 for x = 0 and y > 0", _of_real_power, arity=2),
    "whole power": Meaning(
        ("real", "integer"),
        "real",
        "by multiplication, with x⁰ = 1; for an exponent < 0 the reciprocal, of x ≠ 0",
        _of_whole_power,
    ),
    "integer power": _integers("by multiplication, with x⁰ = 1, for an exponent ≥ 0", _exponent_not_negative),
    "exp": _real("exp(x) = Σ_{k≥0} xᵏ/k!"),
    "log": _real("the y with exp(y) = x", _above(0)),
    "sqrt": _real("the y ≥ 0 with y² = x", _at_least(0)),
    "cbrt": _real("the y with y³ = x"),
    "sin": _real("sin(x) = Σ_{k≥0} (−1)ᵏ·x²ᵏ⁺¹/(2k+1)!"),
    "cos": _real("cos(x) = Σ_{k≥0} (−1)ᵏ·x²ᵏ/(2k)!"),
    "asin": _real("the y in [−π/2, π/2] with sin(y) = x", _from_to(-1, 1)),
    "acos": _real("the y in [0, π] with cos(y) = x", _from_to(-1, 1)),
    "atan": _real("the y in (−π/2, π/2) with sin(y)/cos(y) = x"),
    "atan2": _real("atan2(y, x): the angle in (−π, π) of the point (x, y)", _off_the_cut, arity=2),
    "sinh": _real("(exp(x) − exp(−x))/2"),
    "cosh": _real("(exp(x) + exp(−x))/2"),
    "tanh": _real("(exp(x) − exp(−x))/(exp(x) + exp(−x))"),
    "asinh": _real("the y with sinh(y) = x"),
    "acosh": _real("the y ≥ 0 with cosh(y) = x", _at_least(1)),
    "atanh": _real("the y with tanh(y) = x", _between(-1, 1)),
    "erf": _real("(2/√π)·∫₀ˣ exp(−t²) dt"),
    "erf_inv": _real("the y with erf(y) = x", _between(-1, 1)),
    "lgamma": _real("log|Γ(x)|, with Γ(x) = ∫₀^∞ tˣ⁻¹·exp(−t) dt for x > 0, and Γ(x) = Γ(x + 1)/x", _no_pole),
    "digamma": _real("Γ′(x)/Γ(x)", _no_pole),
    "polygamma": _real("polygamma(n, x): the n-th derivative of digamma at x", _no_pole_of_second, arity=2),
    "zeta": _real("zeta(s, q) = Σ_{k≥0} (q + k)⁻ˢ", _of_zeta, arity=2),
    "igamma": _real("igamma(a, x) = ∫₀ˣ tᵃ⁻¹·exp(−t) dt / Γ(a)", _of_igamma, arity=2),
    "igamma_grad_a": _real("the derivative of igamma(a, x) in a", _of_igamma, arity=2),
    "regularized_incomplete_beta": _real(
        "∫₀ˣ tᵃ⁻¹·(1−t)ᵇ⁻¹ dt / ∫₀¹ tᵃ⁻¹·(1−t)ᵇ⁻¹ dt, of a, b, x", _of_betainc, arity=3
    ),
    "bessel_i0e": _real("exp(−|x|)·I₀(x), with Iₙ(x) = Σ_{k≥0} (x/2)²ᵏ⁺ⁿ/(k!·(k+n)!)"),
    "bessel_i1e": _real("exp(−|x|)·I₁(x)"),
    "is finite": Meaning(("real",), "boolean", "true of a real number, false of ±∞", _everywhere),
    "bitwise and": _integers("the integer whose binary digits are those that both have (two's complement)"),
    "bitwise or": _integers("the integer whose binary digits are those that one has (two's complement)"),
    "bitwise xor": _integers("the integer whose binary digits are those in which they differ (two's complement)"),
}
