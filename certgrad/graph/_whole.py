"""The whole program of a graph as the specification reads it, and which of its tensors each node computes.

The program is read from the trace as it is. The nodes' equations are read one after the other as well, and tensors
with the same definition are taken for the same one: no more than a guess, which Coq proves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certgrad.coq import input_name
from certgrad.graph._induction import Induction
from certgrad.graph._trace import TracedGraph
from certgrad.specification import expression as e
from certgrad.specification._jax import size, sort_of
from certgrad.specification.pruned import pruned, with_parts
from certgrad.specification.reading import Reader, meaning
from certgrad.specification.rule import Operand, UnreadableError


@dataclass(frozen=True)
class Whole:
    """A program, by node what it calls the node's outputs, and what it computes on the way to them."""

    program: e.Program | None = None
    said: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    through: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def whole_program(traced: TracedGraph, induction: Induction) -> Whole:
    """Of the outputs that move. Nothing of a program that the specification does not read."""
    inputs = [input_name(n.id) for n in traced.ir.inputs]
    try:
        program = meaning(traced.program, inputs)
        moving = [induction.is_moving(o) for o in traced.ir.outputs]
        outputs = tuple(t for t, moves in zip(program.outputs, moving, strict=True) if moves)
        program = pruned(replace(program, outputs=outputs))
        return Whole(program, *_said(traced, program))
    except UnreadableError:
        return Whole()


def _said(traced: TracedGraph, program: e.Program) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    reader = Reader()
    by_node: dict[tuple[int, int], Operand] = {}
    made: dict[int, tuple[int, int]] = {}
    inputs: list[e.Tensor] = []
    for node in traced.nodes:
        start = len(reader.definitions)
        if node.kind == "input":
            aval = traced.program.jaxpr.invars[len(inputs)].aval
            tensor = e.Tensor(input_name(node.id), tuple(map(size, aval.shape)), sort_of(aval.dtype))
            inputs.append(tensor)
            results = [reader.operand(tensor, aval.dtype)]
        elif node.kind == "constant":
            results = [reader.constant(traced.constants[node.id])]
        else:
            operands = [by_node[ref.node, ref.output] for ref in traced.slots(node)]
            results = reader.read(traced.equations[node.id].program, operands)
        by_node |= {(node.id, k): one for k, one in enumerate(results)}
        made[node.id] = start, len(reader.definitions)
    mine = _digests([*reader.tables, *reader.definitions])
    named = {digest: name for name, digest in reversed(_digests(program.definitions).items())}
    known = {name: named[digest] for name, digest in mine.items() if digest in named}
    said = {n.id: tuple(known.get(_tensor(by_node[n.id, k]), "") for k in range(len(n.outputs))) for n in traced.nodes}
    through = {}
    for node in traced.nodes:
        first, last = made[node.id]
        names = [t.name for d in reader.definitions[first:last] for t in _tensors(d)]
        through[node.id] = tuple(known[n] for n in names if n in known)
    return said, through


def _tensors(definition: e.Definition) -> Sequence[e.Tensor]:
    return [definition.tensor] if isinstance(definition, (e.Defined, e.Table)) else []


def _tensor(result: Operand) -> str:
    """The name of the tensor that it is, if it is one."""
    entry = result.at(*(e.Index(f"i{k}") for k in range(result.rank)))
    return entry.tensor if isinstance(entry, e.Entry) else ""


def _digests(definitions: Sequence[e.Definition]) -> dict[str, str]:
    """Of each tensor, of its definition in terms of the digests of those that it reads."""
    found: dict[str, str] = {}

    def renamed(x: Any) -> Any:
        x = with_parts(x, renamed)
        return replace(x, tensor=found.get(x.tensor, x.tensor)) if isinstance(x, e.Entry) else x

    for definition in definitions:
        if isinstance(definition, e.Defined):
            text = f"{definition.tensor.shape} {definition.variables} {renamed(definition.entry)}"
        elif isinstance(definition, e.Table):
            text = f"{definition.tensor.shape} {definition.values}"
        else:
            continue
        found[definition.tensor.name] = hashlib.sha256(text.encode()).hexdigest()
    return found
