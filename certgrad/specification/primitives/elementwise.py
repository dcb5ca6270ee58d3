"""Arithmetic, entry by entry. An operand of rank 0 meets all entries of the other."""

from __future__ import annotations

from certgrad.language.build import floor_of, integer_power, real_power
from certgrad.language.tree import If, Integer, Node, Number, ToReal

from ..rule import ONE, ZERO, Call, Entries, Operand, equal, less, rule

NOTHING = Number("0")
UNIT = Number("1")


def zero_of(x: Operand) -> Node:
    """0, of the sort of the operand's entries."""
    return ZERO if x.sort == "integer" else NOTHING


def one_of(x: Operand) -> Node:
    """1, of the sort of the operand's entries."""
    return ONE if x.sort == "integer" else UNIT


@rule("add", "add_any")
def add(call: Call, x: Operand, y: Operand) -> Entries:
    """x + y"""
    return lambda *i: x.beside(*i) + y.beside(*i)


@rule("sub")
def sub(call: Call, x: Operand, y: Operand) -> Entries:
    """x − y"""
    return lambda *i: x.beside(*i) - y.beside(*i)


@rule("mul")
def mul(call: Call, x: Operand, y: Operand) -> Entries:
    """x · y"""
    return lambda *i: x.beside(*i) * y.beside(*i)


@rule("neg")
def neg(call: Call, x: Operand) -> Entries:
    """−x"""
    return lambda *i: -x.at(*i)


def truncated(x: Node, y: Node) -> Node:
    """x / y of integers, rounded towards 0."""
    opposite = less(x * y, ZERO)
    return If(opposite, -((-x) // y), x // y)


@rule("div")
def div(call: Call, x: Operand, y: Operand) -> Entries:
    """x / y, for y ≠ 0; of integers rounded towards 0"""
    if x.sort == "integer":
        return lambda *i: truncated(x.beside(*i), y.beside(*i))
    return lambda *i: x.beside(*i) / y.beside(*i)


def whole_part(x: Node) -> Node:
    """A real rounded towards 0, as an integer."""
    return If(less(x, NOTHING), -floor_of(-x), floor_of(x))


@rule("rem")
def rem(call: Call, x: Operand, y: Operand) -> Entries:
    """x − y·q for y ≠ 0, where q is x / y rounded towards 0: it has the sign of x"""

    def entry(*i: Node) -> Node:
        a, b = x.beside(*i), y.beside(*i)
        return a - b * (truncated(a, b) if x.sort == "integer" else ToReal(whole_part(a / b)))

    return entry


@rule("max")
def maximum(call: Call, x: Operand, y: Operand) -> Entries:
    """The greater of x and y; of booleans, or"""
    from .comparisons import or_

    if x.sort == "boolean":
        return or_(call, x, y)  # type: ignore[return-value]
    return lambda *i: If(less(x.beside(*i), y.beside(*i)), y.beside(*i), x.beside(*i))


@rule("min")
def minimum(call: Call, x: Operand, y: Operand) -> Entries:
    """The lesser of x and y; of booleans, and"""
    from .comparisons import and_

    if x.sort == "boolean":
        return and_(call, x, y)  # type: ignore[return-value]
    return lambda *i: If(less(y.beside(*i), x.beside(*i)), y.beside(*i), x.beside(*i))


@rule("clamp")
def clamp(call: Call, low: Operand, x: Operand, high: Operand) -> Entries:
    """min(max(x, low), high): where low > high, it is high"""

    def entry(*i: Node) -> Node:
        raised = If(less(x.beside(*i), low.beside(*i)), low.beside(*i), x.beside(*i))
        return If(less(high.beside(*i), raised), high.beside(*i), raised)

    return entry


@rule("abs")
def absolute(call: Call, x: Operand) -> Entries:
    """x where x ≥ 0, else −x"""
    return lambda *i: If(less(x.at(*i), zero_of(x)), -x.at(*i), x.at(*i))


@rule("sign")
def sign(call: Call, x: Operand) -> Entries:
    """−1, 0 or 1"""
    one, zero = one_of(x), zero_of(x)
    return lambda *i: If(less(x.at(*i), zero), -one, If(less(zero, x.at(*i)), one, zero))


@rule("square")
def square(call: Call, x: Operand) -> Entries:
    """x · x"""
    return lambda *i: x.at(*i) * x.at(*i)


@rule("integer_pow")
def integer_pow(call: Call, x: Operand) -> Entries:
    """xʸ for the integer `y` among the parameters; for y < 0 where x ≠ 0"""
    return lambda *i: integer_power(x.at(*i), Integer(int(call["y"])), x.sort == "integer")


@rule("pow")
def power(call: Call, x: Operand, y: Operand) -> Entries:
    """xʸ: of an integer y by multiplication; of a real y exp(y·log(x)), and 0 for x = 0 and y > 0"""
    if y.sort == "integer":
        return lambda *i: integer_power(x.beside(*i), y.beside(*i), x.sort == "integer")
    return lambda *i: real_power(x.beside(*i), y.beside(*i))


@rule("floor")
def floor(call: Call, x: Operand) -> Entries:
    """⌊x⌋"""
    return lambda *i: ToReal(floor_of(x.at(*i)))


@rule("ceil")
def ceil(call: Call, x: Operand) -> Entries:
    """⌈x⌉ = −⌊−x⌋"""
    return lambda *i: ToReal(-floor_of(-x.at(*i)))


@rule("round")
def nearest(call: Call, x: Operand) -> Entries:
    """The nearest integer; halves go away from 0 if `rounding_method` is 0, and to the even one if it is 1"""
    half = Number("1/2")
    to_even = int(call["rounding_method"]) == 1

    def entry(*i: Node) -> Node:
        a = x.at(*i)
        above, below = floor_of(a + half), -floor_of(half - a)
        if not to_even:
            return ToReal(If(less(a, NOTHING), below, above))
        even = equal(above % (ONE + ONE), ZERO)
        return ToReal(If(even, above, below))

    return entry


@rule(
    "stop_gradient",
    "copy",
    "copy_p",
    "name",
    "device_put",
    "sharding_constraint",
    "reshard",
    "layout_constraint",
    "optimization_barrier",
    "reduce_precision",
)
def identity(call: Call, *operands: Operand) -> list[Entries]:
    """The operands as they are"""
    if call.primitive == "reduce_precision":
        call.note("reduce_precision is read as exact")
    return [x.at for x in operands]
