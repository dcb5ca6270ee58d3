"""Comparisons, booleans, bits, selection and conversion between number types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._beyond import here
from certgrad.obligations.balls._elementwise import elementwise, pointwise
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import UNKNOWN, ZERO, Real
from certgrad.obligations.balls._tangents import Tangent
from certgrad.obligations.balls._values import Array, Context, Value, filled, is_float, lifted, tangent_or_none


def _refuse_floats(*operands: Any) -> Any:
    raise Unsupported("bitwise operation on floats")


# comparisons: where numbers that depend on the inputs are tied, the result jumps; not so if x is compared with itself,
# as for isnan


def _tie_mark(a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    return None if da is None and db is None else t.comparison(t.is_tie(a, b), da, db)


def _comparison(names: tuple[str, ...], holds: Callable[[int | None], bool], integer: Any) -> None:
    """Register a comparison of a and b: `holds` maps their order (−1, 0 or 1; None with NaN) to the result.

    `integer` is numpy's comparison. On one side of a point, numbers that are tied at it are ordered by their tangents.
    """
    value = lifted(lambda a, b: holds(s.compare(a, b)), 2)
    beyond = lifted(lambda a, b, da, db: holds(s.compare(a, b) or t.later(da, db)), 4)

    def rule(ctx: Context, params: Params, a: Value, b: Value) -> Value:
        if not a.real:
            return pointwise(names[0], _refuse_floats, _refuse_floats, integer, a, b)
        out = value(a.primal, b.primal).astype(bool)
        if here.side and a is not b and not (a.tangent is None and b.tangent is None):
            out = beyond(a.primal, b.primal, filled(a), filled(b)).astype(bool)
        if a is b or (a.tangent is None and b.tangent is None):
            return Value(out)
        return Value(out, tangent_or_none(lifted(_tie_mark, 4)(a.primal, b.primal, a.tangent, b.tangent)))

    primitive(*names)(rule)


_comparison(("eq", "eq_to"), lambda order: order == 0, np.equal)
_comparison(("ne",), lambda order: order != 0, np.not_equal)
_comparison(("lt", "lt_to"), lambda order: order == -1, np.less)
_comparison(("gt",), lambda order: order == 1, np.greater)
_comparison(("le", "le_to"), lambda order: order in (-1, 0), np.less_equal)
_comparison(("ge",), lambda order: order in (0, 1), np.greater_equal)


@primitive("is_finite")
def _is_finite(ctx: Context, params: Params, x: Value) -> Value:
    return Value(lifted(_finite, 1)(x.primal).astype(bool))


def _finite(x: Real) -> bool:
    if x is s.UNKNOWN:
        raise Undecided("is_finite of a value that is not known at this precision")
    return s.finite(x)


# booleans and bits


def _shifted_without_sign(a: Array, b: Array) -> Array:
    unsigned = np.dtype(f"uint{8 * a.dtype.itemsize}")
    return (a.view(unsigned) >> b.view(unsigned)).view(a.dtype)


elementwise("and", value=_refuse_floats, tangent=_refuse_floats, integer=np.bitwise_and)
elementwise("or", value=_refuse_floats, tangent=_refuse_floats, integer=np.bitwise_or)
elementwise("xor", value=_refuse_floats, tangent=_refuse_floats, integer=np.bitwise_xor)
elementwise("not", value=_refuse_floats, tangent=_refuse_floats, integer=np.invert)
elementwise("shift_left", value=_refuse_floats, tangent=_refuse_floats, integer=np.left_shift)
elementwise("shift_right_arithmetic", value=_refuse_floats, tangent=_refuse_floats, integer=np.right_shift)
elementwise("shift_right_logical", value=_refuse_floats, tangent=_refuse_floats, integer=_shifted_without_sign)
elementwise("population_count", value=_refuse_floats, tangent=_refuse_floats, integer=np.bitwise_count)


def _unsigned(x: Array) -> Array:
    return x.view(np.dtype(f"u{x.dtype.name.removeprefix('u')}"))


def _leading_zeros(x: Array) -> Array:
    width = 8 * x.dtype.itemsize
    return np.vectorize(lambda k: width - int(k).bit_length(), otypes=[x.dtype])(_unsigned(np.asarray(x)))


def _high_half(x: Array, y: Array) -> Array:
    width = 8 * x.dtype.itemsize
    return np.vectorize(lambda a, b: (int(a) * int(b)) >> width, otypes=[x.dtype])(x, y)


elementwise("clz", value=_refuse_floats, tangent=_refuse_floats, integer=_leading_zeros)
elementwise("mulhi", value=_refuse_floats, tangent=_refuse_floats, integer=_high_half)


# selection


@primitive("select_n")
def _select(ctx: Context, params: Params, which: Value, *cases: Value) -> Value:
    """Return the entries of the cases that the predicate picks, with their tangents.

    Where the predicate has a mark (it jumps, or may), that is the tangent, unless all cases are one constant there.
    """
    index = which.primal.astype(np.int64)
    if index.shape != cases[0].primal.shape:
        index = np.broadcast_to(index, cases[0].primal.shape)
    primal = _picked(index, [c.primal for c in cases])
    if which.tangent is None and all(c.tangent is None for c in cases):
        return Value(primal)
    tangents = [filled(c) for c in cases]
    tangent = _picked(index, tangents)
    if which.tangent is not None:
        marks = np.broadcast_to(which.tangent, primal.shape)
        tangent = tangent.copy()
        for at in np.ndindex(primal.shape):
            if marks[at] is not None and not _is_one_constant([c.primal[at] for c in cases], [d[at] for d in tangents]):
                tangent[at] = marks[at]
    return Value(primal, tangent_or_none(tangent))


def _picked(index: Array, cases: list[Array]) -> Array:
    """Return, at each place, the entry of the case with the number that `index` has there."""
    out = cases[0]
    for k in range(1, len(cases)):
        out = np.where(index == k, cases[k], out)
    return out


def _is_one_constant(values: list[Any], tangents: list[Any]) -> bool:
    """Return whether all branches are one constant, so that a jump of the predicate does not matter."""
    return all(d is None for d in tangents) and all(t.is_tie(values[0], v) for v in values[1:])


# conversion


def _to_real(n: Any) -> Real:
    return fmpq(int(n))


@primitive("convert_element_type")
def _convert(ctx: Context, params: Params, x: Value) -> Value:
    """Return the array in another dtype: exactly as floats; as integers or booleans with marks, truncated toward 0.

    Raises Undecided for a number that the integer dtype does not hold.
    """
    dtype = params["new_dtype"]
    if is_float(dtype):
        return as_real(x)
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        raise Unsupported(f"conversion to {np.dtype(dtype)}")
    if not x.real:
        return Value(x.primal.astype(dtype), x.tangent)
    to_bool = kind == "b"
    exact = lifted(_is_nonzero if to_bool else _truncate_to_int, 1)(x.primal)
    if not to_bool and any(not np.iinfo(dtype).min <= n <= np.iinfo(dtype).max for n in exact.flat):
        raise Undecided(f"a number beyond {np.dtype(dtype)}: machines differ in what they make of it")
    primal = exact.astype(dtype)
    if x.tangent is None:
        return Value(primal)
    return Value(primal, tangent_or_none(lifted(_bool_mark if to_bool else _int_mark, 2)(x.primal, x.tangent)))


def as_real(x: Value) -> Value:
    """Return the value as an array of real numbers; True is 1 and False is 0."""
    return x if x.real else Value(lifted(_to_real, 1)(x.primal), x.tangent)


def _is_nonzero(x: Real) -> bool:
    return s.compare(x, ZERO) != 0


def _truncate_to_int(x: Real) -> int:
    if type(x) is float:
        raise Unsupported("conversion of an infinity or nan to an integer")
    return s.as_int(s.truncate(x))


def _bool_mark(x: Real, dx: Tangent) -> Tangent:
    """Return the mark of bool(x), which jumps at 0."""
    return None if dx is None else t.crossing(t.is_tie(x, ZERO), dx)


def _int_mark(x: Real, dx: Tangent) -> Tangent:
    """Return the mark of int(x), which jumps at integers other than 0."""
    return None if dx is None else t.crossing(bool(x == s.truncate(x) and x != ZERO), dx)


# identities


@primitive("copy", "reduce_precision", "real", "conj", "name", "sharding_constraint", "reshard", "pvary")
def _identity(ctx: Context, params: Params, x: Value) -> Value:
    return x


@primitive("optimization_barrier", "device_put")
def _identities(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    return list(xs)


@primitive("stop_gradient")
def _stop_gradient(ctx: Context, params: Params, x: Value) -> Value:
    """Return x as a constant, or as it is if stopped values are kept; record that it depended on the inputs."""
    if x.tangent is None:
        return x
    ctx.used_stop_gradient = True
    return Value(x.primal, _arbitrary_at_kinks(x.tangent)) if ctx.keep_stopped else Value(x.primal)


def _arbitrary_at_kinks(tangent: Array) -> Array:
    """Return the tangent with 0 in place of kinks and unknown entries.

    Any number would do there: a result that depends on the tangent of a stopped value shows so at points where that has
    a derivative.
    """
    return np.where([d is t.KINK or d is UNKNOWN for d in tangent.flat], ZERO, tangent.ravel()).reshape(tangent.shape)


@primitive("zeros_like")
def _zeros_like(ctx: Context, params: Params, x: Value) -> Value:
    return Value(np.full(x.primal.shape, ZERO, dtype=object) if x.real else np.zeros_like(x.primal))
