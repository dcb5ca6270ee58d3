"""The functions that programs and statements name: one record each, with what any part knows of the function itself.

Functions that others make are not here: the rule of `tan` says sin / cos, that of `log1p` log(1 + x). What the calculus
makes of a primitive is in its own table, as are hand-written derivatives, and what sympy has to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from flint import acb, arb

from .tree import (
    ONE,
    TRUE,
    ZERO,
    Add,
    Apply,
    Both,
    Compare,
    Either,
    Integer,
    Mul,
    Not,
    Sort,
    Statement,
    Term,
    ToReal,
    number,
)

Domain = Callable[..., Statement]
_REAL: Sort = "real"


@dataclass(frozen=True, kw_only=True)
class Function:
    """Facts about a function, for all real arguments inside its domain."""

    arguments: tuple[Sort, ...]
    result: Sort = _REAL
    domain: Domain
    """The statement, about the arguments, of where it is defined."""
    says: str = ""
    """Its definition in words; "" for a function that only statements name."""
    ball: Callable[..., Any] | None = None
    """Returns a ball around its values at balls in the domain, which is not finite where it has no value."""
    parity: Literal["", "odd", "even"] = ""
    at_zero: int | None = None
    """f(0), where it is a whole number. An odd function is 0 there."""
    sign: Literal["", "of its argument", ">= 0", "> 0"] = ""
    only_zero: bool = False
    """Whether it is 0 at 0 only."""
    size: Literal["", "at most 1", "below 1"] = ""
    """What is known of its absolute value."""
    monotone: Literal["", "increasing", "decreasing"] = ""
    """Strictly so, throughout its domain."""
    whole: bool = False
    """Whether its values are whole numbers."""


def ball(name: str) -> Callable[..., Any]:
    """Return the enclosure of a function. Raises KeyError for one that balls do not know."""
    enclosure = FUNCTIONS[name].ball
    if enclosure is None:
        raise KeyError(name)
    return enclosure


def everywhere(*_: Term) -> Statement:
    return TRUE


def _above(low: int) -> Domain:
    return lambda x, *_: Compare("<", number(low), x)


def _at_least(low: int) -> Domain:
    return lambda x, *_: Compare("<=", number(low), x)


def _open_interval(low: int, high: int) -> Domain:
    """Return the domain low < x < high."""
    return lambda x: Both((Compare("<", number(low), x), Compare("<", x, number(high))))


def _from_to(low: int, high: int) -> Domain:
    """Return the domain low ≤ x ≤ high."""
    return lambda x: Both((Compare("<=", number(low), x), Compare("<=", x, number(high))))


def _whole_part(x: Term) -> Term:
    return ToReal(Apply("floor", (x,)))


def _no_pole(x: Term) -> Statement:
    """Return the statement that x is none of 0, −1, −2, …, the poles of Γ."""
    return Either((Compare("<", ZERO, x), Not(Compare("=", _whole_part(x), x))))


def _no_pole_of_second(n: Term, x: Term) -> Statement:
    """Return the statement that n is one of 0, 1, 2, …, and x no pole of Γ."""
    return Both((Compare("<=", ZERO, n), Compare("=", _whole_part(n), n), _no_pole(x)))


def _of_zeta(s: Term, q: Term) -> Statement:
    return Both((Compare("<", number(1), s), Compare("<", ZERO, q)))


def _of_igamma(a: Term, x: Term) -> Statement:
    return Both((Compare("<", ZERO, a), Compare("<=", ZERO, x)))


def _of_betainc(a: Term, b: Term, x: Term) -> Statement:
    return Both((Compare("<", ZERO, a), Compare("<", ZERO, b), _from_to(0, 1)(x)))


def _off_the_cut(y: Term, x: Term) -> Statement:
    """Return y ≠ 0 or x > 0: elsewhere the sign of a zero tells π from −π, and a real zero has no sign."""
    return Either((Not(Compare("=", y, ZERO)), Compare("<", ZERO, x)))


def _not_zero(x: Term) -> Statement:
    return Not(Compare("=", x, ZERO))


def _above_one_on_e(x: Term) -> Statement:
    return Compare("<", ZERO, Add((ONE, Mul((x, Apply("exp", (ONE,)))))))


def _of_bessel(entire: bool) -> Domain:
    """Return the domain of a Bessel function: x > 0, and for `entire` ones (J and I) any x at a whole order."""

    def domain(order: Term, x: Term) -> Statement:
        positive = Compare("<", ZERO, x)
        return Either((positive, Compare("=", _whole_part(order), order))) if entire else positive

    return domain


def _of_hyp2f1(a: Term, b: Term, c: Term, x: Term) -> Statement:
    return Both((_no_pole(c), Compare("<", x, number(1))))


def _divisor_not_zero(_: Term, right: Term) -> Statement:
    return Not(Compare("=", right, Integer(0)))


def _of_real_power(base: Term, exponent: Term) -> Statement:
    return Either((Compare("<", ZERO, base), Both((Compare("=", base, ZERO), Compare("<", ZERO, exponent)))))


def _exponent_not_negative(_: Term, exponent: Term) -> Statement:
    return Compare("<=", Integer(0), exponent)


def _of_whole_power(base: Term, exponent: Term) -> Statement:
    return Either((_exponent_not_negative(base, exponent), Not(Compare("=", base, ZERO))))


def _real_function(
    says: str, ball: Callable[..., Any] | None = None, domain: Domain = everywhere, arity: int = 1, **facts: Any
) -> Function:
    return Function(arguments=(_REAL,) * arity, domain=domain, says=says, ball=ball, **facts)


def _odd(says: str, ball: Callable[..., Any], domain: Domain = everywhere, **facts: Any) -> Function:
    """Return the record of an odd function that has the sign of its argument."""
    return _real_function(says, ball, domain, parity="odd", sign="of its argument", only_zero=True, at_zero=0, **facts)


def _bessel(says: str, kind: str, entire: bool = False, **facts: Any) -> Function:
    """Return the record of a Bessel function of a real order and an argument; `kind` is j, y, i or k."""
    name = f"bessel_{kind}"
    return _real_function(name + says, lambda v, x: getattr(x, name)(v), _of_bessel(entire), arity=2, **facts)


def _integers(says: str, domain: Domain = everywhere) -> Function:
    return Function(arguments=("integer", "integer"), result="integer", says=says, domain=domain)


def _cbrt(x: arb) -> arb:
    if x == 0:
        return arb(0)
    return x.root(3) if x > 0 else -((-x).root(3))


def _lgamma(x: arb) -> arb:
    return x.lgamma() if x > 0 else abs(x.gamma()).log()


def _round_even(x: arb) -> arb:
    low = (x + arb(0.5)).floor()
    return low - 1 if x + arb(0.5) == low and int(low.unique_fmpz()) % 2 else low


def _igamma_slope(a: arb, x: arb) -> arb:
    """Return ∂P/∂a of P(a, x) = xᵃ·Σ_k (−x)ᵏ/(k!·(a + k)) / Γ(a), the lower incomplete gamma function over Γ(a)."""
    if x == 0:
        return arb(0)
    series = (acb(-x).hypgeom([acb(a), acb(a)], [acb(a + 1), acb(a + 1)])).real / a**2
    return x.gamma_lower(a, 1) * (x.log() - a.digamma()) - x**a * series * a.rgamma()


def _owens_t(h: arb, a: arb) -> arb:
    """Return Owen's T as the integral of its integrand from 0 to a."""
    integral = acb.integral(lambda t, _: (-(acb(h) ** 2) * (1 + t * t) / 2).exp() / (1 + t * t), acb(0), acb(a))
    return integral.real / (2 * arb.pi())


