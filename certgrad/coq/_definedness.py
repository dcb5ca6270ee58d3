"""Where programs are defined, as propositions of Coq: the specification's formulas, printed as they are.

Coq's division, logarithm and root have a value everywhere, so that an equation between programs says nothing of where
they mean something. Beside each tensor stands the condition of its entries, in terms of the conditions of those that it
reads; that of an output is the program's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from certgrad.specification import expression as e
from certgrad.specification.definedness import defined
from certgrad.specification.pruned import with_parts
from certgrad.specification.sorts import sort

from ._errors import NotPrintedError
from ._expressions import printed
from ._names import identifier
from ._programs import Function, assumed_by, by_output, head, let, plain

_SIGNS = {"=": "=", "<": "<", "≤": "<="}


def conditions(name: str, program: e.Program, sizes: Sequence[str]) -> list[Function]:
    """One function an output: from its indices to the condition that its entry is defined. Raises NotPrintedError."""
    return [_condition(one, part, sizes) for one, part in by_output(name, program)]


def _condition(name: str, program: e.Program, sizes: Sequence[str]) -> Function:
    inputs = {t.name: t for t in program.inputs}
    lines = []
    for definition in map(plain, program.definitions):
        tensor = definition.tensor
        variables = tuple(f"i{k}" for k in range(len(tensor.shape)))
        formula: e.Expression = e.Truth(True)
        if isinstance(definition, e.Defined):
            variables, formula = definition.variables, defined(_undefined_at_infinity(definition.entry))
        body = _both(_inside([e.Index(v) for v in variables], tensor), proposition(formula, inputs))
        binder = f"fun ({' '.join(variables)} : Z) => " if variables else ""
        lines += [let(definition, typed=True), f"  let {_of(tensor.name)} := {binder}{body} in"]
    (output,) = program.outputs
    assumed = assumed_by(program)
    binders, arguments = head(program, assumed, sizes)
    result = "Z -> " * len(output.shape) + "Prop"
    own = _of(output.name)
    if output.name in inputs:
        variables = tuple(f"i{k}" for k in range(len(output.shape)))
        inside = _inside([e.Index(v) for v in variables], output)
        own = f"fun ({' '.join(variables)} : Z) => {inside}" if variables else inside
    text = "\n".join([f"Definition {name} {' '.join(binders)} : {result} :=", *lines, f"  {own}."])
    return Function(name, arguments, text, output, assumed)


def _of(tensor: str) -> str:
    return f"{identifier(tensor)}_is_defined"


def proposition(x: e.Expression, inputs: Mapping[str, e.Tensor]) -> str:
    """A formula as a proposition. Raises NotPrintedError."""

    def said(part: e.Expression) -> str:
        return proposition(part, inputs)

    match x:
        case e.Truth(value):
            return "True" if value else "False"
        case e.Compare(relation, left, right):
            scope = "%Z" if sort(left) == "integer" else ""
            return f"({printed(left)} {_SIGNS[relation]} {printed(right)}){scope}"
        case e.Not(part):
            return f"(~ {said(part)})"
        case e.And(parts):
            return "(" + " /\\ ".join(map(said, parts)) + ")" if parts else "True"
        case e.Or(parts):
            return "(" + " \\/ ".join(map(said, parts)) + ")" if parts else "False"
        case e.If(condition, then, otherwise):
            return f"(if {printed(condition)} then {said(then)} else {said(otherwise)})"
        case e.ForAll(variable, count, body) if count is not None:
            v = identifier(variable)
            return f"(forall {v} : Z, (0 <= {v} < {printed(count)})%Z -> {said(body)})"
        case e.Exists(variable, count, body) if count is not None:
            v = identifier(variable)
            return f"(exists {v} : Z, (0 <= {v} < {printed(count)})%Z /\\ {said(body)})"
        case e.IsDefined(entry):
            if entry.tensor in inputs:
                return _inside(list(entry.indices), inputs[entry.tensor])
            return f"({' '.join([_of(entry.tensor), *map(printed, entry.indices)])})"
        case e.Entry() if x.sort == "boolean":
            return f"({printed(x)} = true)"
    raise NotPrintedError(f"a condition '{type(x).__name__}'")


def _undefined_at_infinity(x: e.Expression) -> e.Expression:
    """The expression with what is defined nowhere in place of infinities."""
    if isinstance(x, e.Infinity):
        return e.Given(e.Truth(False), e.Number(Fraction(0)))
    return with_parts(x, _undefined_at_infinity)


def _inside(indices: Sequence[e.Expression], tensor: e.Tensor) -> str:
    ranges = [f"(0 <= {printed(i)} < {printed(n)})%Z" for i, n in zip(indices, tensor.shape, strict=True)]
    return "(" + " /\\ ".join(ranges) + ")" if ranges else "True"


def _both(left: str, right: str) -> str:
    return right if left == "True" else left if right == "True" else f"({left} /\\ {right})"
