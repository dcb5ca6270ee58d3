"""Flat programs: what is written in other languages. Each step is one primitive of JAX, calls are walked into, what is
computed twice is computed once, and what nothing needs is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certgrad.jaxpr.programs import results
from certgrad.obligations.tracing.jax_internals import (
    Program,
    branch_programs,
    inner_program,
    jaxpr_of,
    scan_loop,
    while_loop,
)

NODE = "certgrad_node_"
"""The scope that the equations of a node are traced in, before its number."""
_NODE = re.compile(rf"{NODE}(\d+)")


@dataclass(frozen=True, eq=False)
class Value:
    """An array that a program computes, or is given. A dimension is a number, or an expression as JAX prints it."""

    number: int
    shape: tuple[int | str, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Constant:
    """A number of the program text, or an array that the function holds."""

    data: np.ndarray

    @property
    def shape(self) -> tuple[int | str, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def rank(self) -> int:
        return self.data.ndim


Atom = Value | Constant


@dataclass(frozen=True, eq=False)
class Step:
    """One primitive. `programs` are those that it runs: the body of a loop, its test, branches."""

    primitive: str
    params: Mapping[str, Any]
    inputs: tuple[Atom, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[int, ...]
    """The node of the graph that it belongs to: its number, after those of the nodes that hold it."""
    programs: tuple[Flat, ...] = ()


@dataclass
class Flat:
    """A program: its inputs, its steps in order, its outputs."""

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Atom]


def flatten(program: Program) -> Flat:
    """The program of a trace, flat."""
    builder = _Builder([0], ())
    inputs = [builder.value(v.aval) for v in program.jaxpr.invars]
    return builder.finished(program, inputs)


def text_of(size: Any) -> int | str:
    """A dimension as a number, or as an expression: `2*n`."""
    return int(size) if isinstance(size, int | np.integer) else str(size).replace("^", "**")


@dataclass
class _Builder:
    """Appends steps while it walks a program."""

    count: list[int]
    holder: tuple[int, ...]
    """The nodes that hold the program."""
    steps: list[Step] = field(default_factory=list)
    seen: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    constants: dict[Any, Constant] = field(default_factory=dict)

    def value(self, aval: Any) -> Value:
        self.count[0] += 1
        return Value(self.count[0], tuple(text_of(d) for d in aval.shape), np.dtype(aval.dtype))

    def finished(self, program: Program, inputs: Sequence[Value]) -> Flat:
        outputs = self.walk(program, inputs)
        return live(Flat(list(inputs), self.steps, outputs))

    def constant(self, value: Any, dtype: Any) -> Constant:
        array = np.asarray(value, np.dtype(dtype))
        key = array.dtype, array.shape, array.tobytes()
        return self.constants.setdefault(key, Constant(array))

    def walk(self, program: Program, inputs: Sequence[Atom], nodes: tuple[int, ...] = ()) -> list[Atom]:
        def rule(eqn: Any, operands: list[Atom]) -> Sequence[Atom]:
            here = tuple(int(k) for k in _NODE.findall(str(eqn.source_info.name_stack))) or nodes
            inner = inner_program(eqn)
            return self.walk(inner, operands, here) if inner is not None else self.step(eqn, tuple(operands), here)

        return results(program, inputs, rule, lambda value, aval: self.constant(value, aval.dtype))

    def step(self, eqn: Any, operands: tuple[Atom, ...], nodes: tuple[int, ...]) -> Sequence[Atom]:
        name = str(eqn.primitive.name)
        same = name == "convert_element_type" and eqn.outvars[0].aval.dtype == eqn.invars[0].aval.dtype
        if same or name in ("stop_gradient", "copy", "optimization_barrier"):  # of no effect on values
            return operands
        params = {k: v for k, v in eqn.params.items() if not hasattr(v, "eqns") and not hasattr(v, "jaxpr")}
        if name == "scatter" and not _replaces(eqn):
            name = "scatter_apply"
        if name in ("dot_general", "conv_general_dilated"):
            operands = tuple(self.converted(a, eqn.outvars[0].aval, nodes) for a in operands)
        parts = _inner_programs(eqn)
        if parts:
            return self.append(name, _with_counts(eqn, params), operands, eqn.outvars, nodes, parts)
        return self.once(name, params, operands, eqn.outvars, nodes)

    def converted(self, atom: Atom, aval: Any, nodes: tuple[int, ...]) -> Atom:
        """An operand in the dtype of the result: products are summed in that one."""
        if atom.dtype == aval.dtype:
            return atom
        wanted = Value(self.count[0] + 1, atom.shape, np.dtype(aval.dtype))
        self.count[0] += 1
        self.steps.append(Step("convert_element_type", {}, (atom,), (wanted,), (*self.holder, *nodes)))
        return wanted

    def once(
        self, name: str, params: dict[str, Any], operands: tuple[Atom, ...], outvars: Any, nodes: tuple[int, ...]
    ) -> tuple[Value, ...]:
        """Return the outputs of an equal earlier step, or of a new one."""
        try:
            key: Any = name, tuple(sorted(params.items(), key=lambda item: item[0])), tuple(map(id, operands))
            if (found := self.seen.get(key)) is not None:
                return found
        except TypeError:  # a parameter that cannot be compared
            return self.append(name, params, operands, outvars, nodes, ())
        self.seen[key] = self.append(name, params, operands, outvars, nodes, ())
        return self.seen[key]

    def append(
        self,
        name: str,
        params: dict[str, Any],
        operands: tuple[Atom, ...],
        outvars: Any,
        nodes: tuple[int, ...],
        parts: Sequence[Program],
    ) -> tuple[Value, ...]:
        place = (*self.holder, *nodes)
        programs = tuple(flatten_inside(part, self.count, place) for part in parts)
        outputs = tuple(self.value(v.aval) for v in outvars)
        self.steps.append(Step(name, params, operands, outputs, place, programs))
        return outputs


def flatten_inside(program: Program, count: list[int], holder: tuple[int, ...]) -> Flat:
    """Return a program inside a step, whose values are numbered apart from those around it."""
    builder = _Builder(count, holder)
    return builder.finished(program, [builder.value(v.aval) for v in program.jaxpr.invars])


def _replaces(eqn: Any) -> bool:
    """Return whether a scatter replaces entries, and applies no function to them."""
    program = eqn.params.get("update_jaxpr")
    if program is None:
        return True
    jaxpr = jaxpr_of(program)
    return not jaxpr.eqns and jaxpr.outvars[0] is jaxpr.invars[1]


def _inner_programs(eqn: Any) -> list[Program]:
    match str(eqn.primitive.name):
        case "scan":
            return [scan_loop(eqn).body]
        case "while":
            loop = while_loop(eqn)
            return [loop.test, loop.body]
        case "cond":
            return branch_programs(eqn)
    return []


def _with_counts(eqn: Any, params: dict[str, Any]) -> dict[str, Any]:
    if str(eqn.primitive.name) == "scan":
        loop = scan_loop(eqn)
        return {"consts": loop.consts, "carries": loop.carries, "reverse": loop.reverse, "length": text_of(loop.length)}
    if str(eqn.primitive.name) == "while":
        again = while_loop(eqn)
        return {"test_consts": again.test_consts, "body_consts": again.body_consts}
    return {} if str(eqn.primitive.name) == "cond" else params


def live(flat: Flat) -> Flat:
    """Return the program without the steps that no output depends on."""
    needed = {id(a) for a in flat.outputs}
    kept: list[Step] = []
    for step in reversed(flat.steps):
        if any(id(v) in needed for v in step.outputs):
            needed.update(map(id, step.inputs))
            kept.append(step)
    return Flat(flat.inputs, kept[::-1], flat.outputs)


def split_program(flat: Flat, given: int, first: int) -> tuple[Flat, Flat, list[Value]]:
    """Split a program in two, and return both parts and the values that the second reads of the first.

    The first part computes the first `first` outputs from the first `given` inputs.

    The second part computes the other outputs from the other inputs and from values of the first part, which come first
    among its inputs; it computes nothing that the first part could.
    """
    early = {id(v) for v in flat.inputs[:given]}
    free: set[int] = set()  # what depends on no input is computed in both parts, not handed on
    start, rest = [], []
    for step in flat.steps:
        if all(isinstance(a, Constant) or id(a) in free for a in step.inputs):
            free.update(map(id, step.outputs))
            start.append(step)
            rest.append(step)
        elif all(isinstance(a, Constant) or id(a) in early or id(a) in free for a in step.inputs):
            early.update(map(id, step.outputs))
            start.append(step)
        else:
            rest.append(step)
    late = live(Flat([], rest, flat.outputs[first:]))
    read = [a for step in late.steps for a in step.inputs] + late.outputs
    handed_on = list(dict.fromkeys(a for a in read if isinstance(a, Value) and id(a) in early))
    forward = live(Flat(flat.inputs[:given], start, [*flat.outputs[:first], *handed_on]))
    return forward, Flat([*handed_on, *flat.inputs[given:]], late.steps, late.outputs), handed_on


def serves(flat: Flat) -> dict[int, frozenset[int]]:
    """Return, by step, the outputs (by place) that it is computed for."""
    wanted: dict[int, set[int]] = {}
    for k, atom in enumerate(flat.outputs):
        wanted.setdefault(id(atom), set()).add(k)
    found: dict[int, frozenset[int]] = {}
    for step in reversed(flat.steps):
        for_these = frozenset().union(*(wanted.get(id(v), set()) for v in step.outputs))
        found[id(step)] = for_these
        for atom in step.inputs:
            wanted.setdefault(id(atom), set()).update(for_these)
    return found
