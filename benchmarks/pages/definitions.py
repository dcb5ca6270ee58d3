"""Definitions and programs as text, a line an equation."""

from __future__ import annotations

from collections.abc import Iterator

from certgrad.specification import program as p

from .written import text


def definition_lines(definition: p.Definition, indent: str = "") -> Iterator[str]:
    """A definition, a line an equation; a loop's step stands indented."""
    match definition:
        case p.Defined(tensor, variables, entry):
            yield f"{indent}{_at(tensor.name, variables)} = {text(entry)}"
        case p.Table(tensor, values):
            yield f"{indent}{tensor.name} = {', '.join(map(text, values))}"
        case p.Determined(tensors, variables, equations):
            names = ", ".join(_at(one.name, variables) + "…" for one in tensors)
            yield f"{indent}{names} such that"
            for equation in equations:
                yield f"{indent}  {text(equation)}"
        case p.Opaque(tensors, _, name, operands):
            yield f"{indent}{', '.join(one.name for one in tensors)} = {name} of {', '.join(operands) or 'nothing'}"
        case p.Loop(time, length, carries, body):
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
