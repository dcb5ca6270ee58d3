"""Elementwise arithmetic: the primitives whose result at an index depends on the operands at that index alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._functions import FUNCTIONS, polygamma
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ONE, TWO, UNKNOWN, ZERO, Real
from certgrad.obligations.balls._tangents import KINK, Tangent
from certgrad.obligations.balls._values import Array, Context, Value, lifted


def pointwise(
    name: str,
    value: Callable[..., Real],
    tangent: Callable[..., Tangent],
    integer: Callable[..., Array] | None,
    *operands: Value,
) -> Value:
    """Return the primitive `name` of arrays: at each index `value(*x)`, with the tangent `tangent(out, *x, *dx)`.

    Integers and booleans are computed by numpy's `integer`; None means that the primitive has no meaning for them.
    """
    primals = [x.primal for x in operands]
    tangents = [x.tangent for x in operands]
    constant = all(d is None for d in tangents)
    if not any(p.dtype == object for p in primals):
        if integer is None:
            raise Unsupported(f"primitive {name} of integers or booleans")
        out = np.asarray(integer(*primals))
        # integers and booleans have marks in the place of tangents (see `_tangents`)
        marks = None if constant else lifted(t.spread, len(operands))(*tangents)
        return Value(out, None if marks is None else np.broadcast_to(marks, out.shape))
    out = lifted(value, len(operands))(*primals)
    if constant:
        return Value(out)
    return Value(out, lifted(tangent, 1 + 2 * len(operands))(out, *primals, *tangents))


def elementwise(
    *names: str,
    value: Callable[..., Real],
    tangent: Callable[..., Tangent],
    integer: Callable[..., Array] | None = None,
) -> None:
    """Register one elementwise primitive without parameters."""

    def rule(ctx: Context, params: Params, *operands: Value) -> Value:
        return pointwise(names[0], value, tangent, integer, *operands)

    primitive(*names)(rule)


def _locally_constant(tie: Callable[[Real], bool | None]) -> Callable[[Real, Real, Tangent], Tangent]:
    """Return the tangent rule of a function that is constant but for jumps: `tie(x)` says whether it jumps at x."""

    def tangent(out: Real, x: Real, dx: Tangent) -> Tangent:
        return None if dx is None else t.crossing(tie(x), dx)

    return tangent


# field operations

elementwise(
    "add",
    "add_any",
    value=s.add,
    tangent=lambda out, a, b, da, db: t.plus(da, db),
    integer=lambda a, b: np.bitwise_or(a, b) if a.dtype == bool else np.add(a, b),
)
elementwise("sub", value=s.sub, tangent=lambda out, a, b, da, db: t.minus(da, db), integer=np.subtract)
elementwise("mul", value=s.mul, tangent=t.product, integer=np.multiply)
elementwise("neg", value=s.neg, tangent=lambda out, a, da: t.negated(da), integer=np.negative)


def _truncated_quotient(a: Array, b: Array) -> Array:
    if np.any(b == 0):
        raise Unsupported("integer division by zero")
    return (a - np.fmod(a, b)) // b


elementwise("div", value=s.div, tangent=t.quotient, integer=_truncated_quotient)
elementwise(
    "square",
    value=lambda a: s.power(a, 2),
    tangent=lambda out, a, da: t.scaled(s.mul(TWO, a), da),
    integer=np.square,
)
elementwise(
    "one_minus_square",
    value=lambda a: s.sub(ONE, s.power(a, 2)),
    tangent=lambda out, a, da: t.scaled(s.mul(fmpq(-2), a), da),
)


# powers


@cache
def _whole_power(n: int) -> tuple[Callable[[Real], Real], Callable[[Real, Real, Tangent], Tangent]]:
    """Return value and tangent rule of x**n, the same two objects at each call, as `lifted` caches by them."""

    def value(a: Real) -> Real:
        return s.power(a, n)

    def tangent(out: Real, a: Real, da: Tangent) -> Tangent:
        return None if n == 0 else t.by_partial(lambda: s.mul(fmpq(n), s.power(a, n - 1)), da)

    return value, tangent


@primitive("integer_pow")
def _integer_pow(ctx: Context, params: Params, x: Value) -> Value:
    n = int(params["y"])
    return pointwise("integer_pow", *_whole_power(n), lambda a: a**n, x)


def real_power(a: Real, b: Real) -> Real:
    """Return a**b as in IEEE, except that 0 to a negative power is NaN, as zero carries no sign here."""
    if type(b) is fmpq and b.denominator == 1 and b.height_bits() < 32:
        return s.power(a, int(b.numerator))
    if not s.finite(a) or not s.finite(b):
        return UNKNOWN if a is UNKNOWN or b is UNKNOWN else _special_power(a, b)
    try:
        side = s.sign(a)
        if side == 0:
            return ZERO if s.sign(b) > 0 else s.nan
        if side < 0:
            return s.nan if not s.is_integer(b) else UNKNOWN
    except Undecided:
        return UNKNOWN
    if type(a) is fmpq and type(b) is fmpq and b.denominator <= 8:
        root = s.whole_root(a, int(b.denominator))
        if root is not None:
            return s.power(root, int(b.numerator))
    return s.if_finite(s.ball(a) ** s.ball(b))


def _special_power(a: Real, b: Real) -> Real:
    """Return a**b where a number is infinite or NaN: NaN for NaN, the limit for a = inf, else UNKNOWN."""
    if a != a or b != b:
        return s.nan
    if a == s.inf and s.finite(b):
        return UNKNOWN if not (b > 0 or b < 0) else s.inf if b > 0 else ZERO
    return UNKNOWN


def _power_tangent(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    if da is KINK or db is KINK:
        return KINK
    by_exponent = t.by_partial(lambda: s.nan if s.finite(a) and a <= 0 else s.mul(out, FUNCTIONS["log"](a)), db)
    return t.plus(t.by_partial(lambda: _power_slope(a, b), da), by_exponent)


def _power_slope(a: Real, b: Real) -> Real:
    """Return b·a**(b − 1), the derivative of a**b in a; NaN at a = 0 for an exponent that is no known integer."""
    whole = type(b) is fmpq and b.denominator == 1
    if whole and not b:
        return ZERO
    if type(a) is fmpq and not a and not whole:
        return s.nan
    return s.mul(b, real_power(a, s.sub(b, ONE)))


@primitive("pow")
def _pow(ctx: Context, params: Params, x: Value, y: Value) -> Value:
    if not y.real and x.real:
        y = Value(lifted(lambda n: fmpq(int(n)), 1)(y.primal), y.tangent)
    return pointwise("pow", real_power, _power_tangent, np.power, x, y)


# the table of smooth functions

for _name, _function in FUNCTIONS.items():
    elementwise(_name, value=_function, tangent=t.chain(_function))


def atan2(y: Real, x: Real) -> Real:
    """Return the angle of (x, y).

    It is UNKNOWN where y is 0 and x is not positive: the sign of the zero decides there, and zeros have none here.
    """
    if y is UNKNOWN or x is UNKNOWN:
        return UNKNOWN
    if not s.finite(y) or not s.finite(x):
        return s.nan if y != y or x != x else UNKNOWN
    if type(y) is fmpq and not y:
        try:
            return ZERO if s.sign(x) > 0 else UNKNOWN
        except Undecided:
            return UNKNOWN
    return s.if_finite(arb.atan2(s.ball(y), s.ball(x)))


def _atan2_tangent(out: Real, y: Real, x: Real, dy: Tangent, dx: Tangent) -> Tangent:
    if type(y) is fmpq and not y and s.finite(x) and bool(x <= 0):
        return t.jump(dy, dx)
    norm = s.add(s.mul(x, x), s.mul(y, y))
    return t.plus(t.by_partial(lambda: s.div(x, norm), dy), t.by_partial(lambda: s.neg(s.div(y, norm)), dx))


elementwise("atan2", value=atan2, tangent=_atan2_tangent)


@cache
def _polygamma_row(order: int) -> tuple[Callable[[Real], Real], Callable[[Real, Real, Tangent], Tangent]]:
    """Return value and tangent rule of the order-th derivative of digamma."""

    def tangent(out: Real, x: Real, dx: Tangent) -> Tangent:
        return t.by_partial(lambda: polygamma(order + 1, x), dx)

    return partial(polygamma, order), tangent


@primitive("polygamma")
def _polygamma(ctx: Context, params: Params, m: Value, x: Value) -> Value:
    orders = {s.as_int(order) for order in m.primal.flat}
    if len(orders) != 1 or m.tangent is not None:
        raise Unsupported("polygamma of varying order")
    out = pointwise("polygamma", *_polygamma_row(orders.pop()), None, x)
    shape = np.broadcast_shapes(m.primal.shape, x.primal.shape)
    tangent = None if out.tangent is None else np.broadcast_to(out.tangent, shape)
    return Value(np.broadcast_to(out.primal, shape), tangent)


# absolute value, sign, rounding


def _sign(x: Real) -> Real:
    if x is UNKNOWN or x != x:
        return x
    try:
        return fmpq(s.sign(x))
    except Undecided:
        return UNKNOWN


def _absolute_tangent(out: Real, x: Real, dx: Tangent) -> Tangent:
    """Return the tangent of |x|: sign(x)·dx.

    At x = 0 the sign is that of x just beside the point, where one side of the point is examined (`_beyond`). Otherwise
    0 is a kink; but if x stays 0 along the direction, the tangent is UNKNOWN, as x may be 0 all around the point.
    """
    if dx is None or dx is KINK:
        return dx
    side = _sign(x)
    if side == 0:
        side = fmpq(t.later(dx, None))
    if side == 0:
        return UNKNOWN if t.tangents_agree(dx, None) else KINK
    return s.mul(side, dx)


def _is_zero(x: Real) -> bool | None:
    return t.is_tie(x, ZERO)


def _is_integer(x: Real) -> bool | None:
    try:
        return s.is_integer(x)
    except Undecided:
        return None


def _is_half_integer(x: Real) -> bool | None:
    return _is_integer(s.sub(x, s.HALF))


elementwise("abs", value=lambda x: x if x is UNKNOWN else abs(x), tangent=_absolute_tangent, integer=np.abs)
elementwise("sign", value=_sign, tangent=_locally_constant(_is_zero), integer=np.sign)
elementwise("floor", value=s.floor, tangent=_locally_constant(_is_integer))
elementwise("ceil", value=s.ceil, tangent=_locally_constant(_is_integer))


def round_away(x: Real) -> Real:
    """Return the nearest integer, ties away from zero."""
    if not s.finite(x):
        return x
    side = _sign(x)
    if side is UNKNOWN:
        return ZERO if abs(x) < s.HALF else UNKNOWN
    return s.mul(side, s.floor(s.add(abs(x), s.HALF)))


def round_even(x: Real) -> Real:
    """Return the nearest integer, ties to even."""
    if not s.finite(x):
        return x
    nearest = s.floor(s.add(x, s.HALF))
    if type(x) is fmpq and nearest - x == s.HALF and nearest.numerator % 2:
        return nearest - ONE
    return nearest


@primitive("round")
def _round(ctx: Context, params: Params, x: Value) -> Value:
    value = round_away if int(params["rounding_method"]) == 0 else round_even
    return pointwise("round", value, _locally_constant(_is_half_integer), None, x)


# maximum, minimum, clamp, remainder

_MAX, _MIN = t.extremum(1), t.extremum(-1)


@primitive("max")
def _max(ctx: Context, params: Params, a: Value, b: Value) -> Value:
    """Return the maximum; of a value and itself that value, without the kink of a tie."""
    return a if a is b else pointwise("max", s.maximum, _MAX, np.maximum, a, b)


@primitive("min")
def _min(ctx: Context, params: Params, a: Value, b: Value) -> Value:
    return a if a is b else pointwise("min", s.minimum, _MIN, np.minimum, a, b)


@primitive("clamp")
def _clamp(ctx: Context, params: Params, low: Value, x: Value, high: Value) -> Value:
    above = pointwise("clamp", s.maximum, _MAX, np.maximum, low, x)
    return pointwise("clamp", s.minimum, _MIN, np.minimum, above, high)


def _remainder(a: Real, b: Real) -> Real:
    """Return a − b·trunc(a/b), which has the sign of a."""
    if type(b) is float and s.finite(a):
        return a if b == b else b
    return s.sub(a, s.mul(b, s.truncate(s.div(a, b))))


def _remainder_tangent(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    """Return da − trunc(a/b)·db; a jump where a/b is an integer other than 0, at which trunc jumps."""
    if da is KINK or db is KINK:
        return KINK
    ratio = s.div(a, b)
    whole, zero = _is_integer(ratio), _is_zero(ratio)
    if whole is None and not (s.finite(ratio) and abs(ratio) < ONE):
        return UNKNOWN
    if whole and not zero:
        return t.jump(da, db)
    return t.minus(da, t.scaled(s.truncate(ratio), db))


elementwise("rem", value=_remainder, tangent=_remainder_tangent, integer=np.fmod)
