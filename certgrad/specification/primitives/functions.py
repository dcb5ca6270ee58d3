"""Functions of reals, entry by entry: those of the table by name, others by what they are made of."""

from __future__ import annotations

from collections.abc import Callable

from certgrad.language.build import real_power
from certgrad.language.functions import FUNCTIONS
from certgrad.language.tree import Apply, Node, number

from ..rule import Call, Entries, Operand, rule

NAMED = (
    "exp log sqrt cbrt sin cos asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erf_inv lgamma digamma "
    "polygamma zeta igamma igamma_grad_a regularized_incomplete_beta bessel_i0e bessel_i1e"
).split()


def _named(name: str) -> Callable[..., Entries]:
    def apply(call: Call, *operands: Operand) -> Entries:
        return lambda *i: Apply(name, tuple(x.beside(*i) for x in operands))

    apply.__doc__ = FUNCTIONS[name].says
    return apply


for _name in NAMED:
    rule(_name)(_named(_name))


def of(name: str, *arguments: Node) -> Node:
    """A function of the table."""
    return Apply(name, arguments)


def _made(name: str, says: str, formula: Callable[..., Node]) -> None:
    def apply(call: Call, *operands: Operand) -> Entries:
        return lambda *i: formula(*(x.beside(*i) for x in operands))

    apply.__doc__ = says
    rule(name)(apply)


_made("exp2", "2 to the power of x", lambda x: real_power(number(2), x))
_made("expm1", "exp(x) − 1", lambda x: of("exp", x) - number(1))
_made("log1p", "log(1 + x)", lambda x: of("log", number(1) + x))
_made("log2", "log(x)/log(2)", lambda x: of("log", x) / of("log", number(2)))
_made("rsqrt", "1/√x", lambda x: number(1) / of("sqrt", x))
_made("tan", "sin(x)/cos(x)", lambda x: of("sin", x) / of("cos", x))
_made("logistic", "1/(1 + exp(−x))", lambda x: number(1) / (number(1) + of("exp", -x)))
_made("erfc", "1 − erf(x)", lambda x: number(1) - of("erf", x))
_made("igammac", "1 − igamma(a, x)", lambda a, x: number(1) - of("igamma", a, x))
_made("one_minus_square", "1 − x·x", lambda x: number(1) - x * x)
