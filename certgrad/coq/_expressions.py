"""Expressions of the specification as terms of Coq, printed node by node without any simplification.

Integers are `Z`, reals `R`, formulas `bool`; a tensor is a function of its indices. Every compound expression is in
parentheses, so that the precedence of Coq's operators does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certgrad.language import tree as e
from certgrad.language.functions import FUNCTIONS as RECORDS
from certgrad.language.sorts import sort

from ._errors import NotPrintedError
from ._names import identifier, of_size

TYPES: dict[str, str] = {"real": "R", "integer": "Z", "boolean": "bool"}
FUNCTIONS = {
    "log": "ln",
    "abs": "Rabs",
    "real power": "rpow",
    "whole power": "zpow",
    "is finite": "(fun _ : R => true)",
    "bitwise and": "Z.land",
    "bitwise or": "Z.lor",
    "bitwise xor": "Z.lxor",
    **{
        name: name
        for name in "floor exp sqrt cbrt sin cos asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf".split()
    },
}
"""Coq's words for the specification's functions that Coq's library or `proofs/Functions.v` defines.

Other functions are arguments of a theorem (`ASSUMED`)."""
INFINITE = "infinite"
"""The variable that is printed for +∞. A theorem holds for every value of it, so that no output can depend on it."""
ASSUMED = {INFINITE: 0} | {
    name: len(known.arguments)
    for name, known in RECORDS.items()
    if known.says and name not in FUNCTIONS and {*known.arguments, known.result} == {"real"}
}
"""Functions that are arguments of a theorem, which knows them by hypotheses alone; with their numbers of arguments."""


def function_type(arity: int) -> str:
    """Return the type of a function of so many reals."""
    return " -> ".join(["R"] * (arity + 1))


def printed(x: e.Node) -> str:
    """Return an expression as a term of Coq, node by node.

    A number of steps that only a test bounds (`WHILE_A_TEST_HOLDS`) cannot be printed. Raises NotPrintedError for it,
    and for a node without a counterpart in the library.
    """
    match x:
        case e.Number():
            return number(x.rational)
        case e.Integer():
            return f"{x.value}%Z" if x.value >= 0 else f"(-{-x.value})%Z"
        case e.Constant("pi"):
            return "PI"
        case e.Size():
            return of_size(x.name)
        case e.Index():
            return identifier(x.name)
        case e.Entry():
            return applied(identifier(x.name), [printed(i) for i in x.index])
        case e.Add(parts) | e.Mul(parts):
            sign = " + " if isinstance(x, e.Add) else " * "
            return _scoped(f"({sign.join(map(printed, parts))})", x)
        case e.Subtract(left, right):
            return _scoped(f"({printed(left)} - {printed(right)})", x)
        case e.Negate():
            return _scoped(f"(- {printed(x.operand)})", x)
        case e.Divide():
            return f"({printed(x.left)} / {printed(x.right)})"
        case e.ToReal():
            return f"(IZR {printed(x.operand)})"
        case e.Power(base, exponent) if sort(x) == "integer":
            return f"({printed(base)} ^ {exponent}%Z)%Z"
        case e.Power(base, exponent):
            return power(printed(base), Fraction(exponent))
        case e.Apply(name, arguments):
            return _function(name, [printed(a) for a in arguments])
        case e.Compare():
            return _compared(x)
        case e.Both():
            return _boolean_chain(x.parts, "&&", "true")
        case e.Either():
            return _boolean_chain(x.parts, "||", "false")
        case e.Not():
            return f"(negb {printed(x.part)})"
        case e.If():
            return f"(if {printed(x.condition)} then {printed(x.then)} else {printed(x.otherwise)})"
        case e.Given():
            return printed(x.value)
        case e.Infinity():
            return INFINITE if x.positive else f"(- {INFINITE})"
        case e.Fold(kind, over, body, where):
            return _bound(kind, over, body, where)
        case e.Minimum(over, body, where):
            return _bound("minimum", over, body, where)
        case e.Chosen("argmax", (over,), (body,), where):
            return _bound("argmax", (over,), body, where)
        case e.ForAll(over, holds):
            return _bound("all", over, holds)
        case e.Exists(over, holds):
            return _bound("any", over, holds)
        case e.Least((over,), holds) if over.size != e.WHILE_A_TEST_HOLDS:
            return _bound("least", (over,), holds)
    raise NotPrintedError(f"a node {type(x).__name__}")


def _function(name: str, arguments: list[str]) -> str:
    """Return a function of printed arguments, in Coq's words."""
    if name in _OPERATIONS:
        return _OPERATIONS[name].format(*arguments)
    if name not in FUNCTIONS and name not in ASSUMED:
        raise NotPrintedError(f"the function {name}")
    return applied(FUNCTIONS.get(name, name), arguments)


