"""One evaluation and one reverse sweep over a certified graph, node by node, each by its lemma's own programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from certgrad.graph._certify import Certification
from certgrad.graph._jaxpr import Numbers, evaluate
from certgrad.graph._lemma import Proof
from certgrad.graph._satisfiable import forward_values
from certgrad.graph.ir import Node, Ref

Values = list[list[Any]]
Cotangents = dict[tuple[int, int], Any]


@dataclass(frozen=True)
class Sweep:
    """A graph at concrete dimensions."""

    certified: Certification
    sizes: Mapping[str, int]
    numbers: Numbers

    def forward(self, inputs: Sequence[Any]) -> Values:
        """Every node's outputs."""
        return forward_values(self.certified.traced, inputs, self.sizes, self.numbers)

    def outputs(self, values: Values) -> list[Any]:
        """What the graph returns."""
        return [
            values[o.node][o.output]
            if isinstance(o, Ref)
            else jnp.asarray(_number(o.text), self.numbers.dtype(o.dtype))
            for o in self.certified.traced.ir.outputs
        ]

    def backward(self, values: Values, seeds: Sequence[Any]) -> Cotangents:
        """Every value's cotangent: from the last node to the first, each node's vjp adds to those of its operands."""
        graph = self.certified.traced.ir
        cotangents: Cotangents = {}
        for operand, seed in zip(graph.outputs, seeds, strict=True):
            if isinstance(operand, Ref) and str(operand) in self.certified.moving:
                _add(cotangents, (operand.node, operand.output), seed)
        for node in reversed(graph.nodes):
            arrived = [cotangents.get((node.id, k)) for k in range(len(node.outputs))]
            if node.id in self.certified.proofs and any(ct is not None for ct in arrived):
                for operand, ct in self.node_vjp(node, values, arrived):
                    _add(cotangents, (operand.node, operand.output), ct)
        return cotangents

    def node_vjp(self, node: Node, values: Values, arrived: Sequence[Any]) -> list[tuple[Ref, Any]]:
        """The cotangents that one node gives to its moving operands, by the vjp that its lemma is about."""
        proof = self.certified.proofs[node.id]
        slots = self.certified.traced.slots(node)
        seeds = []
        for ct, value in zip(arrived, values[node.id], strict=True):
            real = jnp.issubdtype(value.dtype, jnp.floating)
            seeds.append(jnp.zeros(value.shape, value.dtype if real else self.numbers.real) if ct is None else ct)
        arguments = [values[r.node][r.output] for r in slots]
        found = evaluate(_programs(proof).vjp, [*arguments, *seeds], self.dims_of(node, proof), self.numbers)
        moving = [r for r in slots if str(r) in self.certified.moving and self.certified.traced.ir.type_of(r).real]
        return list(zip(moving, found, strict=True))

    def node_forward(self, node: Node, values: Values) -> list[Any]:
        """One node's outputs by its lemma's forward, from its operands' values."""
        proof = self.certified.proofs[node.id]
        arguments = [values[r.node][r.output] for r in self.certified.traced.slots(node)]
        return evaluate(_programs(proof).forward, arguments, self.dims_of(node, proof), self.numbers)

    def dims_of(self, node: Node, proof: Proof) -> dict[str, int]:
        """The lemma's dimensions at this node, as numbers."""
        names = self.certified.dims[node.id]
        return {mine: self.sizes[theirs] for mine, theirs in zip(proof.dims, names, strict=True)}


def _programs(proof: Proof) -> Any:
    assert proof.programs is not None, "a node without a proof is not executed"
    return proof.programs


def _add(cotangents: Cotangents, key: tuple[int, int], ct: Any) -> None:
    cotangents[key] = cotangents[key] + ct if key in cotangents else ct


def _number(text: str) -> Any:
    return text == "True" if text in ("True", "False") else float(text)
