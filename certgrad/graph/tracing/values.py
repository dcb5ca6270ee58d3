"""A digest of the value that a node computes, made of the operations that compute it from the graph's inputs.

Two nodes with equal digests, perhaps of two traces of one function, compute equal values.
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
    """Digests of a graph's values. `sizes` writes its dimensions; `inside` is a digest of where an inner graph is."""

    def __init__(
        self, traced: TracedGraph, sizes: Callable[[Any], str] = str, inside: str = "", said: Statements | None = None
    ) -> None:
        self.traced, self.sizes, self.within = traced, sizes, inside
        self.said: Statements = {} if said is None else said
        """For each text of a hypothesis the first statement that had it, with the digests of the values in it."""
        self.known: dict[int, str] = {}

    def of(self, operand: Operand) -> str:
        """Return the digest of a value."""
        if isinstance(operand, Literal):
            return _digest("number", operand.text, operand.dtype)
        for node in self._needed(operand.node):
            self.known[node] = self._node(self.traced.nodes[node])
        digest = self.known[operand.node]
        return digest if operand.output == 0 else _digest("output", str(operand.output), digest)

    def inside(self, node: Node, k: int) -> Values:
        """Return the digests of graph `k` inside a node; its inputs' digests depend on the node's own digest."""
        body = self.traced.bodies[node.id][k]
        return Values(body, self.sizes, _digest("inside", self.of(Ref(node=node.id)), str(k)), self.said)

    def _needed(self, node: int) -> list[int]:
        """Return the node and the nodes behind it whose digests are not known yet, in order."""
        needed: set[int] = set()
        todo = [node]
        while todo:
            current = todo.pop()
            if current not in needed and current not in self.known:
                needed.add(current)
                todo += [r.node for r in self.traced.nodes[current].parents]
        return sorted(needed)

    def _node(self, node: Node) -> str:
        """Return the digest of a node's first output, from those of its operands."""
        if node.kind == "input":
            return _digest("input", self.within, node.name)
        if node.kind == "constant":
            dtype, shape, contents = bytes_of(self.traced.constants[node.id])
            return _digest("constant", dtype, str(shape), contents.hex())
        program = serialised(self.traced.equations[node.id].program, self.sizes, fold_sizes=True)
        return _digest(node.kind, program, *map(self.of, node.operands))


Statements = dict[str, tuple[Statement, dict[str, str]]]
"""By its text, a hypothesis: its statement, and for each argument name the digest of its value."""


def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=LENGTH)
    for part in parts:
        digest.update(f"{len(part)} ".encode())
        digest.update(part.encode())
    return digest.hexdigest()
