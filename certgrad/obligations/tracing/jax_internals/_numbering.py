"""Value numbering: equal operations of equal operands are one value, in one program or in several.

Called programs are inlined. Two outputs that are one `Value` are computed by the same operations, in whatever order and
under whatever names; nothing is simplified. So they are equal whatever the operations mean, also on the bits of floats.
The output of an operation that is no function of its operands, such as a random draw, is never one value with another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from certgrad.jaxpr.programs import is_literal

from ._primitives import genuine, is_function
from ._programs import Program, inner_program, of_equation
from ._text import identity
from ._values import data_of


@dataclass(eq=False)
class Value:
    """An input, a constant, or an output of an operation."""

    aval: Any
    step: Step | None = None
    constant: Any = None
    free: bool = False
    """Whether the value depends on an input that the caller marked as free."""
    moves: bool = False
    """Whether the value depends on any input; the caller sets this for inputs."""
    pure: bool = True
    """Whether the value was computed only by operations that are functions of their operands (`is_function`)."""


@dataclass(eq=False)
class Step:
    """An operation of values and literals; `order` is its number among all that are known."""

    eqn: Any
    operands: list[Any]
    outputs: list[Value] = field(default_factory=list)
    order: int = 0


Atom = Any
"""A value or a literal."""


class Numbering:
    """Numbers the values of programs: equal operations of equal operands get one `Value`, in all programs that it sees.

    `is_operand(eqn, operands)` returns the operand to which the only output of an equation is equal, or None.
    """

    def __init__(self, is_operand: Callable[[Any, list[Atom]], Atom | None] = lambda eqn, operands: None) -> None:
        self._is_operand = is_operand
        self._known: dict[Any, Step] = {}
        self._constants: dict[Any, Value] = {}

    def outputs(self, program: Program, inputs: Sequence[Value]) -> list[Atom]:
        """Return the program's outputs for these inputs as numbered values."""
        jaxpr = program.jaxpr
        values: dict[Any, Atom] = dict(zip(jaxpr.invars, inputs, strict=True))
        values |= {v: self._constant(v, c) for v, c in zip(jaxpr.constvars, program.consts, strict=False)}
        for eqn in jaxpr.eqns:
            operands = [v if is_literal(v) else values[v] for v in eqn.invars]
            inner = inner_program(eqn)
            if inner is not None and len(inner.jaxpr.invars) == len(operands):
                results = self.outputs(inner, operands)
            elif eqn.primitive.name == "stop_gradient" and genuine(eqn.primitive):
                results = operands  # its value is its operand's
            elif (operand := self._is_operand(eqn, operands)) is not None:
                results = [operand]
            else:
                results = list(self._step(eqn, operands).outputs)
            values |= dict(zip(eqn.outvars, results, strict=True))
        return [v if is_literal(v) else values[v] for v in jaxpr.outvars]

    def _constant(self, var: Any, value: Any) -> Value:
        array = data_of(value)
        key = (str(getattr(value, "dtype", array.dtype)), array.shape, array.tobytes())
        return self._constants.setdefault(key, Value(var.aval, constant=value))

    def _step(self, eqn: Any, operands: list[Atom]) -> Step:
        """Return the step of an equation with these operands: the known one, if an equal operation was met before."""
        changed = eqn.replace(invars=operands)
        text = identity(of_equation(changed))
        values = [v for v in operands if isinstance(v, Value)]
        function = is_function(eqn)
        # The text names variables by their order, so that the key needs which values they are.
        key = (text, tuple(dict.fromkeys(id(v) for v in values))) if function else object()
        step = self._known.get(key)
        if step is None:
            step = self._known[key] = Step(changed, operands, order=len(self._known))
            for v in eqn.outvars:
                step.outputs.append(
                    Value(
                        v.aval,
                        step,
                        free=any(x.free for x in values),
                        moves=any(x.moves for x in values),
                        pure=function and all(x.pure for x in values),
                    )
                )
        return step


def reached_values(outputs: Iterable[Atom], stop: Collection[Value] = ()) -> list[Value]:
    """Return the values that outputs depend on, the outputs among them, but not those behind values in `stop`."""
    reached: dict[Value, None] = {}
    queue = [v for v in outputs if isinstance(v, Value)]
    while queue:
        value = queue.pop()
        if value in reached:
            continue
        reached[value] = None
        if value.step is not None and value not in stop:
            queue += [v for v in value.step.operands if isinstance(v, Value)]
    return list(reached)


def rebuilt(outputs: Sequence[Atom], inputs: Sequence[Value]) -> Program:
    """Return the program that computes outputs from these inputs, which may be any values."""
    input_set = set(inputs)
    values = reached_values(outputs, input_set)
    steps = {v.step for v in values if v.step is not None and v not in input_set}
    constants = [v for v in values if v.step is None and v not in input_set]
    eqns = [
        s.eqn.replace(invars=list(s.operands), outvars=list(s.outputs)) for s in sorted(steps, key=lambda s: s.order)
    ]
    jaxpr = SimpleNamespace(invars=list(inputs), constvars=constants, eqns=eqns, outvars=list(outputs))
    return Program(jaxpr, [v.constant for v in constants])
