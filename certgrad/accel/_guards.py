"""Guards of a running graph: its hypotheses, evaluated in the compiled program at the values that the nodes have there.

A proof says what holds under hypotheses; a guard says whether the hypotheses hold of the computed values. It changes
nothing that the graph returns. Its results leave the program as a few numbers for each hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel._sweep import Cotangents, Sweep, Values
from certgrad.errors import CertgradError
from certgrad.graph.certificate import NodeHypothesis
from certgrad.graph.certifying.certify import Certification
from certgrad.graph.ir import Literal, Node
from certgrad.graph.points.node_statements import About, Failing, NodeStatement, failing
from certgrad.graph.points.run import Key, Place, Run
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.language.arithmetic import UnfitError


class GuardError(CertgradError):
    """The error for a run of a graph in which a hypothesis of its certificate failed, or an output was not finite."""


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis that a guard evaluates: as the certificate states it, and as it is evaluated."""

    stated: NodeHypothesis
    asked: NodeStatement


@dataclass(eq=False)
class Layout:
    """The meaning of the numbers in `GuardResults`: one layout for each trace of the program, at its sizes."""

    guards: Guards
    about: dict[int, About] = field(default_factory=dict)
    """The places at which each hypothesis is evaluated, by its position."""
    unknown: dict[int, str] = field(default_factory=dict)
    """Why a hypothesis is not evaluated, by its position."""
    watched: list[Key] = field(default_factory=list)
    """The values that `GuardResults.values` is about."""
    swept: list[tuple[int, int]] = field(default_factory=list)
    """The values whose cotangents `GuardResults.cotangents` is about."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GuardResults:
    """The guards' results of one run: a tree of arrays."""

    times: Any
    """The number of failures of each hypothesis, in one array."""
    failing: list[Failing]
    """The failures of each hypothesis with the first place; empty unless failures are traced back."""
    finite: Any
    """Whether the outputs are finite; where failures are traced back, whether outputs and gradients are."""
    values: list[tuple[Any, Any]]
    """Whether each watched value has a NaN, and whether it has an infinity; in the order of evaluation."""
    cotangents: list[tuple[Any, Any]]
    """Whether each watched cotangent has a NaN, and whether it has an infinity; in the order of the sweep."""
    layout: Layout = field(metadata={"static": True})


