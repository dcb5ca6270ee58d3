"""The walk over a graph's nodes that the induction takes: one step a node, with which values move and who reads them.

`induction` walks it to write the steps, with lemmas that it proves; the second check of a certificate
(`accel/verify`) walks it beside the steps that were written, with lemmas whose programs it finds again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from msgspec.structs import replace

from certgrad.graph.certificate import Cotangent, Inside, NodeHypothesis, Step
from certgrad.graph.induction.inner_graphs import PARTS, Parts
from certgrad.graph.ir import Literal, Node, Operand, Ref
from certgrad.graph.lemmas.lemma import Instance
from certgrad.graph.lemmas.operation import Operation
from certgrad.graph.points.run import Place
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.graph.wording.expression import Expressions
from certgrad.language.text import text
from certgrad.language.tree import Statement
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, VerdictName, holding, worst

COMPUTED = "the values depend on no input, and were computed"
"""Why a hypothesis on constants is discharged."""
NO_NUMBER = "NaN or an infinity, which is no real number"
Value = tuple[int, int]
"""A value of a graph: its node and its position among the node's outputs."""


@dataclass
class Judgement:
    """The instance of a lemma at every node of one equation, with the same active operands and known signs."""

    operation: Operation
    instance: Instance
    informed: tuple[int, ...] = ()
    """The signs of the arguments that the lemma was given."""
    gone: list[Statement] = field(default_factory=list)
    """The hypotheses that the signs `informed` discharge."""
    signs: tuple[int, ...] = ()
    """What is known of the outputs' signs."""

    @cached_property
    def instantiation(self) -> dict[str, str]:
        """Return the lemma's dimensions, each with the node's size."""
        return {mine: str(size) for mine, size in self.instance.sizes.items()}

    @cached_property
    def formulas(self) -> list[str]:
        """Return the texts of the hypotheses that are discharged."""
        return [text(s) for s in self.gone]

    @cached_property
    def asks_nothing(self) -> bool:
        """Whether the lemma is proved, and no hypothesis is stated or discharged at any of the nodes."""
        proof = self.instance.proof
        conditions = proof.stated or self.gone or proof.dimensions or proof.cases or self.instance.nonempty
        return proof.lemma.verdict in PROVED_AS_WRITTEN and not conditions


