"""Value numbering: equal operations of equal operands are one value, in one program or in several.

Called programs are inlined. Two outputs that are the same value are computed by the same operations, in whatever order
and under whatever names; nothing is simplified. So they are equal whatever the operations mean, those on the bits of
floats among them. What is no function of its operands is never the same value as another.
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
    """It depends on an input that was given as free."""
    moves: bool = False
    """It depends on an input at all."""
    pure: bool = True
    """Only functions of their operands had a part in it."""


@dataclass(eq=False)
class Step:
    """An operation of values and literals."""

    eqn: Any
    operands: list[Any]
    outputs: list[Value] = field(default_factory=list)
    order: int = 0


Atom = Any
"""A value or a literal."""


class Numbering:
    """The values of the programs that it was shown.

    `is_operand` says of an equation and its operands which of these its only output is, if it is one of them.
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
                found = self.outputs(inner, operands)
            elif eqn.primitive.name == "stop_gradient" and genuine(eqn.primitive):
                found = operands  # its value is its operand's
            elif (operand := self._is_operand(eqn, operands)) is not None:
                found = [operand]
            else:
                found = list(self._step(eqn, operands).outputs)
            values |= dict(zip(eqn.outvars, found, strict=True))
        return [v if is_literal(v) else values[v] for v in jaxpr.outvars]

    def _constant(self, var: Any, value: Any) -> Value:
        array = data_of(value)
        key = (str(getattr(value, "dtype", array.dtype)), array.shape, array.tobytes())
        return self._constants.setdefault(key, Value(var.aval, constant=value))

    def _step(self, eqn: Any, operands: list[Atom]) -> Step:
        changed = eqn.replace(invars=operands)
        text = identity(of_equation(changed))
        values = [v for v in operands if isinstance(v, Value)]
        function = is_function(eqn)
        key = (text, tuple(dict.fromkeys(id(v) for v in values))) if function else object()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Step(changed, operands, order=len(self._known))
            for v in eqn.outvars:
                known.outputs.append(
                    Value(
                        v.aval,
                        known,
                        free=any(x.free for x in values),
                        moves=any(x.moves for x in values),
                        pure=function and all(x.pure for x in values),
                    )
                )
        return known


def reached_values(outputs: Iterable[Atom], stop: Collection[Value] = ()) -> list[Value]:
    """The values that outputs depend on, themselves among them; not those behind the ones to stop at."""
    found: dict[Value, None] = {}
    queue = [v for v in outputs if isinstance(v, Value)]
    while queue:
        value = queue.pop()
        if value in found:
            continue
        found[value] = None
        if value.step is not None and value not in stop:
            queue += [v for v in value.step.operands if isinstance(v, Value)]
    return list(found)


def rebuilt(outputs: Sequence[Atom], inputs: Sequence[Value]) -> Program:
    """The program that computes outputs from these inputs."""
    given = set(inputs)
    values = reached_values(outputs, given)
    steps = {v.step for v in values if v.step is not None and v not in given}
    constants = [v for v in values if v.step is None and v not in given]
    eqns = [
        s.eqn.replace(invars=list(s.operands), outvars=list(s.outputs)) for s in sorted(steps, key=lambda s: s.order)
    ]
    jaxpr = SimpleNamespace(invars=list(inputs), constvars=constants, eqns=eqns, outvars=list(outputs))
    return Program(jaxpr, [v.constant for v in constants])
