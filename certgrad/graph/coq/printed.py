"""A certified graph as a file of Coq: its lemmas, its nodes and what they read, as the certification has them."""

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
    """The graph as a file of Coq. `name` is that of its theorems, if not the graph's own.

    Raises NotPrintedError where the graph is not proved, or where something is in it that is not printed.
    """
    return export_graph(read_graph(done, name))


def read_graph(done: Certification, name: str = "") -> Graph:
    """Return the graph as it is printed. Raises NotPrintedError."""
    if done.certificate.verdict not in PROOFS:
        raise NotPrintedError(f"its verdict is '{done.certificate.verdict}'")
    reading = _Reading(done.traced, done.induction, done.traced.ir.dims, {})
    graph = reading.graph(name or done.certificate.graph.name)
    whole = whole_program(done.traced, done.induction)
    said, through = whole.said, whole.through
    nodes = (replace(n, said=said.get(k, ()), through=through.get(k, ())) for k, n in enumerate(graph.nodes))
    return replace(graph, nodes=tuple(nodes), program=whole.program)


class _Reading:
    """The nodes of a certified graph."""

    def __init__(self, traced: TracedGraph, induction: Induction, dims: Sequence[str], lemmas: dict[Any, Any]) -> None:
        self.traced, self.induction, self.dims = traced, induction, dims
        self.lemmas: dict[Any, tuple[Lemma, tuple[str, ...]]] = lemmas
        self.inputs = dict(zip((n.id for n in self.traced.ir.inputs), self.traced.program.jaxpr.invars, strict=True))

    def graph(self, name: str) -> Graph:
        """All nodes by number, and the outputs that move."""
        graph = self.traced.ir
        claims = claims_of(self.traced, self.induction)
        nodes = tuple(replace(self._node(n), claim=claims.get(n.id, NO_CLAIM)) for n in graph.nodes)
        outputs = tuple((o.node, o.output) for o in graph.outputs if isinstance(o, Ref) and self.induction.is_moving(o))
        return Graph(name, tuple(self.dims), nodes, outputs)

    def _node(self, node: GraphNode) -> Node:
        """A node as Coq has it: an input, a constant, a loop, a value that does not move, or an instance of a lemma."""
        equation = self.traced.equations.get(node.id)
        moves = any((node.id, k) in self.induction.moving for k in range(len(node.outputs)))
        if node.kind == "input":
            return Node(str(node), (_tensor(self.inputs[node.id].aval),), moves)
        if node.kind == "constant":
            value = np.asarray(self.traced.constants[node.id])
            small = value.size <= MAX_TABLE
            return Node(str(node), (_tensor(value),), False, program=_constant(value) if small else None)
        assert equation is not None
        outputs = tuple(_tensor(v.aval) for v in equation.eqn.outvars)
        if node.id in self.traced.bodies:
            return self._loop(node, outputs)
        reads = tuple((ref.node, ref.output) for ref in self.traced.slots(node))
        if not moves:
            program = None if node.kind == "draw" else equation.program
            return Node(str(node), outputs, False, reads, program=program)
        judgement = self.induction.judged[node.id]
        lemma, dims = self._lemma(judgement)
        here = judgement.instance.sizes
        given = (here[mine] for mine in judgement.instance.proof.dims)
        sizes = {n: e.Size(x) if isinstance(x, str) else size(x) for n, x in zip(dims, given, strict=True)}
        return Node(str(node), outputs, True, reads, lemma, sizes)

    def _loop(self, node: GraphNode, outputs: tuple[p.Tensor, ...]) -> Node:
        """A loop that goes forward, and reads and gives what moves."""
        here = f"%{node.id}, a node {node.kind}"
        if node.kind != "scan":
            raise NotPrintedError(f"{here} with graphs inside")
        loop = scan_loop(self.traced.equations[node.id].eqn)
        reads = tuple((r.node, r.output) for r in node.operands if isinstance(r, Ref))
        (inside,) = self.induction.inside[node.id]
        body = inside.traced
        if loop.reverse or len(reads) != len(node.operands):
            raise NotPrintedError(f"{here} that goes backwards, or begins at a literal")
        if not all(map(inside.is_moving, body.ir.outputs)):
            raise NotPrintedError(f"{here} that gives what does not move")
        read = _Reading(body, inside, self.dims, self.lemmas)
        outs = tuple((o.node, o.output) for o in body.ir.outputs if isinstance(o, Ref))
        graph = replace(read.graph("body"), outputs=outs)
        return Node(str(node), outputs, True, reads, loop=Loop(graph, loop.consts, loop.carries, size(loop.length)))

    def _lemma(self, judgement: Judgement) -> tuple[Lemma, tuple[str, ...]]:
        """The lemma of a node with its sizes, once for all that use it: its digest calls sizes by their order.

        What signs discharge is a hypothesis of it here.
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
    """The program that returns it."""
    with wide_floats(True):
        return jax.make_jaxpr(lambda: value)()
