"""Special functions of several arguments: incomplete Gamma and Beta functions, Hurwitz's zeta function, Bessel and
hypergeometric functions, Owen's T.

Their derivatives in the last argument are elementary, or functions of the same kind. Derivatives in the parameters are
known here for the incomplete Gamma functions, Owen's T and the Faddeeva function w alone.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from certgrad.language.functions import ball as enclosed
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._elementwise import elementwise, real_power
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._functions import FUNCTIONS
from certgrad.obligations.balls._scalars import ONE, UNKNOWN, ZERO, Real
from certgrad.obligations.balls._tangents import Tangent

OF_SEVERAL: dict[str, Callable[..., Real]] = {}
"""The functions of this file, without their tangents, by name."""


def _special(
    name: str,
    slope: Callable[..., Real],
    inside: Callable[..., bool],
    ball: Callable[..., arb] | None = None,
    exact: Callable[..., Real | None] = lambda *xs: None,
    by_first: Callable[..., Real] | None = None,
) -> None:
    """Register a function of parameters and a last argument in which it is differentiable, with derivative `slope`.

    All functions take all arguments. `ball` encloses the value; without it the enclosure in `certgrad/language/` does.
    `exact` returns a value that is known exactly, or None. Where `inside` is false the function is undefined.
    `by_first` is the derivative in the first of two arguments, where it is known.
    """

    encloses = ball or enclosed(name.removeprefix("certgrad_"))

    def value(*xs: Real) -> Real:
        if any(x is UNKNOWN for x in xs):
            return UNKNOWN
        if not all(map(s.finite, xs)):
            return s.nan if any(x != x for x in xs) else UNKNOWN
        try:
            exact_value = exact(*xs)
            if exact_value is not None:
                return exact_value
            if not inside(*xs):
                return s.nan
        except Undecided:
            return UNKNOWN
        return s.if_finite(encloses(*map(s.ball, xs)))

    def tangent(out: Real, *both: object) -> Tangent:
        xs, dxs = both[: len(both) // 2], both[len(both) // 2 :]
        last = t.by_partial(lambda: slope(*xs), dxs[-1])
        if all(dx is None for dx in dxs[:-1]):
            return last
        if by_first is None:
            raise Unsupported(f"the derivative of {name} in its parameters")
        return t.plus(t.by_partial(lambda: by_first(*xs), dxs[0]), last)

    elementwise(name, value=value, tangent=tangent)
    OF_SEVERAL[name] = value


def _positive(*xs: Real) -> bool:
    """Return whether all numbers are positive; nan is not. Raises Undecided where that is open."""
    return all(s.compare(x, ZERO) == 1 for x in xs)


def _gamma_density(a: Real, x: Real) -> Real:
    """Return x^(a-1) e^(-x) / Gamma(a), which is igamma's derivative in x; NaN unless a and x are positive."""
    if not _positive(a, x):
        return s.nan
    return s.mul(real_power(x, s.sub(a, ONE)), s.mul(FUNCTIONS["exp"](s.neg(x)), s.if_finite(s.ball(a).rgamma())))


def _beta_density(a: Real, b: Real, x: Real) -> Real:
    """Return x^(a-1) (1-x)^(b-1) / B(a, b); NaN unless a and b are positive and x is between 0 and 1."""
    if not _positive(a, b, x, s.sub(ONE, x)):
        return s.nan
    p, q = s.ball(a), s.ball(b)
    powers = s.mul(real_power(x, s.sub(a, ONE)), real_power(s.sub(ONE, x), s.sub(b, ONE)))
    return s.mul(powers, s.if_finite((p + q).gamma() * p.rgamma() * q.rgamma()))


def _by_first(a: Real, x: Real) -> Real:
    return s.if_finite(enclosed("igamma_grad_a")(s.ball(a), s.ball(x))) if _positive(a, x) else s.nan


def _beta_at_ends(a: Real, b: Real, x: Real) -> Real | None:
    """Return the incomplete Beta function at x = 0 and x = 1; None at any other x."""
    ends = {0: ZERO, 1: ONE}
    return next((end for at, end in ends.items() if s.sign(s.sub(x, s.rational(at))) == 0 and _positive(a, b)), None)


