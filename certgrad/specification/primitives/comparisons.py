"""Comparisons, logic, and selection."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from certgrad.language.tree import Apply, Both, Compare, Either, Given, If, Integer, Node, Not, Relation

from ..rule import ZERO, Call, Entries, Operand, at_most, in_bounds, rule


def equal_entries(x: Operand, y: Operand, *i: Node) -> Node:
    """Return that two entries are equal; two booleans are if both hold or neither does."""
    a, b = x.beside(*i), y.beside(*i)
    if x.sort == "boolean":
        return Either((Both((a, b)), Both((Not(a), Not(b)))))
    return Compare("=", a, b)


@rule("eq", "eq_to")
def eq(call: Call, x: Operand, y: Operand) -> Entries:
    """x = y"""
    return lambda *i: equal_entries(x, y, *i)


@rule("ne")
def ne(call: Call, x: Operand, y: Operand) -> Entries:
    """x ≠ y"""
    return lambda *i: Not(equal_entries(x, y, *i))


def _order_comparison(relation: Relation, x: Operand, y: Operand, *i: Node) -> Node:
    """Return x < y or x ≤ y for two entries; of booleans, false is less than true."""
    a, b = x.beside(*i), y.beside(*i)
    if x.sort == "boolean":
        return Both((Not(a), b)) if relation == "<" else Either((Not(a), b))
    return Compare(relation, a, b)


@rule("lt", "lt_to")
def lt(call: Call, x: Operand, y: Operand) -> Entries:
    """x < y"""
    return lambda *i: _order_comparison("<", x, y, *i)


@rule("le", "le_to")
def le(call: Call, x: Operand, y: Operand) -> Entries:
    """x ≤ y"""
    return lambda *i: _order_comparison("<=", x, y, *i)


@rule("gt")
def gt(call: Call, x: Operand, y: Operand) -> Entries:
    """x > y, that is y < x"""
    return lambda *i: _order_comparison("<", y, x, *i)


@rule("ge")
def ge(call: Call, x: Operand, y: Operand) -> Entries:
    """x ≥ y, that is y ≤ x"""
    return lambda *i: _order_comparison("<=", y, x, *i)


@rule("and")
def and_(call: Call, x: Operand, y: Operand) -> Entries:
    """x and y; of integers, of their bits"""
    if x.sort == "integer":
        return lambda *i: Apply("bitwise and", (x.beside(*i), y.beside(*i)))
    return lambda *i: Both((x.beside(*i), y.beside(*i)))


@rule("or")
def or_(call: Call, x: Operand, y: Operand) -> Entries:
    """x or y; of integers, of their bits"""
    if x.sort == "integer":
        return lambda *i: Apply("bitwise or", (x.beside(*i), y.beside(*i)))
    return lambda *i: Either((x.beside(*i), y.beside(*i)))


@rule("xor")
def xor(call: Call, x: Operand, y: Operand) -> Entries:
    """Exactly one of x and y; of integers, of their bits"""
    if x.sort == "integer":
        return lambda *i: Apply("bitwise xor", (x.beside(*i), y.beside(*i)))
    return lambda *i: Not(equal_entries(x, y, *i))


@rule("shift_left")
def shift_left(call: Call, x: Operand, places: Operand) -> Entries:
    """x·2ᵏ, for a k within the width of the type"""
    return lambda *i: _by_places(x, places, lambda power: x.beside(*i) * power, *i)


@rule("shift_right_arithmetic", "shift_right_logical")
def shift_right(call: Call, x: Operand, places: Operand) -> Entries:
    """⌊x/2ᵏ⌋, for a k within the width of the type; a logical shift of what is not negative"""

    def entry(*i: Node) -> Node:
        quotient = _by_places(x, places, lambda power: x.beside(*i) // power, *i)
        return Given(at_most(ZERO, x.beside(*i)), quotient) if call.primitive == "shift_right_logical" else quotient

    return entry


def _by_places(x: Operand, places: Operand, shifted: Callable[[Node], Node], *i: Node) -> Node:
    """Return `shifted(2ᵏ)` for an entry k of `places`, defined where k is within the width of x's type."""
    k = places.beside(*i)
    return Given(in_bounds(k, Integer(int(jnp.iinfo(x.dtype).bits))), shifted(Apply("integer power", (Integer(2), k))))


@rule("not")
def not_(call: Call, x: Operand) -> Entries:
    """Not x; of an integer −x − 1, or max − x where its type is unsigned"""
    if x.sort == "integer":
        greatest = int(np.iinfo(x.dtype).max) if x.dtype.kind == "u" else -1
        return lambda *i: Integer(greatest) - x.at(*i)
    return lambda *i: Not(x.at(*i))


@rule("is_finite")
def is_finite(call: Call, x: Operand) -> Entries:
    """True of every real number"""
    return lambda *i: Apply("is finite", (x.at(*i),))


@rule("select_n")
def select_n(call: Call, which: Operand, *cases: Operand) -> Entries:
    """The case that `which` numbers (false is 0). Only the one that is selected need be defined."""

    def entry(*i: Node) -> Node:
        if which.sort == "boolean":
            return If(which.beside(*i), cases[-1].beside(*i), cases[0].beside(*i))
        out = cases[-1].beside(*i)
        for k in reversed(range(len(cases) - 1)):
            out = If(at_most(which.beside(*i), Integer(k)), cases[k].beside(*i), out)
        return out

    return entry
