"""Arithmetic and functions, entry by entry. An operand of rank 0 meets all entries of the other."""

from __future__ import annotations

from collections.abc import Callable

from certgrad.language.functions import FUNCTIONS
from certgrad.language.tree import Apply, If, Integer, Node, Number, Power, ToReal, number

from ..rule import ONE, ZERO, Call, Entries, Operand, equal, less_than, rule

NOTHING = Number("0")
UNIT = Number("1")


def zero_of(x: Operand) -> Node:
    """Return 0 in the sort of an operand's entries."""
    return ZERO if x.sort == "integer" else NOTHING


def one_of(x: Operand) -> Node:
    """Return 1 in the sort of an operand's entries."""
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
    """Return x / y for integers, rounded towards 0."""
    opposite = less_than(x * y, ZERO)
    return If(opposite, -((-x) // y), x // y)


@rule("div")
def div(call: Call, x: Operand, y: Operand) -> Entries:
    """x / y, for y ≠ 0; of integers rounded towards 0"""
    if x.sort == "integer":
        return lambda *i: truncated(x.beside(*i), y.beside(*i))
    return lambda *i: x.beside(*i) / y.beside(*i)


def floor_of(x: Node) -> Node:
    """Return the greatest integer that is at most a real x."""
    return Apply("floor", (x,))


def whole_part(x: Node) -> Node:
    """Return a real rounded towards 0, as an integer."""
    return If(less_than(x, NOTHING), -floor_of(-x), floor_of(x))


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
    return lambda *i: If(less_than(x.beside(*i), y.beside(*i)), y.beside(*i), x.beside(*i))


@rule("min")
def minimum(call: Call, x: Operand, y: Operand) -> Entries:
    """The lesser of x and y; of booleans, and"""
    from .comparisons import and_

    if x.sort == "boolean":
        return and_(call, x, y)  # type: ignore[return-value]
    return lambda *i: If(less_than(y.beside(*i), x.beside(*i)), y.beside(*i), x.beside(*i))


@rule("clamp")
def clamp(call: Call, low: Operand, x: Operand, high: Operand) -> Entries:
    """min(max(x, low), high): where low > high, it is high"""

    def entry(*i: Node) -> Node:
        raised = If(less_than(x.beside(*i), low.beside(*i)), low.beside(*i), x.beside(*i))
        return If(less_than(high.beside(*i), raised), high.beside(*i), raised)

    return entry


@rule("abs")
def absolute(call: Call, x: Operand) -> Entries:
    """x where x ≥ 0, else −x"""
    return lambda *i: If(less_than(x.at(*i), zero_of(x)), -x.at(*i), x.at(*i))


@rule("sign")
def sign(call: Call, x: Operand) -> Entries:
    """−1, 0 or 1"""
    one, zero = one_of(x), zero_of(x)
    return lambda *i: If(less_than(x.at(*i), zero), -one, If(less_than(zero, x.at(*i)), one, zero))


@rule("square")
def square(call: Call, x: Operand) -> Entries:
    """x · x"""
    return lambda *i: x.at(*i) * x.at(*i)


def real_power(base: Node, exponent: Node) -> Node:
    """Return a real to the power of a real."""
    return Power(base, exponent.value) if isinstance(exponent, Number) else Apply("real power", (base, exponent))


def integer_power(base: Node, exponent: Node, of_integer: bool) -> Node:
    """Return a real, or an integer if `of_integer`, to the power of an integer."""
    if isinstance(exponent, Integer) and (exponent.value >= 0 or not of_integer):
        return Power(base, str(exponent.value))
    return Apply("integer power" if of_integer else "whole power", (base, exponent))


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
            return ToReal(If(less_than(a, NOTHING), below, above))
        even = equal(above % (ONE + ONE), ZERO)
        return ToReal(If(even, above, below))

    return entry


@rule(
    "stop_gradient",
    "copy",
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


# --- functions: those of the table by name, others by what they are made of

NAMED = (
    "exp log sqrt cbrt sin cos asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erf_inv lgamma digamma "
    "polygamma zeta igamma igamma_grad_a regularized_incomplete_beta bessel_i0e bessel_i1e"
).split()


SPECIAL = {f"certgrad_{c}v": f"bessel_{c}" for c in "jyik"} | {
    f"certgrad_{name}": name
    for name in "erfi expi si ci fresnels fresnelc lambertw spence owens_t wofz_re wofz_im hyp1f1 hyp2f1".split()
}
"""The primitives of `certgrad.special`, with the names of their functions in the language."""


def _entrywise_rule(name: str) -> Callable[..., Entries]:
    """Return the rule that applies a function of the language to each entry."""

    def apply(call: Call, *operands: Operand) -> Entries:
        if call.parameters.get("accuracy") is not None:
            call.note(f"{name} is read as the exact function, whatever `accuracy` asks for")
        return lambda *i: Apply(name, tuple(x.beside(*i) for x in operands))

    apply.__doc__ = FUNCTIONS[name].says
    return apply


for _name, _function in {**dict(zip(NAMED, NAMED, strict=True)), **SPECIAL}.items():
    rule(_name)(_entrywise_rule(_function))


def function_of(name: str, *arguments: Node) -> Node:
    """Return a function of the language, by name, at these arguments."""
    return Apply(name, arguments)


def _register(name: str, says: str, formula: Callable[..., Node]) -> None:
    """Register the rule that applies a formula to each entry, with `says` as its words."""

    def apply(call: Call, *operands: Operand) -> Entries:
        return lambda *i: formula(*(x.beside(*i) for x in operands))

    apply.__doc__ = says
    rule(name)(apply)


_register("exp2", "2 to the power of x", lambda x: real_power(number(2), x))
_register("expm1", "exp(x) − 1", lambda x: function_of("exp", x) - number(1))
_register("log1p", "log(1 + x)", lambda x: function_of("log", number(1) + x))
_register("log2", "log(x)/log(2)", lambda x: function_of("log", x) / function_of("log", number(2)))
_register("rsqrt", "1/√x", lambda x: number(1) / function_of("sqrt", x))
_register("tan", "sin(x)/cos(x)", lambda x: function_of("sin", x) / function_of("cos", x))
_register("logistic", "1/(1 + exp(−x))", lambda x: number(1) / (number(1) + function_of("exp", -x)))
_register("erfc", "1 − erf(x)", lambda x: number(1) - function_of("erf", x))
_register("igammac", "1 − igamma(a, x)", lambda a, x: number(1) - function_of("igamma", a, x))
_register("one_minus_square", "1 − x·x", lambda x: number(1) - x * x)
