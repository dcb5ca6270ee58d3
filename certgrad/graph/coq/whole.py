"""The whole program of a graph as the specification reads it, and which of its tensors each node computes.

The program is read twice: whole, from the trace, and node by node, from the nodes' equations. Tensors of the two
readings with equal definitions are taken to be the same one. This is only a guess; Coq proves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any

import msgspec

from certgrad.coq import input_name
from certgrad.graph.induction.induction import Induction
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.language import tree as e
from certgrad.language.relations import COMPARES
from certgrad.language.tree import mapped
from certgrad.specification import program as p
from certgrad.specification._jax import size, sort_of
from certgrad.specification.program import pruned, reads
from certgrad.specification.reading import Reader, meaning
from certgrad.specification.rule import Operand, UnreadableError


@dataclass(frozen=True)
class Whole:
    """A program and, by node, the names of its tensors: the node's outputs (`said`), and those that are computed on the
    way to them (`through`)."""

    program: p.Program | None = None
    said: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    through: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def whole_program(traced: TracedGraph, induction: Induction) -> Whole:
    """Return the whole program of the outputs that move; its program is None where the specification cannot read it."""
    inputs = [input_name(n.id) for n in traced.ir.inputs]
    try:
        program = meaning(traced.program, inputs)
        moving = [induction.is_moving(o) for o in traced.ir.outputs]
        outputs = tuple(t for t, moves in zip(program.outputs, moving, strict=True) if moves)
        program = pruned(replace(program, outputs=outputs))
        return Whole(program, *_tensors_by_node(traced, program))
    except UnreadableError:
        return Whole()


def _tensors_by_node(
    traced: TracedGraph, program: p.Program
) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """Return two tables by node: the names in the whole program of its outputs, and of all tensors on the way to them.

    The nodes are read one by one. A tensor of that reading gets the name of the tensor in the whole program whose
    definition has the same digest; an output without such a tensor gets "".
    """
    reader = Reader()
    by_node: dict[tuple[int, int], Operand] = {}
    definitions_of: dict[int, tuple[int, int]] = {}  # the range of a node's definitions
    inputs: list[p.Tensor] = []
    for node in traced.nodes:
        start = len(reader.definitions)
        if node.kind == "input":
            aval = traced.program.jaxpr.invars[len(inputs)].aval
            tensor = p.Tensor(input_name(node.id), tuple(map(size, aval.shape)), sort_of(aval.dtype))
            inputs.append(tensor)
            results = [reader.operand(tensor, aval.dtype)]
        elif node.kind == "constant":
            results = [reader.constant(traced.constants[node.id])]
        else:
            operands = [by_node[ref.node, ref.output] for ref in traced.slots(node)]
            results = reader.read(traced.equations[node.id].program, operands)
        by_node |= {(node.id, k): result for k, result in enumerate(results)}
        definitions_of[node.id] = start, len(reader.definitions)
    node_digests, _ = _digests([*reader.tables, *reader.definitions])
    digests, plain_behind = _digests(program.definitions)
    name_of_digest = {digest: name for name, digest in reversed(digests.items())}
    names_in_whole = {name: name_of_digest[digest] for name, digest in node_digests.items() if digest in name_of_digest}
    of_outputs = {
        n.id: tuple(names_in_whole.get(_tensor(by_node[n.id, k]), "") for k in range(len(n.outputs)))
        for n in traced.nodes
    }
    through = {}
    for node in traced.nodes:
        first, last = definitions_of[node.id]
        names = [t.name for d in reader.definitions[first:last] for t in _tensors(d)]
        own_names = dict.fromkeys(names_in_whole[n] for n in names if n in names_in_whole)
        through[node.id] = tuple(
            own_names | dict.fromkeys(r for n in own_names for r in sorted(plain_behind.get(n, ())))
        )
    return of_outputs, through


def _tensors(definition: p.Definition) -> Sequence[p.Tensor]:
    return [definition.tensor] if isinstance(definition, (p.Defined, p.Table)) else []


def _tensor(result: Operand) -> str:
    """Return the name of the tensor that an operand is, or ""."""
    entry = result.at(*(e.Index(f"i{k}") for k in range(result.rank)))
    return entry.name if isinstance(entry, e.Entry) else ""


def _digests(definitions: Sequence[p.Definition]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return a digest of each tensor's definition, and for each tensor the plain tensors that it rests on.

    In a definition, other tensors stand by their digests, so that names do not count. A plain tensor is one number,
    which is put in where the tensor is read, or a copy of another tensor, whose digest it has.
    """
    digests: dict[str, str] = {}
    numbers: dict[str, e.Node] = {}
    plain: dict[str, set[str]] = {}
    rests_on: dict[str, set[str]] = {}

    def renamed(x: Any) -> Any:
        x = _folded(mapped(x, renamed))
        if not isinstance(x, e.Entry):
            return x
        return numbers.get(x.name) or msgspec.structs.replace(x, name=digests.get(x.name, x.name))

    for definition in definitions:
        if isinstance(definition, p.Defined):
            entry, name = renamed(definition.entry), definition.tensor.name
            rests_on[name] = {n for r in reads(definition) if r in plain for n in plain[r]}
            text = f"{definition.tensor.shape} {definition.variables} {entry}"
            digests[name] = hashlib.sha256(text.encode()).hexdigest()
            # Both readings differ in which constants and copies they name, so these must not count in a digest.
            if isinstance(entry, (e.Number, e.Integer)) or entry in (e.TRUE, e.FALSE):
                numbers[name] = entry
                plain[name] = {name, *rests_on[name]}
            elif isinstance(entry, e.Entry) and _as_it_is(entry, definition):
                digests[name] = entry.name
                plain[name] = {name, *rests_on[name]}
        elif isinstance(definition, p.Table):
            text = f"{definition.tensor.shape} {definition.values}"
            digests[definition.tensor.name] = hashlib.sha256(text.encode()).hexdigest()
    return digests, rests_on


def _as_it_is(entry: e.Entry, definition: p.Defined) -> bool:
    """Return whether a definition copies another tensor's entries; an axis of size 1 is read at 0."""
    axes = zip(definition.variables, definition.tensor.shape, strict=False)
    read = list(zip(entry.index, axes, strict=False))
    same = (i == e.Index(v) or (i == e.Integer(0) and n == e.Integer(1)) for i, (v, n) in read)
    return len(entry.index) == len(definition.variables) and all(same)


def _folded(x: Any) -> Any:
    """Return a node with arithmetic on numbers, and choices by them, computed."""
    match x:
        case e.ToReal(e.Integer(value)):
            return e.number(value)
        case e.If(condition, then, otherwise) if condition in (e.TRUE, e.FALSE):
            return then if condition == e.TRUE else otherwise
        case e.Compare(relation, e.Number() | e.Integer(), e.Number() | e.Integer()):
            return e.TRUE if COMPARES[relation](_value(x.left), _value(x.right)) else e.FALSE
        case e.Add((e.Number(), e.Number()) as parts):
            return e.number(sum(map(_value, parts)))
        case e.Mul((e.Number(), e.Number()) as parts):
            return e.number(prod(map(_value, parts)))
        case e.Subtract(e.Number(), e.Number()):
            return e.number(_value(x.left) - _value(x.right))
        case e.Divide(e.Number(), e.Number()) if _value(x.right):
            return e.number(_value(x.left) / _value(x.right))
    return x


def _value(x: Any) -> Fraction:
    return Fraction(x.value)
