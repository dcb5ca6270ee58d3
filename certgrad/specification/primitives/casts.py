"""Between sorts, and numbers that come from sizes and places."""

from __future__ import annotations

from ..._complex import PI
from .._jax import size
from ..expression import Compare, Expression, Function, If, Not, ToReal, Truth
from ..rule import ONE, ZERO, Call, Entries, Operand, UnreadableError, rule
from .elementwise import NOTHING, UNIT, whole_part


def cast(x: Expression, before: str, after: str) -> Expression:
    """An entry in another sort: true is 1, a number is true unless it is 0, a real is rounded towards 0."""
    if before == after:
        return x
    if before == "boolean":
        return If(x, UNIT, NOTHING) if after == "real" else If(x, ONE, ZERO)
    if after == "boolean":
        return Not(Compare("=", x, NOTHING if before == "real" else ZERO))
    if before == "integer":
        return ToReal(x)
    return whole_part(x)


@rule("convert_element_type")
def convert_element_type(call: Call, x: Operand) -> Entries:
    """The same number; as an integer, a real is rounded towards 0"""
    after = call.results[0]
    narrower = after.dtype.itemsize < x.dtype.itemsize if after.sort == x.sort != "boolean" else False
    if after.sort == x.sort == "real" and narrower:
        call.note(f"a cast from {x.dtype} to {after.dtype} is read as exact")
    if after.sort == "integer" and x.sort != "boolean" and (narrower or x.sort == "real"):
        call.note(f"a cast from {x.dtype} to {after.dtype} is read as if every integer were within the range")
    if "key" in (after.sort, x.sort) and after.sort != x.sort:
        raise UnreadableError("a cast of random keys")
    return lambda *i: cast(x.at(*i), x.sort, after.sort)


@rule("dim_as_value")
def dim_as_value(call: Call) -> Entries:
    """A size, as an integer"""
    value = size(call["dim"])
    return lambda: value


@rule("iota")
def iota(call: Call, *sizes: Operand) -> Entries:
    """The index along the axis `dimension`"""
    sort, axis = call.results[0].sort, call["dimension"]
    return lambda *i: cast(i[axis], "integer", sort)


@rule(PI)
def pi(call: Call) -> Entries:
    """π"""
    return lambda *i: Function("pi", ())


@rule("zeros_like", "empty", "empty2")
def zeros(call: Call, *_: Operand) -> Entries:
    """0"""
    zero = {"real": NOTHING, "integer": ZERO, "boolean": Truth(False)}[call.results[0].sort]
    return lambda *i: zero
