"""A certified graph as a file of Coq: its lemmas, its nodes and their operands, taken from its certification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from certgrad.coq import MAX_TABLE, NO_CLAIM, Argument, File, Graph, Lemma, Loop, Node, NotPrintedError, export_graph
from certgrad.graph.certifying.certify import Certification
from certgrad.graph.coq.signs import claims_of
from certgrad.graph.coq.whole import whole_program
from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.ir import Node as GraphNode
from certgrad.graph.ir import Ref
from certgrad.graph.lemmas.operation import KINDS
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.language import tree as e
from certgrad.language.tree import Statement
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.tracing.jax_internals import kind_of, scan_loop, wide_floats
from certgrad.specification import program as p
from certgrad.specification._jax import size, sort_of


def print_graph(done: Certification, name: str = "") -> File:
    """Return the graph as a file of Coq. `name` is the name of its theorems; by default, the graph's own.

    Raises NotPrintedError where the graph is not proved, or holds something that cannot be printed.
    """
    return export_graph(read_graph(done, name))


def read_graph(done: Certification, name: str = "") -> Graph:
    """Return the graph in the form that is printed, with its whole program. Raises NotPrintedError."""
    if done.certificate.verdict not in PROOFS:
        raise NotPrintedError(f"its verdict is '{done.certificate.verdict}'")
    reading = _Reading(done.traced, done.induction, done.traced.ir.dims, {})
    graph = reading.graph(name or done.certificate.graph.name)
    whole = whole_program(done.traced, done.induction)
    said, through = whole.said, whole.through
    nodes = (replace(n, said=said.get(k, ()), through=through.get(k, ())) for k, n in enumerate(graph.nodes))
    return replace(graph, nodes=tuple(nodes), program=whole.program)


class _Reading:
    """The reading of a certified graph, or of a loop's body, into the nodes and lemmas that Coq gets."""

    def __init__(self, traced: TracedGraph, induction: Induction, dims: Sequence[str], lemmas: dict[Any, Any]) -> None:
        self.traced, self.induction, self.dims = traced, induction, dims
        self.lemmas: dict[Any, tuple[Lemma, tuple[str, ...]]] = lemmas
        self.inputs = dict(zip((n.id for n in self.traced.ir.inputs), self.traced.program.jaxpr.invars, strict=True))

    def graph(self, name: str) -> Graph:
        """Return the graph with all its nodes, and those of its outputs that move."""
        graph = self.traced.ir
        claims = claims_of(self.traced, self.induction)
        nodes = tuple(replace(self._node(n), claim=claims.get(n.id, NO_CLAIM)) for n in graph.nodes)
        outputs = tuple((o.node, o.output) for o in graph.outputs if isinstance(o, Ref) and self.induction.is_moving(o))
        return Graph(name, tuple(self.dims), nodes, outputs)

    def _node(self, node: GraphNode) -> Node:
        """Return a node for Coq: an input, a constant, a loop, a value that does not move, or a lemma's instance."""
        equation = self.traced.equations.get(node.id)
        moves = any((node.id, k) in self.induction.moving for k in range(len(node.outputs)))
        if node.kind == "input":
            return Node(str(node), (_tensor(self.inputs[node.id].aval),), moves)
        if node.kind == "constant":
            value = np.asarray(self.traced.constants[node.id])
            printable = value.size <= MAX_TABLE
            return Node(str(node), (_tensor(value),), False, program=_constant(value) if printable else None)
        assert equation is not None
        outputs = tuple(_tensor(v.aval) for v in equation.eqn.outvars)
        if node.id in self.traced.bodies:
            return self._loop(node, outputs)
        reads = tuple((ref.node, ref.output) for ref in self.traced.slots(node))
        if not moves:  # no rule is claimed of it; its program gives the value, of which a random draw has none
            program = None if node.kind == "draw" else equation.program
            return Node(str(node), outputs, False, reads, program=program)
        judgement = self.induction.judged[node.id]
        lemma, dims = self._lemma(judgement)
        sizes_at_node = judgement.instance.sizes
        sizes_in_order = (sizes_at_node[dimension] for dimension in judgement.instance.proof.dims)
        sizes = {n: e.Size(x) if isinstance(x, str) else size(x) for n, x in zip(dims, sizes_in_order, strict=True)}
        return Node(str(node), outputs, True, reads, lemma, sizes)

    def _loop(self, node: GraphNode, outputs: tuple[p.Tensor, ...]) -> Node:
        """Return the node of a scan.

        Raises NotPrintedError for another loop or a branch, a scan that goes backwards or starts at a literal, and one
        whose body returns a value that does not move.
        """
        where = f"%{node.id}, a node {node.kind}"
        if node.kind != "scan":
            raise NotPrintedError(f"{where} with graphs inside")
        loop = scan_loop(self.traced.equations[node.id].eqn)
        reads = tuple((r.node, r.output) for r in node.operands if isinstance(r, Ref))
        (body_induction,) = self.induction.inside[node.id]
        body = body_induction.traced
        if loop.reverse or len(reads) != len(node.operands):
            raise NotPrintedError(f"{where} that goes backwards, or begins at a literal")
        if not all(map(body_induction.is_moving, body.ir.outputs)):
            raise NotPrintedError(f"{where} that gives what does not move")
        body_reading = _Reading(body, body_induction, self.dims, self.lemmas)
        outputs_of_body = tuple((o.node, o.output) for o in body.ir.outputs if isinstance(o, Ref))
        graph = replace(body_reading.graph("body"), outputs=outputs_of_body)
        return Node(str(node), outputs, True, reads, loop=Loop(graph, loop.consts, loop.carries, size(loop.length)))

    def _lemma(self, judgement: Judgement) -> tuple[Lemma, tuple[str, ...]]:
        """Return the lemma of a node and the names of its sizes; equal lemmas of several nodes are one.

        Hypotheses that signs discharge at the node are hypotheses of the lemma here: Coq proves them from the claims.
        """
        operation, proof = judgement.operation, judgement.instance.proof
        hypotheses: tuple[Statement, ...] = tuple(dict.fromkeys([*proof.stated, *judgement.gone]))
        key = (proof.lemma.digest, operation.names, operation.active, hypotheses)
        if key not in self.lemmas:
            assert proof.programs is not None
            sorts = [KINDS.get(kind_of(v.aval.dtype), "") for v in operation.equation.variables]
            inputs = tuple(
                Argument(n, "held" if sort == "float" and k not in operation.active else sort)
                for k, (n, sort) in enumerate(zip(operation.names, sorts, strict=True))
            )
            self.lemmas[key] = Lemma(proof.lemma.name, inputs, proof.programs, hypotheses), proof.dims
        return self.lemmas[key]


def _tensor(aval: Any) -> p.Tensor:
    """Return a tensor with an array's shape and sort; its name is not used."""
    return p.Tensor("", tuple(map(size, aval.shape)), sort_of(aval.dtype))


def _constant(value: np.ndarray) -> Any:
    """Return the program without arguments that returns the array."""
    with wide_floats(True):
        return jax.make_jaxpr(lambda: value)()
