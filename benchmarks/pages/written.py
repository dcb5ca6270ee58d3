"""Expressions as they are written, node by node, with the parentheses that they need: `Σ_{k0<n} x[i0, k0]·y[k0]`.

What a statement of a certificate says is printed by `text`, in an order that is read more easily.
"""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.language import tree as t
from certgrad.language.relations import SIGNS

OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(8)
"""How strongly a form binds: a part that binds less than its place wants gets parentheses."""
_FOLDS = {"sum": "Σ", "product": "∏", "maximum": "max"}


def text(x: t.Node, place: int = OR) -> str:
    """The expression, in parentheses where its place needs them."""
    shown, binds = _text_and_precedence(x)
    return f"({shown})" if binds < place else shown


def _text_and_precedence(x: t.Node) -> tuple[str, int]:
    """A node as text with the precedence of its outermost operator. Raises TypeError for a node without a text."""
    match x:
        case t.Number():
            value = x.rational
            return x.value, ATOM if value.denominator == 1 and value >= 0 else PRODUCT if value >= 0 else SUM
        case t.Integer(value):
            return str(value), ATOM if value >= 0 else SUM
        case t.Infinity(positive):
            return ("∞" if positive else "−∞"), ATOM
        case t.Size(name) | t.Index(name) | t.Constant(name):
            return name, ATOM
        case t.Entry(name, index):
            return (f"{name}[{', '.join(map(text, index))}]" if index else name), ATOM
        case t.Add(terms):
            return " + ".join(text(part, SUM) for part in terms), SUM
        case t.Subtract(left, right):
            return f"{text(left, SUM)} − {text(right, PRODUCT)}", SUM
        case t.Mul((first, *rest)):
            return "·".join([text(first, PRODUCT), *(text(part, SIGN) for part in rest)]), PRODUCT
        case t.Divide(left, right):
            return f"{text(left, PRODUCT)}/{text(right, SIGN)}", PRODUCT
        case t.Negate(operand):
            return f"−{text(operand, SIGN)}", SIGN
        case t.ToReal(operand):
            return _text_and_precedence(operand)
        case t.Power(base, exponent):
            return f"{text(base, ATOM)}^{text(t.Number(exponent), ATOM)}", POWER
        case t.Apply(name, arguments):
            return _applied(name, arguments)
        case t.Fold(kind, (over,), body, where):
            return f"{_FOLDS[kind]}{_under(over, where)} {text(body, PRODUCT)}", PRODUCT
        case t.Minimum((over,), body, where):
            return f"min{_under(over, where)} {text(body, PRODUCT)}", PRODUCT
        case t.Chosen("argmax", (over,), (body,), where):
            return f"argmax{_under(over, where)} {text(body, PRODUCT)}", PRODUCT
        case t.Least((over,), holds):
            return f"least{_under(over)} {text(holds, PRODUCT)}", PRODUCT
        case t.ForAll((over,), holds):
            return f"for all {_range(over)}: {text(holds)}", OR
        case t.Exists((over,), holds):
            return f"for some {_range(over)}: {text(holds)}", OR
        case t.Compare(relation, left, right):
            return f"{text(left, SUM)} {SIGNS[relation]} {text(right, SUM)}", COMPARISON
        case t.Both(parts):
            return (" ∧ ".join(text(part, COMPARISON) for part in parts) or "true"), _several(parts, AND)
        case t.Either(parts):
            return (" ∨ ".join(text(part, AND) for part in parts) or "false"), _several(parts, OR)
        case t.Not(part):
            return f"¬{text(part, ATOM)}", COMPARISON
        case t.IsDefined(entry):
            return f"{text(entry)} is defined", COMPARISON
        case t.If(condition, then, otherwise):
            return f"if {text(condition)} then {text(then)} else {text(otherwise)}", OR
        case t.Given(condition, value):
            return f"{text(value)} provided that {text(condition)}", OR
    raise TypeError(type(x).__name__)


def _applied(name: str, arguments: Sequence[t.Node]) -> tuple[str, int]:
    match name, arguments:
        case "floor", (x,):
            return f"⌊{text(x)}⌋", ATOM
        case "quotient", (left, right):
            return f"⌊{text(left, PRODUCT)}/{text(right, SIGN)}⌋", ATOM
        case "remainder", (left, right):
            return f"{text(left, PRODUCT)} mod {text(right, SIGN)}", PRODUCT
        case (("real power" | "whole power" | "integer power"), (base, exponent)):
            return f"{text(base, ATOM)}^{text(exponent, ATOM)}", POWER
    return f"{name}({', '.join(map(text, arguments))})", ATOM


def _several(parts: Sequence[t.Node], binds: int) -> int:
    return binds if len(parts) > 1 else COMPARISON if parts else ATOM


def _range(over: t.Range) -> str:
    return over.variable if over.size == t.WHILE_A_TEST_HOLDS else f"{over.variable}<{text(over.size, SUM)}"


def _under(over: t.Range, where: Sequence[t.Node] = ()) -> str:
    """Return what is written below the sign of a binder."""
    return f"_{{{', '.join([_range(over), *map(text, where)])}}}"
