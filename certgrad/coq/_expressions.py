"""Expressions of the specification as terms of Coq: one line a node, and nothing simplified.

Integers are `Z`, reals `R`, formulas `bool`; a tensor is a function of its indices. Every compound is in parentheses,
so that no precedence of Coq's matters.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from certgrad.specification import expression as e
from certgrad.specification.sorts import sort

from ._errors import NotPrintedError
from ._names import identifier, of_size

TYPES: dict[str, str] = {"real": "R", "integer": "Z", "boolean": "bool"}
FUNCTIONS = {
    "pi": "PI",
    "log": "ln",
    "is finite": "(fun _ : R => true)",
    "bitwise and": "Z.land",
    "bitwise or": "Z.lor",
    "bitwise xor": "Z.lxor",
    **{
        name: name for name in "exp sqrt cbrt sin cos asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf".split()
    },
}
"""Those of the specification that Coq's library or `proofs/Functions.v` defines. The others are arguments."""
INFINITE = "infinite"
"""What stands for +∞: any number. A theorem holds for all of them, and says that no output reads it."""
ASSUMED = {
    INFINITE: 0,
    "erf_inv": 1,
    "lgamma": 1,
    "digamma": 1,
    "polygamma": 2,
    "zeta": 2,
    "igamma": 2,
    "igamma_grad_a": 2,
    "regularized_incomplete_beta": 3,
    "bessel_i0e": 1,
    "bessel_i1e": 1,
}
"""Functions of which a theorem speaks by hypotheses alone, with the number of their arguments."""


def function_type(arity: int) -> str:
    """The type of a function of reals."""
    return " -> ".join(["R"] * (arity + 1))


def printed(x: e.Expression) -> str:
    """The expression in Coq. Raises NotPrintedError."""
    match x:
        case e.Number():
            return number(x.value)
        case e.Integer():
            return f"{x.value}%Z" if x.value >= 0 else f"(-{-x.value})%Z"
        case e.Truth():
            return "true" if x.value else "false"
        case e.Size():
            return of_size(x.name)
        case e.Index():
            return identifier(x.name)
        case e.Entry():
            return applied(identifier(x.tensor), [printed(i) for i in x.indices])
        case e.Add() | e.Subtract() | e.Multiply():
            sign = {e.Add: "+", e.Subtract: "-", e.Multiply: "*"}[type(x)]
            return _scoped(f"({printed(x.left)} {sign} {printed(x.right)})", x)
        case e.Negate():
            return _scoped(f"(- {printed(x.operand)})", x)
        case e.Divide():
            return f"({printed(x.left)} / {printed(x.right)})"
        case e.FloorDivide():
            return f"({printed(x.left)} / {printed(x.right)})%Z"
        case e.Modulo():
            return f"({printed(x.left)} mod {printed(x.right)})%Z"
        case e.ToReal():
            return f"(IZR {printed(x.operand)})"
        case e.Floor():
            return f"(floor {printed(x.operand)})"
        case e.Power():
            if isinstance(x.exponent, e.Number):
                return power(printed(x.base), x.exponent.value)
            return f"(rpow {printed(x.base)} {printed(x.exponent)})"
        case e.IntegerPower():
            return _integer_power(x)
        case e.Function():
            if x.name not in FUNCTIONS and x.name not in ASSUMED:
                raise NotPrintedError(f"the function {x.name}")
            return applied(FUNCTIONS.get(x.name, x.name), [printed(a) for a in x.arguments])
        case e.Compare():
            return _compared(x)
        case e.And():
            return _joined(x.parts, "&&", "true")
        case e.Or():
            return _joined(x.parts, "||", "false")
        case e.Not():
            return f"(negb {printed(x.part)})"
        case e.If():
            return f"(if {printed(x.condition)} then {printed(x.then)} else {printed(x.otherwise)})"
        case e.Given():
            return printed(x.value)
        case e.Infinity():
            return INFINITE if x.positive else f"(- {INFINITE})"
        case e.Sum() | e.Product() | e.Maximum() | e.Minimum() | e.ArgMax() | e.ForAll() | e.Exists():
            return _bound(x)
        case e.Least() if x.count is not None:
            return f"(least_lt {printed(x.count)} (fun {identifier(x.variable)} => {printed(x.body)}))"
    raise NotPrintedError(f"a node {type(x).__name__}")


def number(value: Fraction) -> str:
    """A rational number, as a real."""
    top = str(value.numerator) if value >= 0 else f"(- {-value.numerator})"
    return top if value.denominator == 1 else f"({top} / {value.denominator})"


def power(base: str, exponent: Fraction) -> str:
    """A real to a rational power: by multiplication where it is whole."""
    if exponent.denominator != 1:
        return f"(rpow {base} {number(exponent)})"
    return f"({base} ^ {exponent})" if exponent >= 0 else f"(/ {base} ^ {-exponent})"


def applied(function: str, arguments: list[str]) -> str:
    return f"({function} {' '.join(arguments)})" if arguments else function


def _scoped(text: str, x: e.Expression) -> str:
    return f"{text}%Z" if sort(x) == "integer" else text


def _integer_power(x: e.IntegerPower) -> str:
    if sort(x) == "integer":
        return f"({printed(x.base)} ^ {printed(x.exponent)})%Z"
    if isinstance(x.exponent, e.Integer):
        return power(printed(x.base), Fraction(x.exponent.value))
    return f"(zpow {printed(x.base)} {printed(x.exponent)})"


def _compared(x: e.Compare) -> str:
    left, right = printed(x.left), printed(x.right)
    if sort(x.left) == "integer":
        return f"({left} {({'=': '=?', '<': '<?', '≤': '<=?'})[x.relation]} {right})%Z"
    return f"({({'=': 'Reqb', '<': 'Rltb', '≤': 'Rleb'})[x.relation]} {left} {right})"


def _joined(parts: tuple[e.Expression, ...], sign: str, of_none: str) -> str:
    if not parts:
        return of_none
    text = printed(parts[0])
    for part in parts[1:]:
        text = f"({text} {sign} {printed(part)})%bool"
    return text


_BINDERS: dict[tuple[type, str], str] = {
    (e.Sum, "real"): "sum_lt",
    (e.Sum, "integer"): "zsum_lt",
    (e.Product, "real"): "prod_lt",
    (e.Maximum, "real"): "max_lt",
    (e.Minimum, "real"): "min_lt",
    (e.ArgMax, "real"): "argmax_lt",
    (e.ForAll, "boolean"): "all_lt",
    (e.Exists, "boolean"): "any_lt",
}


_BINDERS_WHERE = {e.Maximum: "max_where", e.Minimum: "min_where", e.ArgMax: "argmax_where"}
"""Of real entries for which a condition holds."""


def _bound(x: Any) -> str:
    where = getattr(x, "where", e.Truth(True))
    word = _BINDERS.get((type(x), sort(x.body))) if where == e.Truth(True) else _BINDERS_WHERE[type(x)]
    if word is None or (where != e.Truth(True) and sort(x.body) != "real"):
        raise NotPrintedError(f"{type(x).__name__} of {sort(x.body)} entries")
    over = f"fun {identifier(x.variable)} =>"
    kept = "" if where == e.Truth(True) else f" ({over} {printed(where)})"
    return f"({word} {printed(x.count)}{kept} ({over} {printed(x.body)}))"
