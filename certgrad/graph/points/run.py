"""The values of a graph at concrete sizes, node by node, with wanted values inside loops and branches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.graph.ir import Literal, Node, Operand, Ref
from certgrad.graph.tracing.jaxpr import evaluate_equation, replaced
from certgrad.graph.tracing.numbers import Numbers
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.obligations.tracing.jax_internals import scan_loop

Place = tuple[tuple[int, int], ...]
"""Where an inner graph is: the nodes around it, from the outside in, each with the number of its graph."""
Key = tuple[Place, int, int]
"""A value: the place of its graph, its node, and which of the node's outputs it is."""


@dataclass
class Run:
    """An evaluation of graphs at these sizes that keeps the values in `wanted`; those of a loop's steps are stacked."""

    sizes: Mapping[str, Any]
    numbers: Numbers
    wanted: Collection[Key] = frozenset()
    kept: dict[Key, Any] = field(default_factory=dict)
    taken: dict[Place, Any] = field(default_factory=dict)
    """For each graph inside, whether it runs, at each step of the loops around it."""
    stacked: dict[int, Any] = field(default_factory=dict)
    """For each loop, by node, the further values that `beside` computes at each step, stacked."""

    def values(self, traced: TracedGraph, inputs: Sequence[Any], place: Place = (), needed: bool = False) -> list[Any]:
        """Return every node's outputs, and keep those that are wanted.

        `place` is where the graph is; if `needed`, nodes that no wanted value depends on have None for outputs.
        """
        values: list[Any] = []
        inputs_left = iter(inputs)
        live = self._live(traced, place) if needed else None
        for node in traced.nodes:
            if node.kind == "input":
                values.append([next(inputs_left)])
            elif live is not None and node.id not in live:
                values.append(None)
            elif node.kind == "constant":
                values.append([jnp.asarray(self.numbers.value(traced.constants[node.id]))])
            else:
                values.append(self.node(traced, node, values, place))
        for key in self.wanted:
            if key[0] == place:
                self.kept[key] = values[key[1]][key[2]]
        return values

    def outputs(self, traced: TracedGraph, values: Sequence[Any]) -> list[Any]:
        """Return the graph's outputs, given the values of its nodes."""
        return [self.read(o, values) for o in traced.ir.outputs]

    def read(self, operand: Operand, values: Sequence[Any]) -> Any:
        """Return the value of an operand, given the values of earlier nodes."""
        if isinstance(operand, Ref):
            return values[operand.node][operand.output]
        return jnp.asarray(number(operand), self.numbers.dtype(operand.dtype))

    def _live(self, traced: TracedGraph, place: Place) -> set[int]:
        """Return the nodes that wanted values depend on, in this graph or in one inside it.

        A graph inside a node also needs all its outputs.
        """
        live = {key[1] for key in self.wanted if key[0] == place}
        live |= {
            key[0][len(place)][0] for key in self.wanted if len(key[0]) > len(place) and key[0][: len(place)] == place
        }
        if place:
            live |= {o.node for o in traced.ir.outputs if isinstance(o, Ref)}
        for node in reversed(traced.nodes):
            if node.id in live:
                live.update(p.node for p in node.operands if isinstance(p, Ref))
        return live

    def node(self, traced: TracedGraph, node: Node, values: Sequence[Any], place: Place = ()) -> list[Any]:
        """Return the outputs of a node that is no input, from earlier values."""
        equation = traced.equations[node.id]
        if node.kind in ("scan", "cond"):
            operands = [self.read(o, values) for o in node.operands]
            return (
                self.scan(traced, node, operands, place)
                if node.kind == "scan"
                else self._cond(traced, node, operands, place)
            )
        atoms = equation.eqn.invars
        operands = [
            self.read(o, values) if isinstance(o, Ref) else self.numbers.value(v.val)
            for o, v in zip(node.operands, atoms, strict=True)
        ]
        return evaluate_equation(equation.eqn, operands, self.sizes, self.numbers)

    def inner(self, wanted: Collection[Key] = frozenset()) -> Run:
        """Return an evaluation of a graph inside a node, at the same sizes."""
        return Run(self.sizes, self.numbers, wanted)

    def scan(self, traced: TracedGraph, node: Node, operands: Sequence[Any], place: Place = ()) -> list[Any]:
        """Return the results of a loop. Values that its body keeps are stacked along a first axis, one entry a step."""
        loop = scan_loop(traced.equations[node.id].eqn)
        (body,) = traced.bodies[node.id]
        carry_start, row_start = loop.consts, loop.consts + loop.carries
        inner_place = (*place, (node.id, 0))
        consts, start, rows = (
            list(operands[:carry_start]),
            list(operands[carry_start:row_start]),
            list(operands[row_start:]),
        )

        def step(carry: list[Any], row: list[Any]) -> Any:
            inner = self.inner(self.wanted)
            values = inner.values(body, [*consts, *carry, *row], inner_place)
            outputs = inner.outputs(body, values)
            inner.taken[inner_place] = jnp.asarray(True)
            kept = (list(inner.kept.items()), list(inner.taken.items()))
            keys[:] = [[k for k, _ in part] for part in kept]  # `lax.scan` stacks arrays alone; keys stay outside
            own_out, further = self.beside(node, place, consts, carry, row)
            outputs = outputs if own_out is None else list(own_out)
            return outputs[: loop.carries], (outputs[loop.carries :], [[v for _, v in part] for part in kept], further)

        keys: list[list[Any]] = []
        length = length_of(dimension(loop.length, self.sizes))
        carry, (ys, kept, further) = jax.lax.scan(step, start, rows, length=length, reverse=loop.reverse)
        if further:
            self.stacked[node.id] = further
        self.kept.update(zip(keys[0], kept[0], strict=True))
        self.taken.update(zip(keys[1], kept[1], strict=True))
        return [*carry, *ys]

    def beside(
        self, node: Node, place: Place, consts: list[Any], carry: list[Any], row: list[Any]
    ) -> tuple[Sequence[Any] | None, Sequence[Any]]:
        """Return a step's outputs, if a subclass computes them itself, else None; and further values, to be stacked."""
        return None, ()

    def _cond(self, traced: TracedGraph, node: Node, operands: Sequence[Any], place: Place) -> list[Any]:
        """Return the results of a cond. A branch with wanted values also runs on its own, whichever is taken."""
        index, args = jnp.asarray(operands[0]).astype(jnp.int32), list(operands[1:])
        branches = traced.bodies[node.id]
        index = jnp.clip(index, 0, len(branches) - 1)
        out = jax.lax.switch(index, [self._plain(b) for b in branches], *args)
        for k, branch in enumerate(branches):
            branch_place = (*place, (node.id, k))
            if any(
                key[0][: len(branch_place)] == branch_place for key in self.wanted
            ):  # `lax.switch` returns its outputs alone
                inner = self.inner(self.wanted)
                inner.values(branch, args, branch_place)
                self.kept.update(inner.kept)
                self.taken.update({p: t & (index == k) for p, t in inner.taken.items()})
                self.taken[branch_place] = index == k
        return list(out)

    def _plain(self, body: TracedGraph) -> Any:
        def run(*args: Any) -> list[Any]:
            inner = self.inner()
            return inner.outputs(body, inner.values(body, args))

        return run


def dimension(size: Any, sizes: Mapping[str, Any]) -> Any:
    """Return a size at these dimensions: a number, or an expression in dimensions without a number."""
    return int(size) if isinstance(size, int | np.integer) else replaced(size, sizes)


def length_of(length: Any) -> int | None:
    """Return a loop's length for JAX: None for a symbolic one, which the rows determine."""
    return length if isinstance(length, int) else None


def number(literal: Literal) -> Any:
    """Return the value of a literal: a bool, or a float."""
    return literal.text == "True" if literal.text in ("True", "False") else float(literal.text)
