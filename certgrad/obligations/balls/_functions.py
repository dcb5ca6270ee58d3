"""Real functions of one real variable: value, exactly known values, limits at infinity, domain, derivative.

There is one row for each function, keyed by the name of its lax primitive. The derivative is written here by hand
(sympy's table, which the kernel uses, is not consulted). The tests compare each row with JAX's numerics and with
`jax.jvp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, nan

from flint import arb, fmpq

from certgrad.language.functions import ball as enclosed
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._beyond import here
from certgrad.obligations.balls._errors import Undecided
from certgrad.obligations.balls._scalars import HALF, ONE, TWO, UNKNOWN, ZERO, Real

Limit = int | float | Callable[[], arb]


@dataclass(frozen=True, eq=False)
class Function:
    """A smooth function on an open domain, with the values it takes on the boundary.

    `exact` maps small integers to values that are known exactly (or are infinite). `limits` are the values at
    -inf and +inf. `inside(x)` says whether x is in the domain; it is called only where the ball function has no finite
    value. `rational(x)` is the exact value at a rational, or None. `derivative(x, y)` is f'(x), given y = f(x); it is
    not finite where f has no derivative. `edges` are functions of x that vanish where the domain, or the smoothness,
    ends.
    """

    ball: Callable[[arb], arb]
    derivative: Callable[[Real, Real], Real]
    exact: Mapping[int, int | float] = field(default_factory=dict)
    limits: tuple[Limit, Limit] = (nan, nan)
    inside: Callable[[Real], bool] = lambda x: True
    rational: Callable[[fmpq], Real] | None = None
    edges: tuple[Callable[[Real], Real], ...] = ()

    def __call__(self, x: Real) -> Real:
        """Return f(x), exact where that is known, else a ball; NaN outside of the domain, UNKNOWN if that is open."""
        kind = type(x)
        if s.watching():
            s.watch(*(edge(x) for edge in self.edges))
        if kind is fmpq:
            if x.height_bits() <= 2:  # only small integers are keys of `exact`
                for point, value in self.exact.items():
                    if x == point:
                        return value if type(value) is float else fmpq(value)
            if self.rational is not None:
                exact = self.rational(x)
                if exact is not None:
                    return exact
            y = self.ball(arb(x))
        elif kind is arb:
            y = self.ball(x)
        elif x is UNKNOWN or x != x:
            return x
        else:
            return _limit(self.limits[x > 0])
        if y.is_finite():
            return y
        try:
            return UNKNOWN if self.inside(x) else nan
        except Undecided:
            return UNKNOWN


def _limit(value: Limit) -> Real:
    """Return a value at infinity as a scalar. One that is irrational is computed here, at the current precision."""
    if callable(value):
        return value()
    return value if isinstance(value, float) else fmpq(value)


def _reciprocal(x: Real) -> Real:
    return s.div(ONE, x)


def _one_minus_square(x: Real) -> Real:
    return s.sub(ONE, s.mul(x, x))


def _one_plus_square(x: Real) -> Real:
    return s.add(ONE, s.mul(x, x))


def _root(x: Real) -> Real:
    return FUNCTIONS["sqrt"](x)


def trigamma(x: Real) -> Real:
    """Return the derivative of digamma."""
    if not s.finite(x):
        return ZERO if x == inf else x if x is UNKNOWN else nan
    return s.if_finite(enclosed("polygamma")(1, s.ball(x)))


def polygamma(order: int, x: Real) -> Real:
    """Return the order-th derivative of digamma."""
    if order == 0:
        return FUNCTIONS["digamma"](x)
    if not s.finite(x):
        return ZERO if x == inf else x if x is UNKNOWN else nan
    y = s.if_finite(enclosed("polygamma")(order, s.ball(x)))
    return nan if y is UNKNOWN and _pole(x) else y


def _pole(x: Real) -> bool:
    """Return whether x is a pole of the Gamma function: 0, -1, -2, ..."""
    return bool(x <= 0) and s.is_integer(x)


def _itself(x: Real) -> Real:
    return x


def _from_one(x: Real) -> Real:
    return s.sub(x, ONE)


def _from_minus_one(x: Real) -> Real:
    return s.add(x, ONE)


def _from_whole(x: Real) -> Real:
    return s.sub(x, s.floor(s.add(x, HALF)))


_BOTH = (_from_one, _from_minus_one)


def _above(bound: int) -> Callable[[Real], bool]:
    return lambda x: s.sign(s.sub(x, fmpq(bound))) > 0


def _within_one(x: Real) -> bool:
    return s.sign(s.sub(ONE, s.mul(x, x))) > 0


def _rational_rsqrt(x: fmpq) -> fmpq | None:
    root = s.whole_root(x, 2) if x > 0 else None
    return root and 1 / root


def _rational_cube_root(x: fmpq) -> fmpq | None:
    root = s.whole_root(abs(x), 3)
    return root if root is None or x >= 0 else -root


def _rational_exp2(x: fmpq) -> fmpq | None:
    return fmpq(2) ** int(x.numerator) if x.denominator == 1 and x.height_bits() < 10 else None


def _side(x: Real) -> Real:
    """Return the derivative of |x|: the sign of x; at 0 the side of 0 that is examined (`_beyond`), NaN if none is."""
    try:
        sign = s.sign(x) or here.toward if s.finite(x) else 0
        return fmpq(sign) if sign else nan
    except Undecided:
        return UNKNOWN


def _half_pi() -> arb:
    return arb.pi() / 2


FUNCTIONS: dict[str, Function] = {
    # exponentials and logarithms
    "exp": Function(arb.exp, lambda x, y: y, {0: 1}, (0, inf)),
    "exp2": Function(
        lambda x: (x * arb.const_log2()).exp(),
        lambda x, y: s.mul(y, arb.const_log2()),
        {0: 1},
        (0, inf),
        rational=_rational_exp2,
    ),
    "expm1": Function(arb.expm1, lambda x, y: s.add(y, ONE), {0: 0}, (-1, inf)),
    "log": Function(arb.log, lambda x, y: _reciprocal(x), {0: -inf, 1: 0}, (nan, inf), _above(0), edges=(_itself,)),
    "log2": Function(
        lambda x: x.log() / arb.const_log2(),
        lambda x, y: _reciprocal(s.mul(x, arb.const_log2())),
        {0: -inf, 1: 0, 2: 1},
        (nan, inf),
        _above(0),
        edges=(_itself,),
    ),
    "log1p": Function(
        arb.log1p,
        lambda x, y: _reciprocal(s.add(ONE, x)),
        {-1: -inf, 0: 0},
        (nan, inf),
        _above(-1),
        edges=(_from_minus_one,),
    ),
    "logistic": Function(
        lambda x: 1 / (1 + (-x).exp()),
        lambda x, y: s.mul(y, s.sub(ONE, y)),
        limits=(0, 1),
        rational=lambda x: None if x else HALF,
    ),
    # circular and hyperbolic functions
    "sin": Function(arb.sin, lambda x, y: FUNCTIONS["cos"](x), {0: 0}),
    "cos": Function(arb.cos, lambda x, y: s.neg(FUNCTIONS["sin"](x)), {0: 1}),
    "tan": Function(arb.tan, lambda x, y: _one_plus_square(y), {0: 0}, edges=(lambda x: FUNCTIONS["cos"](x),)),
    "asin": Function(
        arb.asin, lambda x, y: _reciprocal(_root(_one_minus_square(x))), {0: 0}, inside=_within_one, edges=_BOTH
    ),
    "acos": Function(
        arb.acos, lambda x, y: s.neg(_reciprocal(_root(_one_minus_square(x)))), {1: 0}, inside=_within_one, edges=_BOTH
    ),
    "atan": Function(arb.atan, lambda x, y: _reciprocal(_one_plus_square(x)), {0: 0}, (lambda: -_half_pi(), _half_pi)),
    "sinh": Function(arb.sinh, lambda x, y: FUNCTIONS["cosh"](x), {0: 0}, (-inf, inf)),
    "cosh": Function(arb.cosh, lambda x, y: FUNCTIONS["sinh"](x), {0: 1}, (inf, inf)),
    "tanh": Function(arb.tanh, lambda x, y: _one_minus_square(y), {0: 0}, (-1, 1)),
    "asinh": Function(arb.asinh, lambda x, y: _reciprocal(_root(_one_plus_square(x))), {0: 0}, (-inf, inf)),
    "acosh": Function(
        arb.acosh,
        lambda x, y: _reciprocal(_root(s.sub(s.mul(x, x), ONE))),
        {1: 0},
        (nan, inf),
        _above(1),
        edges=(_from_one,),
    ),
    "atanh": Function(
        arb.atanh,
        lambda x, y: _reciprocal(_one_minus_square(x)),
        {-1: -inf, 0: 0, 1: inf},
        inside=_within_one,
        edges=_BOTH,
    ),
    # roots and powers
    "sqrt": Function(
        arb.sqrt,
        lambda x, y: s.div(HALF, y),
        {0: 0, 1: 1},
        (nan, inf),
        _above(0),
        rational=lambda x: s.whole_root(x, 2) if x >= 0 else None,
        edges=(_itself,),
    ),
    "rsqrt": Function(
        arb.rsqrt,
        lambda x, y: s.div(s.neg(y), s.mul(TWO, x)),
        {1: 1},
        (nan, 0),
        _above(0),
        rational=_rational_rsqrt,
        edges=(_itself,),
    ),
    "cbrt": Function(
        enclosed("cbrt"),
        lambda x, y: _reciprocal(s.mul(fmpq(3), s.mul(y, y))),
        {0: 0, 1: 1},
        (-inf, inf),
        rational=_rational_cube_root,
        edges=(_itself,),
    ),
    # error and Gamma functions
    "erf": Function(arb.erf, lambda x, y: _bell(x), {0: 0}, (-1, 1)),
    "erfc": Function(arb.erfc, lambda x, y: s.neg(_bell(x)), {0: 1}, (2, 0)),
    "erf_inv": Function(
        arb.erfinv, lambda x, y: _reciprocal(_bell(y)), {-1: -inf, 0: 0, 1: inf}, inside=_within_one, edges=_BOTH
    ),
    "lgamma": Function(
        enclosed("lgamma"),
        lambda x, y: FUNCTIONS["digamma"](x),
        {1: 0, 2: 0},
        (inf, inf),
        rational=lambda x: inf if _pole(x) else None,
        edges=(_from_whole,),
    ),
    "digamma": Function(
        arb.digamma, lambda x, y: trigamma(x), {}, (nan, inf), lambda x: not _pole(x), edges=(_from_whole,)
    ),
    # integrals of elementary functions
    "certgrad_erfi": Function(
        arb.erfi, lambda x, y: s.mul(FUNCTIONS["exp"](s.mul(x, x)), 2 / arb.pi().sqrt()), {0: 0}, (-inf, inf)
    ),
    "certgrad_expi": Function(
        arb.ei,
        lambda x, y: s.div(FUNCTIONS["exp"](x), x),
        {0: -inf},
        (0, inf),
        edges=(_itself,),
    ),
    "certgrad_si": Function(arb.si, lambda x, y: _sinc(x), {0: 0}, (lambda: -_half_pi(), _half_pi)),
    "certgrad_ci": Function(
        enclosed("ci"),
        lambda x, y: s.div(FUNCTIONS["cos"](x), x),
        {0: -inf},
        (0, 0),
        edges=(_itself,),
    ),
    "certgrad_fresnels": Function(
        arb.fresnel_s, lambda x, y: FUNCTIONS["sin"](_half_pi_square(x)), {0: 0}, (lambda: arb(-0.5), lambda: arb(0.5))
    ),
    "certgrad_fresnelc": Function(
        arb.fresnel_c, lambda x, y: FUNCTIONS["cos"](_half_pi_square(x)), {0: 0}, (lambda: arb(-0.5), lambda: arb(0.5))
    ),
    "certgrad_spence": Function(
        enclosed("spence"),
        lambda x, y: _spence_slope(x),
        {1: 0},
        (nan, -inf),
        _above(0),
        edges=(_itself,),
    ),
    "certgrad_lambertw": Function(
        arb.lambertw,
        lambda x, y: _reciprocal(s.mul(s.add(ONE, y), FUNCTIONS["exp"](y))),
        {0: 0},
        (nan, inf),
        lambda x: s.sign(s.add(x, (-arb(1)).exp())) > 0,
        edges=(lambda x: s.add(x, (-arb(1)).exp()),),
    ),
    # Bessel functions, exponentially scaled
    "bessel_i0e": Function(
        enclosed("bessel_i0e"),
        lambda x, y: s.sub(FUNCTIONS["bessel_i1e"](x), s.mul(_side(x), y)),
        {0: 1},
        (0, 0),
        edges=(_itself,),
    ),
    "bessel_i1e": Function(
        enclosed("bessel_i1e"),
        lambda x, y: s.sub(s.sub(FUNCTIONS["bessel_i0e"](x), s.div(y, x)), s.mul(_side(x), y)),
        {0: 0},
        (0, 0),
        edges=(_itself,),
    ),
}


def _half_pi_square(x: Real) -> Real:
    return s.mul(s.mul(x, x), _half_pi())


def _sinc(x: Real) -> Real:
    """Return sin(x)/x, which is 1 at 0."""
    try:
        return ONE if s.sign(x) == 0 else s.div(FUNCTIONS["sin"](x), x)
    except Undecided:
        return UNKNOWN


def _spence_slope(x: Real) -> Real:
    """Return log(x)/(1 − x), which is −1 at 1."""
    try:
        if s.sign(s.sub(x, ONE)) == 0:
            return s.neg(ONE)
    except Undecided:
        return UNKNOWN
    return s.div(FUNCTIONS["log"](x), s.sub(ONE, x))


def _bell(x: Real) -> Real:
    """Return erf'(x) = 2 exp(-x^2) / sqrt(pi)."""
    return s.mul(FUNCTIONS["exp"](s.neg(s.mul(x, x))), 2 / arb.pi().sqrt())
