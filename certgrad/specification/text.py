"""Expressions and definitions as a reader writes them: `Σ_{k0<n} x[i0, k0]·y[k0]`."""

from __future__ import annotations

from collections.abc import Iterator

from . import expression as e
from .expression import Expression

OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(8)
"""How strongly a form binds: a part that binds less than its place wants gets parentheses."""

_BINDERS = {e.Sum: "Σ", e.Product: "∏", e.Maximum: "max", e.Minimum: "min", e.ArgMax: "argmax", e.Least: "least"}


def text(x: Expression, place: int = OR) -> str:
    """The expression, in parentheses where its place needs them."""
    said, binds = _said(x)
    return f"({said})" if binds < place else said


def _said(x: Expression) -> tuple[str, int]:
    match x:
        case e.Number(value):
            return str(value), ATOM if value.denominator == 1 and value >= 0 else PRODUCT if value >= 0 else SUM
        case e.Integer(value):
            return str(value), ATOM if value >= 0 else SUM
        case e.Truth(value):
            return ("true" if value else "false"), ATOM
        case e.Infinity(positive):
            return ("∞" if positive else "−∞"), ATOM
        case e.Size(name) | e.Index(name):
            return name, ATOM
        case e.Entry(tensor, indices):
            return (f"{tensor}[{', '.join(map(text, indices))}]" if indices else tensor), ATOM
        case e.Add(left, right):
            return f"{text(left, SUM)} + {text(right, SUM)}", SUM
        case e.Subtract(left, right):
            return f"{text(left, SUM)} − {text(right, PRODUCT)}", SUM
        case e.Multiply(left, right):
            return f"{text(left, PRODUCT)}·{text(right, SIGN)}", PRODUCT
        case e.Divide(left, right):
            return f"{text(left, PRODUCT)}/{text(right, SIGN)}", PRODUCT
        case e.FloorDivide(left, right):
            return f"⌊{text(left, PRODUCT)}/{text(right, SIGN)}⌋", ATOM
        case e.Modulo(left, right):
            return f"{text(left, PRODUCT)} mod {text(right, SIGN)}", PRODUCT
        case e.Negate(operand):
            return f"−{text(operand, SIGN)}", SIGN
        case e.ToReal(operand):
            return _said(operand)
        case e.Floor(operand):
            return f"⌊{text(operand)}⌋", ATOM
        case e.Power(base, exponent) | e.IntegerPower(base, exponent):
            return f"{text(base, ATOM)}^{text(exponent, ATOM)}", POWER
        case e.Function(name, arguments):
            return (f"{name}({', '.join(map(text, arguments))})" if arguments else name), ATOM
        case e.Sum() | e.Product() | e.Maximum() | e.Minimum() | e.ArgMax() | e.Least():
            return _bound(x), PRODUCT
        case e.ForAll(variable, count, body):
            return f"for all {variable}{_below(count)}: {text(body)}", OR
        case e.Exists(variable, count, body):
            return f"for some {variable}{_below(count)}: {text(body)}", OR
        case e.Compare(relation, left, right):
            return f"{text(left, SUM)} {relation} {text(right, SUM)}", COMPARISON
        case e.And(parts):
            return (" ∧ ".join(text(p, COMPARISON) for p in parts) if parts else "true"), _several(parts, AND)
        case e.Or(parts):
            return (" ∨ ".join(text(p, AND) for p in parts) if parts else "false"), _several(parts, OR)
        case e.Not(part):
            return f"¬{text(part, ATOM)}", COMPARISON
        case e.IsDefined(entry):
            return f"{text(entry)} is defined", COMPARISON
        case e.If(condition, then, otherwise):
            return f"if {text(condition)} then {text(then)} else {text(otherwise)}", OR
        case e.Given(condition, value):
            return f"{text(value)} provided that {text(condition)}", OR
    raise TypeError(type(x).__name__)


def _several(parts: tuple[Expression, ...], binds: int) -> int:
    return binds if len(parts) > 1 else COMPARISON if parts else ATOM


def _below(count: Expression | None) -> str:
    return "" if count is None else f"<{text(count, SUM)}"


def _bound(x: e.Sum | e.Product | e.Maximum | e.Minimum | e.ArgMax | e.Least) -> str:
    where = getattr(x, "where", e.Truth(True))
    kept = "" if where == e.Truth(True) else f", {text(where)}"
    return f"{_BINDERS[type(x)]}_{{{x.variable}{_below(x.count)}{kept}}} {text(x.body, PRODUCT)}"


def definition_lines(definition: e.Definition, indent: str = "") -> Iterator[str]:
    """A definition, a line an equation; a loop's step stands indented."""
    match definition:
        case e.Defined(tensor, variables, entry):
            yield f"{indent}{_at(tensor.name, variables)} = {text(entry)}"
        case e.Table(tensor, values):
            yield f"{indent}{tensor.name} = {', '.join(map(text, values))}"
        case e.Determined(tensors, variables, equations):
            names = ", ".join(_at(t.name, variables) + "…" for t in tensors)
            yield f"{indent}{names} such that"
            for equation in equations:
                yield f"{indent}  {text(equation)}"
        case e.Opaque(tensors, _, name, operands):
            yield f"{indent}{', '.join(t.name for t in tensors)} = {name} of {', '.join(operands) or 'nothing'}"
        case e.Loop(time, length, carries, body):
            yield f"{indent}for {time} = 0, 1, …" + (f" below {text(length)}" if length is not None else "")
            for carry in carries:
                at = len(carry.tensor.times) - 1
                before, after = carry.variables[:at], carry.variables[at:]
                yield f"{indent}  {_at(carry.tensor.name, (*before, '0', *after))} = {text(carry.start)}"
            for inner in body:
                yield from definition_lines(inner, indent + "  ")
            for carry in carries:
                at = len(carry.tensor.times) - 1
                later = (*carry.variables[:at], f"{time} + 1", *carry.variables[at:])
                yield f"{indent}  {_at(carry.tensor.name, later)} = {text(carry.step)}"


def _at(name: str, variables: tuple[str, ...]) -> str:
    return f"{name}[{', '.join(variables)}]" if variables else name


def program_text(program: e.Program) -> str:
    """A program, a line an equation."""
    return "\n".join(line for d in program.definitions for line in definition_lines(d))
