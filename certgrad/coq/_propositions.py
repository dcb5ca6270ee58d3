"""Formulas as propositions of Coq."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.language import tree as e
from certgrad.language.sorts import sort
from certgrad.specification import program as p

from ._errors import NotPrintedError
from ._expressions import printed
from ._names import identifier

_SIGNS = {"!=": "<>"}
_MATRICES = {("determinant", "!="): "invertible", ("smallest minor", ">"): "positive_definite"}
"""Coq's predicate of a matrix for a comparison of its determinant or its smallest minor with 0."""


def proposition(x: e.Node, inputs: Mapping[str, p.Tensor]) -> str:
    """Return a formula as a proposition of Coq.

    "This entry is defined" is, for an array of `inputs`, that its indices are inside of the shape, and for any other
    tensor the condition that is printed beside it. Raises NotPrintedError for a formula of an unknown form.
    """

    def says(part: e.Node) -> str:
        return proposition(part, inputs)

    match x:
        case e.Compare(relation, e.Matrix(kind, (rows, columns), body)):
            if (kind, relation) not in _MATRICES:
                raise NotPrintedError(f"a hypothesis on the {kind} of a matrix")
            names = f"{identifier(rows.variable)} {identifier(columns.variable)}"
            return f"({_MATRICES[kind, relation]} {printed(rows.size)} (fun {names} => {printed(body)}))"
        case e.Compare(relation, left, right):
            scope = "%Z" if sort(left) == "integer" else ""
            return f"({printed(left)} {_SIGNS.get(relation, relation)} {printed(right)}){scope}"
        case e.NotIn(term, numbers):
            number = printed(term)
            strict = f"{number} <> IZR (floor {number})"
            return f"({strict})" if numbers == "integers" else f"(0 < {number} \\/ {strict})"
        case e.Not(part):
            return f"(~ {says(part)})"
        case e.Both(parts):
            return "(" + " /\\ ".join(map(says, parts)) + ")" if parts else "True"
        case e.Either(parts):
            return "(" + " \\/ ".join(map(says, parts)) + ")" if parts else "False"
        case e.Where(guards, then):
            return "(" + "".join(f"{says(g)} -> " for g in guards) + f"{says(then)})"
        case e.If(condition, then, otherwise):
            return f"(if {printed(condition)} then {says(then)} else {says(otherwise)})"
        case e.ForAll(over, holds) | e.Exists(over, holds) if all(r.size != e.WHILE_A_TEST_HOLDS for r in over):
            word, joint = ("forall", "-> ") if isinstance(x, e.ForAll) else ("exists", "/\\ ")
            names = " ".join(identifier(r.variable) for r in over)
            return f"({word} {names} : Z, {''.join(f'{_in_range(r)} {joint}' for r in over)}{says(holds)})"
        case e.Unique((over,), body, ()):
            return f"(unique_max {printed(over.size)} (fun {identifier(over.variable)} => {printed(body)}))"
        case e.Unique(over, body, where):
            # among the places where all conditions hold, the body is greatest at exactly one
            names = ", ".join(identifier(r.variable) for r in over)
            place = f"'({names})" if len(over) > 1 else names
            condition_at = " /\\ ".join([*map(_in_range, over), *map(says, where)])
            return f"(unique_at (fun {place} => {condition_at}) (fun {place} => {printed(body)}))"
        case e.Distinct((over,), body):
            return f"(distinct_lt {printed(over.size)} (fun {identifier(over.variable)} => {printed(body)}))"
        case e.IsDefined(entry):
            if entry.name in inputs:
                return indices_within_shape(entry.index, inputs[entry.name])
            return f"({' '.join([that_it_is_defined(entry.name), *map(printed, entry.index)])})"
        case e.SortedEntry() if x.sort == "boolean":
            return f"({printed(x)} = true)"
    raise NotPrintedError(f"a condition '{type(x).__name__}'")


def _in_range(r: e.Range) -> str:
    return f"(0 <= {identifier(r.variable)} < {printed(r.size)})%Z"


def indices_within_shape(indices: Sequence[e.Node], tensor: p.Tensor) -> str:
    """Return the proposition that the indices are within the tensor's shape."""
    ranges = [f"(0 <= {printed(i)} < {printed(n)})%Z" for i, n in zip(indices, tensor.shape, strict=True)]
    return "(" + " /\\ ".join(ranges) + ")" if ranges else "True"


def that_it_is_defined(tensor: str) -> str:
    """Return the name of the function from an index to the condition under which the tensor's entry is defined."""
    return f"{identifier(tensor)}_is_defined"