_OPERATIONS = {
    "quotient": "({} / {})%Z",
    "remainder": "({} mod {})%Z",
    "integer power": "({} ^ {})%Z",
}


def number(value: Fraction) -> str:
    """Return a rational number as a real of Coq."""
    top = str(value.numerator) if value >= 0 else f"(- {-value.numerator})"
    return top if value.denominator == 1 else f"({top} / {value.denominator})"


def power(base: str, exponent: Fraction) -> str:
    """Return a real to a rational power: Coq's power of natural exponents where it is whole, else `rpow`."""
    if exponent.denominator != 1:
        return f"(rpow {base} {number(exponent)})"
    return f"({base} ^ {exponent})" if exponent >= 0 else f"(/ {base} ^ {-exponent})"


def applied(function: str, arguments: list[str]) -> str:
    return f"({function} {' '.join(arguments)})" if arguments else function


def _scoped(text: str, x: e.Node) -> str:
    """Return the text in Coq's scope of integers where the expression is an integer."""
    return f"{text}%Z" if sort(x) == "integer" else text


def _compared(x: e.Compare) -> str:
    """Return a comparison as a boolean. Coq's library has <, ≤ and =; > and ≥ have their sides exchanged."""
    left, right = printed(x.left), printed(x.right)
    integers = sort(x.left) == "integer"
    form = "({} {} {})%Z" if integers else "({1} {0} {2})"
    less, at_most, equal = ("<?", "<=?", "=?") if integers else ("Rltb", "Rleb", "Reqb")
    match x.relation:
        case "<" | "<=":
            return form.format(left, less if x.relation == "<" else at_most, right)
        case ">" | ">=":
            return form.format(right, less if x.relation == ">" else at_most, left)
        case "=":
            return form.format(left, equal, right)
    return f"(negb {form.format(left, equal, right)})"


def _boolean_chain(parts: Sequence[e.Node], sign: str, of_none: str) -> str:
    """Return the parts joined by a boolean operator, from the left; `of_none` without any."""
    if not parts:
        return of_none
    text = printed(parts[0])
    for part in parts[1:]:
        text = f"({text} {sign} {printed(part)})%bool"
    return text


_BINDERS: dict[tuple[str, str], str] = {
    ("sum", "real"): "sum_lt",
    ("sum", "integer"): "zsum_lt",
    ("product", "real"): "prod_lt",
    ("maximum", "real"): "max_lt",
    ("minimum", "real"): "min_lt",
    ("argmax", "real"): "argmax_lt",
    ("all", "boolean"): "all_lt",
    ("any", "boolean"): "any_lt",
    ("least", "boolean"): "least_lt",
}
_WHERE = {"maximum": "max_where", "minimum": "min_where", "argmax": "argmax_where"}
"""The binders over those real entries for which a condition holds."""


def _bound(kind: str, over: Sequence[e.Range], body: e.Node, where: Sequence[e.Node] = ()) -> str:
    """Return a sum, a maximum, a quantifier … over ranges, of the entries for which all of `where` hold.

    Raises NotPrintedError where the library has no such binder, and for a variable without a bound.
    """
    entry_sort = sort(body)
    word = _BINDERS.get((kind, entry_sort)) if not where else _WHERE.get(kind)
    if word is None or (where and (entry_sort != "real" or len(over) != 1)):
        raise NotPrintedError(f"{kind} of {entry_sort} entries")
    if any(r.size == e.WHILE_A_TEST_HOLDS for r in over):
        raise NotPrintedError("a variable that nothing bounds")
    text = printed(body)
    for r in reversed(over):
        binder = f"fun {identifier(r.variable)} =>"
        condition = f" ({binder} {_boolean_chain(where, '&&', 'true')})" if where else ""
        text = f"({word} {printed(r.size)}{condition} ({binder} {text}))"
    return text
