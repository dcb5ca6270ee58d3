"""Between sorts, and numbers that come from sizes and places."""

from __future__ import annotations

import numpy as np

from certgrad.jaxpr.complex_numbers import PI
from certgrad.language.tree import Both, Compare, Constant, Given, If, Integer, Node, Not, ToReal

from .._jax import size
from ..rule import ONE, ZERO, Call, Entries, Operand, UnreadableError, at_most, rule
from .elementwise import NOTHING, UNIT, whole_part


def cast(x: Node, before: str, after: str) -> Node:
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
    """The same number; as an integer, a real is rounded towards 0. In a narrow or unsigned type, if in range"""
    after = call.results[0]
    if "key" in (after.sort, x.sort) and after.sort != x.sort:
        raise UnreadableError("a cast of random keys")
    if after.sort == x.sort == "real" and after.dtype.itemsize < x.dtype.itemsize:
        call.note("a cast to coarser floats is read as exact")
    if after.sort != "integer" or x.sort == "boolean":
        return lambda *i: cast(x.at(*i), x.sort, after.sort)
    kept = np.iinfo(after.dtype)
    held = np.iinfo(x.dtype) if x.sort == "integer" else None
    if held is not None and kept.min <= held.min and held.max <= kept.max:
        return x.at
    if kept.bits >= 32 and kept.min < 0:
        call.note("integers of 32 or more bits are read as if they never left the range of their type")
        return lambda *i: cast(x.at(*i), x.sort, after.sort)

    def entry(*i: Node) -> Node:
        number = cast(x.at(*i), x.sort, after.sort)
        return Given(Both((at_most(Integer(int(kept.min)), number), at_most(number, Integer(int(kept.max))))), number)

    return entry


@rule("dim_as_value")
def dim_as_value(call: Call) -> Entries:
    """A size, as an integer"""
    value = size(call["dim"])
    return lambda: value


@rule("iota")
def iota(call: Call, *sizes: Operand) -> Entries:
    """The index along the axis `dimension`"""
    sort, axis = call.results[0].sort, call["dimension"]
    if sort == "real" and call["dtype"] != np.float64:
        call.note(f"iota in {call['dtype']} is read as exact")
    return lambda *i: cast(i[axis], "integer", sort)


@rule(PI)
def pi(call: Call) -> Entries:
    """π"""
    return lambda *i: Constant("pi")
