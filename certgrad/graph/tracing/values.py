"""Which value a node computes, told by the operations that make it of the graph's inputs: equal digests, equal values.

Two nodes, perhaps of two traces of one function, compute the same where they apply the same operations to the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from certgrad.graph.ir import Literal, Node, Operand, Ref
from certgrad.graph.tracing.jaxpr import bytes_of
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.language.tree import Statement
from certgrad.obligations.tracing.jax_internals import serialised

LENGTH = 16
"""Bytes of a digest."""


class Values:
    """Digests of a graph's values. `sizes` writes its dimensions; `inputs` are the digests of its inputs' values."""

    def __init__(
        self, traced: TracedGraph, sizes: Callable[[Any], str] = str, inside: str = "", said: Statements | None = None
    ) -> None:
        self.traced, self.sizes, self.within = traced, sizes, inside
        self.said: Statements = {} if said is None else said
        """What the texts of hypotheses say, of which values."""
        self.known: dict[int, str] = {}

    def of(self, operand: Operand) -> str:
        """The digest of a value."""
        if isinstance(operand, Literal):
            return _digest("number", operand.text, operand.dtype)
        for node in self._needed(operand.node):
            self.known[node] = self._node(self.traced.nodes[node])
        found = self.known[operand.node]
        return found if operand.output == 0 else _digest("output", str(operand.output), found)

    def inside(self, node: Node, k: int) -> Values:
        """The values of a graph inside a node: they are those of this node's, at its steps."""
        body = self.traced.bodies[node.id][k]
        return Values(body, self.sizes, _digest("inside", self.of(Ref(node=node.id)), str(k)), self.said)

    def _needed(self, node: int) -> list[int]:
        """The nodes behind a node whose digests are not known, and itself, in order."""
        found: set[int] = set()
        todo = [node]
        while todo:
            here = todo.pop()
            if here not in found and here not in self.known:
                found.add(here)
                todo += [r.node for r in self.traced.nodes[here].parents]
        return sorted(found)

    def _node(self, node: Node) -> str:
        if node.kind == "input":
            return _digest("input", self.within, node.name)
        if node.kind == "constant":
            dtype, shape, contents = bytes_of(self.traced.constants[node.id])
            return _digest("constant", dtype, str(shape), contents.hex())
        program = serialised(self.traced.equations[node.id].program, self.sizes, fold_sizes=True)
        return _digest(node.kind, program, *map(self.of, node.operands))


Statements = dict[str, tuple[Statement, dict[str, str]]]


def _digest(*parts: str) -> str:
    found = hashlib.blake2b(digest_size=LENGTH)
    for part in parts:
        found.update(f"{len(part)} ".encode())
        found.update(part.encode())
    return found.hexdigest()