class Walk:
    """The steps of one graph. `moving` says for each input whether it depends on the function's real inputs; all do if
    None.
    """

    def __init__(
        self, traced: TracedGraph, moving: Sequence[bool] | None, names: Mapping[int, str], place: Place
    ) -> None:
        self.traced, self.place = traced, place
        inputs = [n for n in traced.ir.inputs if n.outputs[0].real]
        self.moving: set[Value] = {(n.id, 0) for n in inputs if moving is None or moving[n.id]}
        self.judged: dict[int, Judgement] = {}
        self.inside: dict[int, list[Any]] = {}
        """The walks of the graphs inside a node."""
        self.steps: list[Step] = []
        self.fixed: set[int] = set()
        """The nodes that depend on no input."""
        self.consumers: dict[Value, list[str]] = {}
        self.expressions = Expressions(traced.ir, names)

    def run(self) -> Self:
        """Take every step."""
        for node in self.traced.nodes:
            self.steps.append(self.step(node))
        return self

    def is_moving(self, operand: Operand) -> bool:
        """Return whether the value depends on the function's real inputs."""
        return isinstance(operand, Ref) and (operand.node, operand.output) in self.moving

    def cotangents(self) -> Iterator[list[Cotangent]]:
        """Yield, for each node, the contributions to the cotangents of its moving outputs: from the seeds and from its
        readers.
        """
        seeds: dict[Value, list[str]] = {}
        for i, o in enumerate(self.traced.ir.outputs):
            if isinstance(o, Ref) and self.is_moving(o):
                seeds.setdefault((o.node, o.output), []).append(f"seed {i}")
        moving, consumers = self.moving, self.consumers
        for node in self.traced.nodes:
            contributions = []
            for k in range(len(node.outputs)):
                if (value := (node.id, k)) in moving:
                    readers, seeded = consumers.get(value, []), seeds.get(value)
                    contributions.append(
                        Cotangent(output=k, contributions=readers if seeded is None else seeded + readers)
                    )
            yield contributions

    # --- steps

    def step(self, node: Node) -> Step:
        """Return the step of a node, by its kind."""
        if node.kind == "primitive":  # most are
            return self.operation(node)
        if node.kind == "input":
            return self.plain(node, "input", "input")
        if node.kind == "constant":
            self.fixed.add(node.id)
            if node.outputs[0].real and not np.isfinite(self.traced.constants[node.id]).all():
                return self.plain(node, "constant", "constant", verdict="unproved", reason=f"an entry is {NO_NUMBER}")
            return self.plain(node, "constant", "constant")
        if (
            node.kind == "draw"
        ):  # what is drawn from a key is some constant of it: it has no derivative, and is a number
            if any(map(self.is_moving, node.operands)):
                return self.refused(node, "it is drawn between moving bounds")
            return self.plain(node, "constant", node.name)
        return self._with_graphs(node) if node.id in self.traced.bodies else self.operation(node)

    def operation(self, node: Node) -> Step:
        """Return the step of a node without graphs inside, by its lemma."""
        raise NotImplementedError

    def within(self, node: Node, parts: Parts) -> list[Self]:
        """Return the walks of the graphs inside a node."""
        raise NotImplementedError

    def plain(self, node: Node, role: str, operation: str, **rest: Any) -> Step:
        """Return a step that needs no lemma; `rest` holds further fields of it, such as its verdict."""
        return Step(
            node=node.id,
            operation=operation,
            source=node.source,
            role=role,
            expression=self.expressions.of_node(node.id),
            **{"verdict": "proved", **rest},
        )

    def refused(self, node: Node, reason: str) -> Step:
        """Return the step of a node whose results move and of which nothing is proved."""
        self.moving.update((node.id, k) for k, o in enumerate(node.outputs) if o.real)
        return self.plain(node, "moving", node.name, verdict="unproved", reason=reason)

    def read(self, node: Node, equation: Equation) -> tuple[list[Ref], list[Value], tuple[int, ...]]:
        """Return the distinct operands of a node's equation, their values, and the positions of those that move.

        A node whose operands depend on no input is noted as fixed.
        """
        slots = self.traced.slots(node)
        values = [(r.node, r.output) for r in slots]
        if not values or (self.fixed and self.fixed.issuperset([r.node for r in slots])):
            self.fixed.add(node.id)
        real = equation.real
        return slots, values, tuple([k for k, value in enumerate(values) if real[k] and value in self.moving])

    def judge(self, node: Node, judgement: Judgement, values: Sequence[Value]) -> None:
        """Store the judgement at a node; if an operand moves, note that its real outputs do, and what it reads."""
        self.judged[node.id] = judgement
        operation = judgement.operation
        if operation.active:
            self.moving.update([(node.id, k) for k in operation.equation.real_outputs])
            for k in operation.active:
                self.consumers.setdefault(values[k], []).append(f"%{node.id} ({operation.names[k]})")

    def stepped(
        self, node: Node, judgement: Judgement, arguments: dict[str, Ref], verdict: VerdictName, **rest: Any
    ) -> Step:
        """Return the step of a node as an instance of its lemma; `rest` holds further fields of the step."""
        lemma = judgement.instance.proof.lemma
        return Step(
            node=node.id,
            operation=lemma.name,
            source=node.source,
            expression=self.expressions.of_node(node.id),
            role="moving" if judgement.operation.active else "constant",
            verdict=verdict,
            lemma=lemma.digest,
            arguments=arguments,
            instantiation=judgement.instantiation,
            **rest,
        )

    def _with_graphs(self, node: Node) -> Step:
        """Return the step of a loop or branch, by the steps of the graphs inside it.

        Its hypotheses are theirs, each with where inside it holds; its verdict is the worst of their steps'.
        """
        moving = [self.is_moving(o) for o in node.operands]
        parts = PARTS[node.kind](self.traced, node, moving, [self.expressions.of(o) for o in node.operands])
        if parts.refused:
            return self.refused(node, parts.refused)
        self.moving.update((node.id, k) for k, m in enumerate(parts.moved) if m)
        for k in parts.read:
            operand = node.operands[k]
            if isinstance(operand, Ref) and self.is_moving(operand):
                self.consumers.setdefault((operand.node, operand.output), []).append(f"%{node.id} (operand {k})")
        walks = self.within(node, parts)
        self.inside[node.id] = walks
        hypotheses = [
            replace(h, node=node.id, text=f"{h.text}, {parts.where.format(k=k)}")
            for k, walk in enumerate(walks)
            for h in walk.hypotheses
        ]
        verdict: VerdictName = worst(["proved", *(s.verdict for walk in walks for s in walk.steps)])
        verdict = holding(hypotheses) if verdict in PROVED_AS_WRITTEN else verdict
        # Besides the steps inside, check the literals that no step inside reads: operands of the node, and results.
        failing = next((s for walk in walks for s in walk.steps if s.verdict not in PROVED_AS_WRITTEN), None)
        reason = ""
        if failing is not None:
            reason = f"inside, {failing.operation} at {failing.source or f'%{failing.node}'}: {failing.reason}"
        elif any(map(no_number, (*node.operands, *(o for walk in walks for o in walk.traced.ir.outputs)))):
            verdict, reason = "unproved", f"it starts with, or a graph inside returns, {NO_NUMBER}"
        return self.plain(
            node,
            "moving" if any(parts.moved) else "constant",
            node.name,
            verdict=verdict,
            hypotheses=hypotheses,
            reason=reason,
            inside=[walk.as_inside() for walk in walks],
        )

    @property
    def hypotheses(self) -> list[NodeHypothesis]:
        """Return the hypotheses of the steps so far."""
        return [h for s in self.steps for h in s.hypotheses]

    def as_inside(self) -> Inside:
        """Return the walk of a graph inside a node as part of the node's step."""
        moving = [n.name for n in self.traced.ir.inputs if (n.id, 0) in self.moving]
        return Inside(name=self.traced.ir.name, moving=moving, steps=self.steps)


def no_number(operand: Operand) -> bool:
    """Return whether the operand is written as NaN or an infinity. Where an operation
    reads such a literal, its lemma takes care of it.
    """
    return isinstance(operand, Literal) and operand.text in ("nan", "inf", "-inf")