_special(
    "igamma_grad_a",
    slope=lambda a, x: s.mul(_gamma_density(a, x), s.sub(FUNCTIONS["log"](x), FUNCTIONS["digamma"](a))),
    inside=_positive,
    exact=lambda a, x: ZERO if s.sign(x) == 0 and _positive(a) else None,
)
_special(
    "igamma",
    slope=_gamma_density,
    inside=_positive,
    exact=lambda a, x: ZERO if s.sign(x) == 0 and _positive(a) else None,
    by_first=_by_first,
)
_special(
    "igammac",
    ball=lambda a, x: x.gamma_upper(a, regularized=1),
    slope=lambda a, x: s.neg(_gamma_density(a, x)),
    inside=_positive,
    exact=lambda a, x: ONE if s.sign(x) == 0 and _positive(a) else None,
    by_first=lambda a, x: s.neg(_by_first(a, x)),
)
_special(
    "regularized_incomplete_beta",
    slope=_beta_density,
    inside=lambda a, b, x: _positive(a, b, x, s.sub(ONE, x)),
    exact=_beta_at_ends,
)
_special(
    "zeta",
    slope=lambda x, q: s.neg(s.mul(x, s.if_finite(enclosed("zeta")(s.ball(s.add(x, ONE)), s.ball(q))))),
    inside=lambda x, q: _positive(s.sub(x, ONE), q),
)


def _positive_last(*xs: Real) -> bool:
    return _positive(xs[-1])


def _everywhere_if_whole(v: Real, x: Real) -> bool:
    """Return whether J_v and I_v are smooth at x: everywhere at an integer order v, else where x > 0."""
    return s.is_integer(v) or _positive(x)


def _half_sum(ball: Callable[[arb, arb], arb], before: int, after: int) -> Callable[[Real, Real], Real]:
    """Return slope(v, x) = (before·F(v − 1, x) + after·F(v + 1, x)) / 2, with signs `before` and `after`.

    It is the derivative in x of the Bessel function F(v, x) of order v.
    """

    def slope(v: Real, x: Real) -> Real:
        order, at = s.ball(v), s.ball(x)
        return s.if_finite((before * ball(order - 1, at) + after * ball(order + 1, at)) / 2)

    return slope


def _bessel(kind: str, before: int, after: int, entire: bool) -> None:
    """Register a Bessel function by its letter; `entire` says that it is smooth everywhere at integer orders."""
    ball = enclosed(f"bessel_{kind}")
    domain = _everywhere_if_whole if entire else _positive_last
    _special(f"certgrad_{kind}v", ball=ball, slope=_half_sum(ball, before, after), inside=domain)


_bessel("j", 1, -1, entire=True)
_bessel("y", 1, -1, entire=False)
_bessel("i", 1, 1, entire=True)
_bessel("k", -1, -1, entire=False)


def _no_pole(x: Real) -> bool:
    return not (s.is_integer(x) and s.sign(x) <= 0)


_special(
    "certgrad_hyp1f1",
    slope=lambda a, b, x: s.mul(
        s.div(a, b), s.if_finite(enclosed("hyp1f1")(s.ball(s.add(a, ONE)), s.ball(s.add(b, ONE)), s.ball(x)))
    ),
    inside=lambda a, b, x: _no_pole(b),
)
_special(
    "certgrad_hyp2f1",
    slope=lambda a, b, c, x: s.mul(
        s.div(s.mul(a, b), c),
        s.if_finite(enclosed("hyp2f1")(*(s.ball(s.add(p, ONE)) for p in (a, b, c)), s.ball(x))),
    ),
    inside=lambda a, b, c, x: _no_pole(c) and _positive(s.sub(ONE, x)),
)


def _owens_by_first(h: Real, a: Real) -> Real:
    """Return −φ(h)·(Φ(ah) − ½), with density φ and distribution function Φ of the standard normal."""
    p, q = s.ball(h), s.ball(a)
    return s.if_finite(-(-(p**2) / 2).exp() * (p * q / arb(2).sqrt()).erf() / (8 * arb.pi()).sqrt())


def _owens_slope(h: Real, a: Real) -> Real:
    p, q = s.ball(h), 1 + s.ball(a) ** 2
    return s.if_finite((-(p**2) * q / 2).exp() / (2 * arb.pi() * q))


_special(
    "certgrad_owens_t",
    slope=_owens_slope,
    inside=lambda h, a: True,
    by_first=_owens_by_first,
)


def _wofz_slope(x: Real, y: Real) -> tuple[arb, arb]:
    """Return the real and the imaginary part of w′(x + iy), with w′(z) = 2i/√π − 2z·w(z)."""
    p, q = s.ball(x), s.ball(y)
    u, v = enclosed("wofz_re")(p, q), enclosed("wofz_im")(p, q)
    return 2 * (q * v - p * u), 2 * (1 / arb.pi().sqrt() - p * v - q * u)


_special(
    "certgrad_wofz_re",
    slope=lambda x, y: s.if_finite(-_wofz_slope(x, y)[1]),
    inside=lambda x, y: True,
    by_first=lambda x, y: s.if_finite(_wofz_slope(x, y)[0]),
)
_special(
    "certgrad_wofz_im",
    slope=lambda x, y: s.if_finite(_wofz_slope(x, y)[0]),
    inside=lambda x, y: True,
    by_first=lambda x, y: s.if_finite(_wofz_slope(x, y)[1]),
)
