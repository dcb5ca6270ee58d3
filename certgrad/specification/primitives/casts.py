"""Between sorts, and numbers that come from sizes and places."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.jaxpr.complex_numbers import PI
from certgrad.language.tree import FALSE, Both, Compare, Constant, Given, If, Integer, Node, Not, ToReal

from .._jax import size, sort_of
from ..rule import ONE, ZERO, Call, Entries, Operand, UnreadableError, at_most, rule
from .elementwise import NOTHING, UNIT, whole_part


def cast(x: Node, before: str, after: str) -> Node:
    """Return an entry in another sort: true is 1, a number is true unless it is 0, a real is rounded towards 0."""
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
    """The same number; as an integer, a real is rounded towards 0. In a type of less than 32 bits integers wrap around,
    and reals have a value if it is in range, as in unsigned types"""
    after = call.results[0]
    if "key" in (after.sort, x.sort) and after.sort != x.sort:
        raise UnreadableError("a cast of random keys")
    if after.sort == "real" and _rounds(x, after.dtype):
        call.note(f"the cast to {np.dtype(after.dtype)} is read as exact")
    if after.sort != "integer" or x.sort == "boolean":
        return lambda *i: cast(x.at(*i), x.sort, after.sort)
    target = jnp.iinfo(after.dtype)  # numpy's own does not know the types of 2 and 4 bits
    low, high = Integer(int(target.min)), Integer(int(target.max))
    if x.sort == "integer":
        source = jnp.iinfo(x.dtype)
        if (target.min <= source.min and source.max <= target.max) or (target.bits >= 32 and target.min < 0):
            return x.at
        if target.bits < 32:
            return lambda *i: _wrapped(x.at(*i), int(target.min), 2**target.bits)
    if target.bits >= 32 and target.min < 0:
        # Integers of 32 bits and more count as exact, as if none left the range of its type.
        call.note(f"integers are in the range of {np.dtype(after.dtype)}{_exactly_held(x.dtype, target.bits)}")
        return lambda *i: cast(x.at(*i), x.sort, after.sort)

    def entry(*i: Node) -> Node:
        number = cast(x.at(*i), x.sort, after.sort)
        return Given(Both((at_most(low, number), at_most(number, high))), number)

    return entry


def _rounds(x: Operand, dtype: Any) -> bool:
    """Return whether a cast to a float dtype may round; integers count as exact, but in types of less than 32 bits."""
    if sort_of(x.dtype) != "real":
        return sort_of(x.dtype) == "integer" and jnp.finfo(dtype).bits < 32
    fine, coarse = jnp.finfo(x.dtype), jnp.finfo(dtype)
    return bool(coarse.nmant < fine.nmant or coarse.maxexp < fine.maxexp or coarse.minexp > fine.minexp)


def _exactly_held(dtype: Any, bits: int) -> str:
    """Return up to which size integers are exact in a float dtype, in words; "" where all of so many bits are exact.

    It is "" for a dtype of integers too: an array of them may have entries that are read as real numbers.
    """
    if sort_of(dtype) != "real":
        return ""
    exact = jnp.finfo(dtype).nmant + 1
    return f", and below 2^{exact} where they come from {np.dtype(dtype)}" if exact < bits - 1 else ""


def _wrapped(x: Node, low: int, count: int) -> Node:
    """Return the integer in low, …, low + count − 1 that differs from x by a multiple of `count`."""
    return Integer(low) + (x - Integer(low)) % Integer(count) if low else x % Integer(count)


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


@rule("empty", "empty2")
def empty(call: Call) -> Entries:
    """An array whose entries are written later: not defined until then"""
    unwritten: Node = FALSE if call.results[0].sort == "boolean" else cast(ZERO, "integer", call.results[0].sort)
    return lambda *i: Given(FALSE, unwritten)


@rule(PI)
def pi(call: Call) -> Entries:
    """π"""
    return lambda *i: Constant("pi")
