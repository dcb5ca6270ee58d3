"""Formulas of the specification as propositions of Coq."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.specification import expression as e
from certgrad.specification.sorts import sort

from ._errors import NotPrintedError
from ._expressions import printed
from ._names import identifier

_SIGNS = {"=": "=", "<": "<", "≤": "<="}


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
                return inside(list(entry.indices), inputs[entry.tensor])
            return f"({' '.join([that_it_is_defined(entry.tensor), *map(printed, entry.indices)])})"
        case e.Entry() if x.sort == "boolean":
            return f"({printed(x)} = true)"
    raise NotPrintedError(f"a condition '{type(x).__name__}'")


def inside(indices: Sequence[e.Expression], tensor: e.Tensor) -> str:
    """The indices are within the tensor's shape."""
    ranges = [f"(0 <= {printed(i)} < {printed(n)})%Z" for i, n in zip(indices, tensor.shape, strict=True)]
    return "(" + " /\\ ".join(ranges) + ")" if ranges else "True"


def that_it_is_defined(tensor: str) -> str:
    """The name of the condition of a tensor's entries."""
    return f"{identifier(tensor)}_is_defined"
