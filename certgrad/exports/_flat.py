"""Flat programs, from which ONNX models and PyTorch code are written.

Each step is one primitive of JAX. Calls are inlined, equal steps are computed once, and steps that no output depends
on are left out.
"""

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
"""The equations of a graph node are traced in a name scope of this prefix and the node's number."""
_NODE = re.compile(rf"{NODE}(\d+)")


@dataclass(frozen=True, eq=False)
class Value:
    """An array that a program takes or computes. A dimension is a number, or an expression as text: `2*n`."""

    number: int
    shape: tuple[int | str, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Constant:
    """A number that stands in the program, or an array that the traced function holds."""

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
    """One primitive with operands and results. `programs` are those that it runs: a loop's test and body, branches."""

    primitive: str
    params: Mapping[str, Any]
    inputs: tuple[Atom, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[int, ...]
    """The path to the graph node that the step belongs to: the numbers of its enclosing nodes, then its own."""
    programs: tuple[Flat, ...] = ()


@dataclass
class Flat:
    """A flat program: its inputs, its steps in order, its outputs."""

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Atom]


def flatten(program: Program) -> Flat:
    """Return a traced program as a flat program."""
    builder = _Builder([0], ())
    inputs = [builder.value(v.aval) for v in program.jaxpr.invars]
    return builder.finished(program, inputs)


def text_of(size: Any) -> int | str:
    """Return a dimension as a number, or as an expression in the syntax of Python: `2*n`."""
    return int(size) if isinstance(size, int | np.integer) else str(size).replace("^", "**")


@dataclass
class _Builder:
    """Builds a flat program: it walks a traced program and appends a step for each primitive."""

    count: list[int]
    """The number of values so far, in a list that is shared with the builders of inner programs."""
    holder: tuple[int, ...]
    """The numbers of the graph nodes around the program, outermost first."""
    steps: list[Step] = field(default_factory=list)
    seen: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    """The outputs of earlier steps, by primitive, parameters and operands."""
    constants: dict[Any, Constant] = field(default_factory=dict)

    def value(self, aval: Any) -> Value:
        self.count[0] += 1
        return Value(self.count[0], tuple(text_of(d) for d in aval.shape), np.dtype(aval.dtype))

    def finished(self, program: Program, inputs: Sequence[Value]) -> Flat:
        """Return the flat program with these inputs, without steps that no output depends on."""
        outputs = self.walk(program, inputs)
        return live(Flat(list(inputs), self.steps, outputs))

    def constant(self, value: Any, dtype: Any) -> Constant:
        array = np.asarray(value, np.dtype(dtype))
        key = array.dtype, array.shape, array.tobytes()
        return self.constants.setdefault(key, Constant(array))

    def walk(self, program: Program, inputs: Sequence[Atom], nodes: tuple[int, ...] = ()) -> list[Atom]:
        """Append the steps of a program and return its outputs. Calls are walked into.

        `nodes` are the graph nodes of a call, for equations inside it whose name scope names no node.
        """

        def rule(eqn: Any, operands: list[Atom]) -> Sequence[Atom]:
            path = tuple(int(k) for k in _NODE.findall(str(eqn.source_info.name_stack))) or nodes
            inner = inner_program(eqn)
            return self.walk(inner, operands, path) if inner is not None else self.step(eqn, tuple(operands), path)

        return results(program, inputs, rule, lambda value, aval: self.constant(value, aval.dtype))

    def step(self, eqn: Any, operands: tuple[Atom, ...], nodes: tuple[int, ...]) -> Sequence[Atom]:
        """Append the step of an equation and return its outputs; its operands where it does not change their values."""
        name = str(eqn.primitive.name)
        keeps_dtype = name == "convert_element_type" and eqn.outvars[0].aval.dtype == eqn.invars[0].aval.dtype
        if keeps_dtype or name in ("stop_gradient", "copy", "optimization_barrier"):  # of no effect on values
            return operands
        params = {k: v for k, v in eqn.params.items() if not hasattr(v, "eqns") and not hasattr(v, "jaxpr")}
        if name == "scatter" and not _replaces(eqn):
            name = "scatter_apply"  # no table has this name, so that such a scatter is refused
        if name in ("dot_general", "conv_general_dilated"):
            operands = tuple(self.converted(a, eqn.outvars[0].aval, nodes) for a in operands)
        parts = _inner_programs(eqn)
        if parts:
            return self.append(name, _with_counts(eqn, params), operands, eqn.outvars, nodes, parts)
        return self.once(name, params, operands, eqn.outvars, nodes)

    def converted(self, atom: Atom, aval: Any, nodes: tuple[int, ...]) -> Atom:
        """Return an operand in the dtype of the result, in which products are summed; append a conversion if needed."""
        if atom.dtype == aval.dtype:
            return atom
        result = Value(self.count[0] + 1, atom.shape, np.dtype(aval.dtype))
        self.count[0] += 1
        self.steps.append(Step("convert_element_type", {}, (atom,), (result,), (*self.holder, *nodes)))
        return result

    def once(
        self, name: str, params: dict[str, Any], operands: tuple[Atom, ...], outvars: Any, nodes: tuple[int, ...]
    ) -> tuple[Value, ...]:
        """Return the outputs of an equal earlier step; if there is none, append the step and return its outputs."""
        try:
            key: Any = name, tuple(sorted(params.items(), key=lambda item: item[0])), tuple(map(id, operands))
            if (outputs := self.seen.get(key)) is not None:
                return outputs
        except TypeError:  # a parameter that has no hash
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
        """Append a step and return its outputs. `parts` are the programs that the step runs."""
        path = (*self.holder, *nodes)
        programs = tuple(flatten_inside(part, self.count, path) for part in parts)
        outputs = tuple(self.value(v.aval) for v in outvars)
        self.steps.append(Step(name, params, operands, outputs, path, programs))
        return outputs


def flatten_inside(program: Program, count: list[int], holder: tuple[int, ...]) -> Flat:
    """Return a program that a step runs, flat. `count` goes on from the values around it, so that no number repeats."""
    builder = _Builder(count, holder)
    return builder.finished(program, [builder.value(v.aval) for v in program.jaxpr.invars])


def _replaces(eqn: Any) -> bool:
    """Return whether a scatter replaces entries, rather than combining them with the updates by a function."""
    program = eqn.params.get("update_jaxpr")
    if program is None:
        return True
    jaxpr = jaxpr_of(program)
    return not jaxpr.eqns and jaxpr.outvars[0] is jaxpr.invars[1]


def _inner_programs(eqn: Any) -> list[Program]:
    """Return the programs that an equation runs: a scan's body, a while's test and body, branches; else none."""
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
    """Return a step's parameters: of a loop, how many operands are constants and carries, and how often it runs."""
    if str(eqn.primitive.name) == "scan":
        loop = scan_loop(eqn)
        return {"consts": loop.consts, "carries": loop.carries, "reverse": loop.reverse, "length": text_of(loop.length)}
    if str(eqn.primitive.name) == "while":
        while_parts = while_loop(eqn)
        return {"test_consts": while_parts.test_consts, "body_consts": while_parts.body_consts}
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
    """Split a program in two; return both parts, and the values of the first part that the second part reads.

    The first part computes the first `first` outputs from the first `given` inputs, and returns the values that the
    second part reads after them. For a VJP it is the forward with its residuals.

    The second part computes the remaining outputs from those values, which are its first inputs, and from the remaining
    inputs. It repeats no step that the first part can compute, except steps that depend on no input at all.
    """
    from_given_inputs = {id(v) for v in flat.inputs[:given]}
    independent: set[int] = set()  # of all inputs, such as an iota: computed in both parts rather than handed on
    first_steps, second_steps = [], []
    for step in flat.steps:
        if all(isinstance(a, Constant) or id(a) in independent for a in step.inputs):
            independent.update(map(id, step.outputs))
            first_steps.append(step)
            second_steps.append(step)
        elif all(isinstance(a, Constant) or id(a) in from_given_inputs or id(a) in independent for a in step.inputs):
            from_given_inputs.update(map(id, step.outputs))
            first_steps.append(step)
        else:
            second_steps.append(step)
    second_part = live(Flat([], second_steps, flat.outputs[first:]))
    values_read = [a for step in second_part.steps for a in step.inputs] + second_part.outputs
    handed_on = list(dict.fromkeys(a for a in values_read if isinstance(a, Value) and id(a) in from_given_inputs))
    first_part = live(Flat(flat.inputs[:given], first_steps, [*flat.outputs[:first], *handed_on]))
    return first_part, Flat([*handed_on, *flat.inputs[given:]], second_part.steps, second_part.outputs), handed_on


def serves(flat: Flat) -> dict[int, frozenset[int]]:
    """Return, for each step by its `id`, the positions of the outputs that depend on it."""
    dependents: dict[int, set[int]] = {}
    for k, atom in enumerate(flat.outputs):
        dependents.setdefault(id(atom), set()).add(k)
    by_step: dict[int, frozenset[int]] = {}
    for step in reversed(flat.steps):
        positions = frozenset().union(*(dependents.get(id(v), set()) for v in step.outputs))
        by_step[id(step)] = positions
        for atom in step.inputs:
            dependents.setdefault(id(atom), set()).update(positions)
    return by_step
