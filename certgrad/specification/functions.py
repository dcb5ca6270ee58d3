"""The functions of `Function`, by name: what each is, and where it is defined.

Functions that others make are not here: the rule of `tan` says sin / cos, that of `log1p` log(1 + x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from .expression import And, Compare, Expression, Floor, Not, Number, Or, Sort, ToReal, Truth

Domain = Callable[..., Expression]
_REAL: Sort = "real"


@dataclass(frozen=True)
class Meaning:
    """A function: the sorts of its arguments and its result, what defines it, and where it is defined."""

    arguments: tuple[Sort, ...]
    result: Sort
    says: str
    domain: Domain


def _number(p: int, q: int = 1) -> Expression:
    return Number(Fraction(p, q))


def _everywhere(*_: Expression) -> Expression:
    return Truth(True)


def _above(low: int) -> Domain:
    return lambda x, *_: Compare("<", _number(low), x)


def _at_least(low: int) -> Domain:
    return lambda x, *_: Compare("≤", _number(low), x)


def _between(low: int, high: int) -> Domain:
    """low < x < high"""
    return lambda x: And((Compare("<", _number(low), x), Compare("<", x, _number(high))))


def _from_to(low: int, high: int) -> Domain:
    """low ≤ x ≤ high"""
    return lambda x: And((Compare("≤", _number(low), x), Compare("≤", x, _number(high))))


def _no_pole(x: Expression) -> Expression:
    """x is none of 0, −1, −2, …"""
    return Or((Compare("<", _number(0), x), Not(Compare("=", ToReal(Floor(x)), x))))


def _no_pole_of_second(n: Expression, x: Expression) -> Expression:
    """n is one of 0, 1, 2, … and x no pole"""
    return And((Compare("≤", _number(0), n), Compare("=", ToReal(Floor(n)), n), _no_pole(x)))


def _of_zeta(s: Expression, q: Expression) -> Expression:
    return And((Compare("<", _number(1), s), Compare("<", _number(0), q)))


def _of_igamma(a: Expression, x: Expression) -> Expression:
    return And((Compare("<", _number(0), a), Compare("≤", _number(0), x)))


def _of_betainc(a: Expression, b: Expression, x: Expression) -> Expression:
    return And((Compare("<", _number(0), a), Compare("<", _number(0), b), _from_to(0, 1)(x)))


def _off_the_cut(y: Expression, x: Expression) -> Expression:
    """y ≠ 0 or x > 0: elsewhere the sign of a zero tells π from −π, and a real zero has none"""
    return Or((Not(Compare("=", y, _number(0))), Compare("<", _number(0), x)))


def _real(says: str, domain: Domain = _everywhere, arity: int = 1) -> Meaning:
    return Meaning((_REAL,) * arity, "real", says, domain)


def _bits(says: str) -> Meaning:
    return Meaning(("integer", "integer"), "integer", says, _everywhere)


FUNCTIONS: dict[str, Meaning] = {
    "pi": _real("π, the least positive zero of sin", arity=0),
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
    "bitwise and": _bits("the integer whose binary digits are those that both have (two's complement)"),
    "bitwise or": _bits("the integer whose binary digits are those that one has (two's complement)"),
    "bitwise xor": _bits("the integer whose binary digits are those in which they differ (two's complement)"),
}
