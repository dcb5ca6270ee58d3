"""One evaluation and one reverse sweep over a certified graph, node by node, each by its lemma's own programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.accel._loops import Loop
from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.ir import Node, Ref
from certgrad.graph.points.node_statements import sized
from certgrad.graph.points.run import Key, Place, Run
from certgrad.graph.tracing.jaxpr import evaluate
from certgrad.graph.tracing.numbers import Numbers
from certgrad.obligations.tracing.jax_internals import kind_of

Cotangents = dict[tuple[int, int], Any]


class Values(list[Any]):
    """The outputs of every node; `kept` has, for loops by node, the residuals of their steps for the sweep."""

    kept: Mapping[int, Any] = {}


@dataclass(frozen=True)
class Sweep:
    """A graph at these sizes, with its evaluation and its reverse sweep: a function's, or one inside a node."""

    induction: Induction
    sizes: Mapping[str, Any]
    numbers: Numbers
    remat: bool = False
    """Whether the sweep computes values anew, part by part, and steps of loops, in place of keeping them."""

    @property
    def run(self) -> Run:
        return Run(self.sizes, self.numbers)

    def running(self, wanted: Collection[Key] = frozenset()) -> Run:
        """Return an evaluation that keeps these values and, without `remat`, the residuals of loops for the sweep."""
        return self.run_of(wanted) if self.remat else _Keeping(self.sizes, self.numbers, wanted, sweep=self)

    def run_of(self, wanted: Collection[Key]) -> Run:
        """Return an evaluation that keeps these values alone."""
        return Run(self.sizes, self.numbers, wanted)

    def forward(self, inputs: Sequence[Any], run: Run | None = None) -> Values:
        """Return every node's outputs."""
        run = self.running() if run is None else run
        values = Values(run.values(self.induction.traced, inputs))
        values.kept = run.stacked
        return values

    def loop(self, node: Node) -> Loop:
        """Return the loop at a node, with its body's sweep."""
        (body,) = self.inside(node)
        return Loop(self.induction, node, body)

    def outputs(self, values: Sequence[Any]) -> list[Any]:
        """Return the graph's outputs, given the values of its nodes."""
        return self.run.outputs(self.induction.traced, values)

    def backward(self, values: Values, seeds: Sequence[Any]) -> Cotangents:
        """Return every value's cotangent: from the last node to the first, each vjp adds to those of its operands.

        A seed of None is zero.
        """
        graph = self.induction.traced.ir
        cotangents: Cotangents = {}
        for operand, seed in zip(graph.outputs, seeds, strict=True):
            if isinstance(operand, Ref) and self.induction.is_moving(operand) and seed is not None:
                _add(cotangents, (operand.node, operand.output), seed)
        for part in reversed(_checkpoint_segments(graph.nodes) if self.remat else [graph.nodes]):
            part_values = self._anew(part, values, cotangents) if self.remat else values
            for node in reversed(part):
                arrived = [cotangents.get((node.id, k)) for k in range(len(node.outputs))]
                if any(ct is not None for ct in arrived):
                    for operand, ct in self.node_vjp(node, part_values, arrived):
                        _add(cotangents, (operand.node, operand.output), ct)
        return cotangents

    def _anew(self, part: Sequence[Node], values: Values, cotangents: Cotangents) -> Values:
        """Return all values, with those of the nodes in `part` computed again from the values that the part reads.

        A barrier ties these values to the cotangents that have arrived: so XLA neither merges the second computation
        with the first, nor starts it before the sweep has come to the part.
        """
        traced, run = self.induction.traced, self.run
        in_part = {node.id for node in part}
        read = [o for node in part for o in node.operands if isinstance(o, Ref) and o.node not in in_part]
        read_before = [
            r for r in dict.fromkeys((o.node, o.output) for o in read) if kind_of(values[r[0]][r[1]].dtype) != "k"
        ]
        arrived = [key for key in cotangents if key[0] in in_part]
        delayed = jax.lax.optimization_barrier(
            (
                [values[k][j] for k, j in read_before],
                [cotangents[key] for key in arrived],
            )
        )
        cotangents.update(zip(arrived, delayed[1], strict=True))
        recomputed = Values(list(v) if v is not None else v for v in values)
        recomputed.kept = values.kept
        for (k, j), x in zip(read_before, delayed[0], strict=True):
            recomputed[k][j] = x
        for node in part:
            if node.kind not in ("input", "constant"):
                recomputed[node.id] = run.node(traced, node, recomputed)
        return recomputed

    def node_vjp(self, node: Node, values: Values, arrived: Sequence[Any]) -> list[tuple[Ref, Any]]:
        """Return the cotangents that a node gives to its moving operands, by the vjp that its lemma is about."""
        if node.kind == "scan":
            return scan_vjp(self, node, values, arrived)
        if node.kind == "cond":
            return cond_vjp(self, node, values, arrived)
        judgement = self.induction.judged.get(node.id)
        if judgement is None:
            return []
        slots = self.induction.traced.slots(node)
        seeds = self.seeds(arrived, values[node.id])
        arguments = [values[r.node][r.output] for r in slots]
        cotangents = evaluate(_programs(judgement).vjp, [*arguments, *seeds], self.dims_of(node), self.numbers)
        return list(zip([slots[k] for k in judgement.operation.active], cotangents, strict=True))

    def seeds(self, arrived: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Return the cotangents of a node's outputs, zeros where none has arrived."""
        seeds = []
        for ct, value in zip(arrived, outputs, strict=True):
            real = jnp.issubdtype(value.dtype, jnp.floating)
            seeds.append(jnp.zeros(value.shape, value.dtype if real else self.numbers.real) if ct is None else ct)
        return seeds

    def dims_of(self, node: Node) -> dict[str, Any]:
        """Return the size at this node of each dimension of its lemma."""
        judgement = self.induction.judged[node.id]
        return {mine: sized(size)(self.sizes) for mine, size in judgement.instance.sizes.items()}

    def inside(self, node: Node) -> list[Sweep]:
        """Return the sweeps of the graphs inside a node."""
        return [type(self)(inner, self.sizes, self.numbers, self.remat) for inner in self.induction.inside[node.id]]

    def operands(self, node: Node, values: Values) -> list[Any]:
        """Return the values of a node's operands."""
        return [self.run.read(o, values) for o in node.operands]


def scan_vjp(sweep: Sweep, node: Node, values: Values, arrived: Sequence[Any]) -> list[tuple[Ref, Any]]:
    """Return the cotangents of a loop's operands, by the sweep over its steps in reverse."""
    seeds = sweep.seeds(arrived, values[node.id])
    cotangents = sweep.loop(node).backward(sweep.operands(node, values), seeds, values.kept.get(node.id))
    return _to_operands(sweep, node, cotangents)


@dataclass
class _Keeping(Run):
    """An evaluation that keeps the residuals of each loop's steps for the sweep; not of loops inside loops."""

    sweep: Sweep | None = field(default=None, kw_only=True)

    def beside(
        self, node: Node, place: Place, consts: list[Any], carry: list[Any], row: list[Any]
    ) -> tuple[Sequence[Any] | None, Sequence[Any]]:
        """Return a step's outputs with its residuals, for a moving loop of the graph itself; else nothing."""
        assert self.sweep is not None
        moving = self.sweep.induction.is_moving
        if place or not any(moving(Ref(node=node.id, output=k)) for k in range(len(node.outputs))):
            return None, ()
        return self.sweep.loop(node).kept(consts, carry, row)


def cond_vjp(sweep: Sweep, node: Node, values: Values, arrived: Sequence[Any]) -> list[tuple[Ref, Any]]:
    """Return the cotangents of a branch's operands: the reverse sweep of the branch that was taken."""
    index, *args = sweep.operands(node, values)
    seeds = sweep.seeds(arrived, values[node.id])
    branches = sweep.inside(node)
    moving = [sweep.induction.is_moving(o) for o in node.operands[1:]]

    def reverse(branch: Sweep) -> Any:
        def run(args: list[Any], seeds: list[Any]) -> list[Any]:
            cotangents = branch.backward(branch.forward(args), seeds)
            inputs = branch.induction.traced.ir.inputs
            return [
                cotangents.get((n.id, 0), jnp.zeros_like(x)) if m else None
                for n, x, m in zip(inputs, args, moving, strict=True)
            ]

        return run

    # As when the graph runs, an index out of range takes the first or the last branch.
    clipped = jnp.clip(jnp.asarray(index).astype(jnp.int32), 0, len(branches) - 1)
    cotangents = jax.lax.switch(clipped, [reverse(b) for b in branches], args, seeds)
    return _to_operands(sweep, node, [None, *cotangents])


def _to_operands(sweep: Sweep, node: Node, cotangents: Sequence[Any]) -> list[tuple[Ref, Any]]:
    return [
        (operand, ct)
        for operand, ct in zip(node.operands, cotangents, strict=True)
        if ct is not None and isinstance(operand, Ref) and sweep.induction.is_moving(operand)
    ]


def _checkpoint_segments(nodes: Sequence[Node]) -> list[Sequence[Node]]:
    """Return the nodes in √n consecutive parts of about √n nodes each."""
    size = max(1, isqrt(len(nodes)))
    return [nodes[k : k + size] for k in range(0, len(nodes), size)]


def _programs(judgement: Judgement) -> Any:
    programs = judgement.instance.proof.programs
    assert programs is not None, "a node without a proof is not executed"
    return programs


def _add(cotangents: Cotangents, key: tuple[int, int], ct: Any) -> None:
    cotangents[key] = cotangents[key] + ct if key in cotangents else ct