def _wofz(x: arb, y: arb) -> acb:
    """Return exp(−z²)·erfc(−iz) at z = x + iy."""
    z = acb(x, y)
    return (-z * z).exp() * (z * acb(0, -1)).erfc()


_INCOMPLETE_BETA = _real_function(
    "∫₀ˣ tᵃ⁻¹·(1−t)ᵇ⁻¹ dt / ∫₀¹ tᵃ⁻¹·(1−t)ᵇ⁻¹ dt, of a, b, x",
    lambda a, b, x: x.beta_lower(a, b, 1),
    _of_betainc,
    arity=3,
    sign=">= 0",
    size="at most 1",
)
_WHOLE_POWER = Function(
    arguments=("real", "integer"),
    says="by multiplication, with x⁰ = 1; for an exponent < 0 the reciprocal, of x ≠ 0",
    domain=_of_whole_power,
)

FUNCTIONS: dict[str, Function] = {
    "floor": Function(
        arguments=("real",),
        result="integer",
        says="the greatest integer that is at most x",
        domain=everywhere,
        ball=arb.floor,
        whole=True,
    ),
    "quotient": _integers("⌊left/right⌋: rounded towards −∞", _divisor_not_zero),
    "remainder": _integers("left − right·⌊left/right⌋: it has the sign of right", _divisor_not_zero),
    "real power": _real_function("exp(y·log(x)) for x > 0, and 0 for x = 0 and y > 0", None, _of_real_power, arity=2),
    "whole power": _WHOLE_POWER,
    "integer power": _integers("by multiplication, with x⁰ = 1, for an exponent ≥ 0", _exponent_not_negative),
    "exp": _real_function("exp(x) = Σ_{k≥0} xᵏ/k!", arb.exp, monotone="increasing"),
    "log": _real_function("the y with exp(y) = x", arb.log, _above(0), monotone="increasing"),
    "sqrt": _real_function("the y ≥ 0 with y² = x", arb.sqrt, _at_least(0), monotone="increasing"),
    "cbrt": _odd("the y with y³ = x", _cbrt, monotone="increasing"),
    "sin": _real_function("sin(x) = Σ_{k≥0} (−1)ᵏ·x²ᵏ⁺¹/(2k+1)!", arb.sin, parity="odd", at_zero=0, size="at most 1"),
    "cos": _real_function("cos(x) = Σ_{k≥0} (−1)ᵏ·x²ᵏ/(2k)!", arb.cos, parity="even", at_zero=1, size="at most 1"),
    "asin": _odd("the y in [−π/2, π/2] with sin(y) = x", arb.asin, _from_to(-1, 1), monotone="increasing"),
    "acos": _real_function(
        "the y in [0, π] with cos(y) = x", arb.acos, _from_to(-1, 1), sign=">= 0", monotone="decreasing"
    ),
    "atan": _odd("the y in (−π/2, π/2) with sin(y)/cos(y) = x", arb.atan, monotone="increasing"),
    "atan2": _real_function(
        "atan2(y, x): the angle in (−π, π) of the point (x, y)", lambda y, x: arb.atan2(y, x), _off_the_cut, arity=2
    ),
    "sinh": _real_function("(exp(x) − exp(−x))/2", arb.sinh, monotone="increasing"),
    "cosh": _real_function("(exp(x) + exp(−x))/2", arb.cosh),
    "tanh": _real_function("(exp(x) − exp(−x))/(exp(x) + exp(−x))", arb.tanh, monotone="increasing"),
    "asinh": _odd("the y with sinh(y) = x", arb.asinh, monotone="increasing"),
    "acosh": _real_function("the y ≥ 0 with cosh(y) = x", arb.acosh, _at_least(1), sign=">= 0", monotone="increasing"),
    "atanh": _odd("the y with tanh(y) = x", arb.atanh, _open_interval(-1, 1), monotone="increasing"),
    "erf": _odd("(2/√π)·∫₀ˣ exp(−t²) dt", arb.erf, size="below 1", monotone="increasing"),
    "erf_inv": _odd("the y with erf(y) = x", arb.erfinv, _open_interval(-1, 1), monotone="increasing"),
    "lgamma": _real_function(
        "log|Γ(x)|, with Γ(x) = ∫₀^∞ tˣ⁻¹·exp(−t) dt for x > 0, and Γ(x) = Γ(x + 1)/x", _lgamma, _no_pole
    ),
    "digamma": _real_function("Γ′(x)/Γ(x)", arb.digamma, _no_pole),
    "polygamma": _real_function(
        "polygamma(n, x): the n-th derivative of digamma at x",
        lambda n, x: acb(x).polygamma(n).real,
        _no_pole_of_second,
        arity=2,
    ),
    "zeta": _real_function("zeta(s, q) = Σ_{k≥0} (q + k)⁻ˢ", lambda s, q: s.zeta(q), _of_zeta, arity=2, sign="> 0"),
    "igamma": _real_function(
        "igamma(a, x) = ∫₀ˣ tᵃ⁻¹·exp(−t) dt / Γ(a)",
        lambda a, x: x.gamma_lower(a, 1),
        _of_igamma,
        arity=2,
        sign=">= 0",
        size="below 1",
    ),
    "igamma_grad_a": _real_function("the derivative of igamma(a, x) in a", _igamma_slope, _of_igamma, arity=2),
    "regularized_incomplete_beta": _INCOMPLETE_BETA,
    "bessel_i0e": _real_function(
        "exp(−|x|)·I₀(x), with Iₙ(x) = Σ_{k≥0} (x/2)²ᵏ⁺ⁿ/(k!·(k+n)!)", lambda x: abs(x).bessel_i(0, scaled=True)
    ),
    "bessel_i1e": _real_function("exp(−|x|)·I₁(x)", lambda x: x.bessel_i(1) * (-abs(x)).exp()),
    "is finite": Function(
        arguments=("real",), result="boolean", says="true of a real number, false of ±∞", domain=everywhere
    ),
    "bitwise and": _integers("the integer whose binary digits are those that both have (two's complement)"),
    "bitwise or": _integers("the integer whose binary digits are those that one has (two's complement)"),
    "bitwise xor": _integers("the integer whose binary digits are those in which they differ (two's complement)"),
    # Of statements alone
    "round_even": _real_function("", _round_even, whole=True),
    "round_away": _real_function("", lambda x: (abs(x) + arb(0.5)).floor() * (1 if x >= 0 else -1), whole=True),
    "bessel_i0": _real_function("", lambda x: x.bessel_i(0), parity="even", at_zero=1, sign="> 0"),
    "bessel_i1": _odd("", lambda x: x.bessel_i(1), monotone="increasing"),
    "incomplete_beta": replace(_INCOMPLETE_BETA, says=""),
    # Of `certgrad.special`. Bessel functions are of a real order and an argument; I₀ and I₁ are rows of their own.
    "bessel_j": _bessel("(v, x) = Σ_{k≥0} (−1)ᵏ·(x/2)²ᵏ⁺ᵛ/(k!·Γ(k+v+1))", "j", entire=True),
    "bessel_y": _bessel("(v, x) = (cos(vπ)·Jᵥ(x) − J₋ᵥ(x))/sin(vπ), continuous in v", "y"),
    "bessel_i": _bessel("(v, x) = Σ_{k≥0} (x/2)²ᵏ⁺ᵛ/(k!·Γ(k+v+1))", "i", entire=True),
    "bessel_k": _bessel("(v, x) = (π/2)·(I₋ᵥ(x) − Iᵥ(x))/sin(vπ), continuous in v", "k", sign="> 0"),
    "erfi": _odd("(2/√π)·∫₀ˣ exp(t²) dt", arb.erfi, monotone="increasing"),
    "expi": _real_function("the principal value of ∫ exp(t)/t dt from −∞ to x", arb.ei, _not_zero),
    "si": _odd("∫₀ˣ sin(t)/t dt", arb.si),
    "ci": _real_function("γ + log|x| + ∫₀ˣ (cos(t) − 1)/t dt", lambda x: abs(x).ci(), _not_zero, parity="even"),
    "fresnels": _odd("∫₀ˣ sin(π·t²/2) dt", arb.fresnel_s, size="below 1"),
    "fresnelc": _odd("∫₀ˣ cos(π·t²/2) dt", arb.fresnel_c, size="below 1"),
    "lambertw": _real_function(
        "the y ≥ −1 with y·exp(y) = x",
        arb.lambertw,
        _above_one_on_e,
        sign="of its argument",
        at_zero=0,
        monotone="increasing",
    ),
    "spence": _real_function(
        "∫₁ˣ log(t)/(1 − t) dt", lambda x: acb(1 - x).polylog(2).real, _above(0), monotone="decreasing"
    ),
    "owens_t": _real_function("owens_t(h, a) = (1/2π)·∫₀ᵃ exp(−h²·(1 + t²)/2)/(1 + t²) dt", _owens_t, arity=2),
    "wofz_re": _real_function(
        "the real part of exp(−z²)·erfc(−iz) at z = x + iy", lambda x, y: _wofz(x, y).real, arity=2
    ),
    "wofz_im": _real_function(
        "the imaginary part of exp(−z²)·erfc(−iz) at z = x + iy", lambda x, y: _wofz(x, y).imag, arity=2
    ),
    "hyp1f1": _real_function(
        "hyp1f1(a, b, x) = Σ_{k≥0} (a)ₖ/(b)ₖ·xᵏ/k!, with (a)ₖ = a·(a+1)⋯(a+k−1)",
        lambda a, b, x: x.hypgeom_1f1(a, b),
        lambda a, b, x: _no_pole(b),
        arity=3,
    ),
    "hyp2f1": _real_function(
        "hyp2f1(a, b, c, x) = Σ_{k≥0} (a)ₖ·(b)ₖ/(c)ₖ·xᵏ/k! for |x| < 1, and its analytic continuation",
        lambda a, b, c, x: x.hypgeom_2f1(a, b, c),
        _of_hyp2f1,
        arity=4,
    ),
    # Of statements alone
    "whole_power": replace(_WHOLE_POWER, says=""),
    "stop": _real_function("", lambda x: x, sign="of its argument"),
}