class Guards:
    """The hypotheses of a certified graph, as guards of its runs.

    With `trace_back`, the first place at which a hypothesis fails is found, and a NaN is followed back to its node.
    """

    def __init__(self, certified: Certification, trace_back: bool) -> None:
        self.certified, self.trace_back = certified, trace_back
        pairs = zip(certified.certificate.hypotheses, certified.induction.asked, strict=True)
        self.hypotheses = [Hypothesis(h, a) for h, a in pairs]

    @cached_property
    def names(self) -> list[str]:
        """Return the text of each hypothesis, in order; of equal texts the second and later ones are numbered."""
        seen: dict[str, int] = {}
        texts = []
        for h in self.hypotheses:
            times = seen[h.stated.text] = seen.get(h.stated.text, 0) + 1
            texts.append(h.stated.text if times == 1 else f"{h.stated.text} ({times})")
        return texts

    def forward(self, sweep: Sweep, leaves: Sequence[Any]) -> tuple[Values, Run]:
        """Return the values of a forward evaluation, and its run, which keeps the values that the guards need."""
        wanted = {key for h in self.hypotheses for key in h.asked.keys.values()}
        watched = _real_values(self.certified.traced) if self.trace_back else []
        run = sweep.running(wanted | set(watched))
        return sweep.forward(leaves, run), run

    def results(self, sweep: Sweep, run: Run, outputs: Any, gradients: Any, cotangents: Cotangents) -> GuardResults:
        """Return the results of the guards: how often each hypothesis failed, and what is not finite."""
        returned = (outputs, gradients) if self.trace_back else outputs
        real = [x for x in jax.tree.leaves(returned) if jnp.issubdtype(jnp.result_type(x), jnp.floating)]
        finite = jnp.all(jnp.stack([jnp.isfinite(x).all() for x in real])) if real else jnp.asarray(True)
        layout = Layout(self)
        if self.trace_back:
            layout.watched = [key for key in _real_values(self.certified.traced) if key in run.kept]
            layout.swept = list(cotangents)
        counted = [_failing(k, h, sweep, run, layout, self.trace_back) for k, h in enumerate(self.hypotheses)]
        return GuardResults(
            jnp.stack([f.times for f in counted]) if counted else jnp.zeros(0, jnp.int32),
            counted if self.trace_back else [],
            finite,
            [_odd(run.kept[key]) for key in layout.watched],
            [_odd(cotangents[key]) for key in layout.swept],
            layout,
        )

    # --- in words

    def problem(self, found: GuardResults) -> str | None:
        """Return each hypothesis that failed, in words, or else where the first value arose that is not finite.

        None if all hypotheses held and all values are finite.
        """
        failed = [self._failure(k, f, found.layout) for k, f in enumerate(found.failing) if np.asarray(f.times).sum()]
        if failed:
            return f"{self._name} ran where it is not proved: {'; '.join(failed)}."
        if not np.all(np.asarray(found.finite)):
            return f"{self._name} returned what is not finite: {self._arose(found)}."
        return None

    def _failure(self, k: int, f: Failing, layout: Layout) -> str:
        """Return in words how hypothesis `k` failed: at how many places, where first, and with which numbers."""
        h = self.hypotheses[k].stated
        axes, steps = layout.about[k].axes, layout.about[k].steps
        place = np.unravel_index(int(f.place), [n for _, n in axes]) if axes else ()
        position = [f"{name} = {int(i)}" for (name, _), i in zip(axes, place, strict=True)]
        if steps:
            position = [f"step {int(i)}" for i in np.unravel_index(int(f.step), steps)] + position
        where = f", first at {', '.join(position)}" if position else ""
        instead = layout.about[k].instead(f.sides)
        sides = f", where it is {instead}" if instead else ""
        total = int(np.prod([n for _, n in axes], initial=1) * np.prod(steps, initial=1))
        times = f" at {int(f.times)} of {total} places" if total > 1 else ""
        return f"%{h.node} {h.text} fails{times}{where}{sides}"

    def _arose(self, found: GuardResults) -> str:
        """Return where the first value that is not finite arises: a node whose operands are finite, or the sweep."""
        if not self.trace_back:
            return "compile it with checked=True to see where it arises"
        odd = {key: (bool(a), bool(b)) for key, (a, b) in zip(found.layout.watched, found.values, strict=True)}
        for kind, what in enumerate(("NaN", "infinite")):
            for key in odd:
                if odd[key][kind] and self._from_numbers(key, odd):
                    return f"{self._node(key[0], key[1])} is the first that is {what}"
        for kind, what in enumerate(("NaN", "infinite")):
            for (node, _), flags in zip(found.layout.swept, found.cotangents, strict=True):
                if flags[kind]:
                    return f"the cotangent of {self._node((), node)} is the first that is {what}"
        return "no value in it is"

    def _from_numbers(self, key: Key, odd: Mapping[Key, tuple[bool, bool]]) -> bool:
        """Return whether all operands of a node are finite; for an input of a graph inside a loop, False."""
        place, k, _ = key
        traced = self._graph(place)
        node = traced.nodes[k]
        if node.kind == "input":
            return not place
        for operand in node.operands:
            if isinstance(operand, Literal):
                finite = operand.text in ("True", "False") or math.isfinite(float(operand.text))
            elif operand.node in traced.constants:
                value = np.asarray(traced.constants[operand.node])
                finite = value.dtype.kind in "biu" or bool(np.isfinite(np.asarray(value, np.float64)).all())
            else:
                finite = not any(odd.get((place, operand.node, operand.output), (False, False)))
            if not finite:
                return False
        return True

    def _graph(self, place: Place) -> TracedGraph:
        traced = self.certified.traced
        for node, body in place:
            traced = traced.bodies[node][body]
        return traced

    def _node(self, place: Place, k: int) -> str:
        traced, inside = self.certified.traced, ""
        for node, body in place:
            inside += f" inside {_node_label(traced.nodes[node])}"
            traced = traced.bodies[node][body]
        return _node_label(traced.nodes[k]) + inside

    @property
    def _name(self) -> str:
        return self.certified.traced.ir.name


def _failing(k: int, one: Hypothesis, sweep: Sweep, run: Run, layout: Layout, where: bool) -> Failing:
    """Return how often a hypothesis fails; with `where`, also the first place, which takes longer."""
    statement = one.asked
    arrays = {name: run.kept[key] for name, key in statement.keys.items()}
    steps = run.taken[statement.place] if statement.place else jnp.asarray(True)
    try:
        layout.about[k], failures = failing(statement, arrays, steps, sweep.sizes, where)
        return failures
    except UnfitError as error:
        layout.unknown[k] = str(error)
        none = jnp.zeros((), jnp.int32)
        return Failing(none, none, none, None)


def _node_label(node: Node) -> str:
    return f"%{node.id} {node.name}" + (f" at {node.source}" if node.source else "")


def _real_values(traced: TracedGraph, place: Place = ()) -> list[Key]:
    """Return every real value that is computed, in order of evaluation: those inside a loop before the loop's own."""
    keys: list[Key] = []
    for node in traced.nodes:
        for k, body in enumerate(traced.bodies.get(node.id, ())):
            keys += _real_values(body, (*place, (node.id, k)))
        if node.kind != "constant":
            keys += [(place, node.id, k) for k, o in enumerate(node.outputs) if o.real]
    return keys


def _odd(x: Any) -> tuple[Any, Any]:
    """Return whether an array has a NaN, and whether it has an infinity."""
    return jnp.isnan(x).any(), jnp.isinf(x).any()
