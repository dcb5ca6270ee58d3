"""The interpreter: a traced program at concrete shapes, run on arrays of scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from certgrad.jaxpr.lowerings import lowered
from certgrad.jaxpr.programs import consts_of, is_dropped, is_literal, jaxpr_of, needed_for, rounded_constant
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._beyond import beyond
from certgrad.obligations.balls._errors import BallError, Unsupported
from certgrad.obligations.balls._random import drawing
from certgrad.obligations.balls._registry import RULES, Rule
from certgrad.obligations.balls._scalars import Real
from certgrad.obligations.balls._values import (
    Array,
    Context,
    Literals,
    Value,
    argument,
    constant,
    is_float,
    loosely,
    shortest,
    tangent_or_none,
)

PRECISION = 512
"""Default working precision in bits."""


@dataclass(frozen=True, eq=False)
class Step:
    """One equation, ready to run: operands and results are slots (indices) of the program's memory."""

    rule: Rule | None
    name: str
    params: dict[str, Any]
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """A traced program as steps on numbered slots. `initial` is the memory before a run: constants and literals."""

    initial: tuple[Value | None, ...]
    inputs: tuple[int, ...]
    dtypes: tuple[Any, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def run(self, ctx: Context, arguments: Sequence[Value]) -> list[Value]:
        """Return the outputs at these arguments.

        Raises:
            Unsupported: an equation's primitive has no rule.
            Undecided: a comparison cannot be decided at this precision.
        """

        def run_step(step: Step, operands: list[Any]) -> Value | list[Value]:
            if step.rule is None:
                raise Unsupported(f"primitive {step.name}")
            return step.rule(ctx, step.params, *operands)

        return self.by(run_step, arguments)

    def by(self, rule: Callable[[Step, list[Any]], Any], arguments: Sequence[Any]) -> list[Any]:
        """Return the outputs at these arguments, where `rule(step, operands)` is the result, or the list, of a step."""
        memory: list[Any] = list(self.initial)
        for slot, value in zip(self.inputs, arguments, strict=True):
            memory[slot] = value
        for step in self.steps:
            out = rule(step, [memory[slot] for slot in step.operands])
            if isinstance(out, Value):
                memory[step.results[0]] = out
            else:
                for slot, value in zip(step.results, out, strict=True):
                    memory[slot] = value
        return [memory[slot] for slot in self.outputs]


@lru_cache(maxsize=1024)
def program(jaxpr: Any, literals: Literals = shortest) -> Program:
    """Return a ClosedJaxpr, or a Jaxpr without constants, as steps on numbered slots.

    Each variable and each literal gets a slot of its own. `literals` says what floats in the program stand for.
    """
    inner, consts = jaxpr_of(jaxpr), consts_of(jaxpr)
    slots: dict[Any, int] = {}
    initial: list[Value | None] = []

    def new_slot(value: Value | None = None) -> int:
        initial.append(value)
        return len(initial) - 1

    def define(var: Any, value: Value | None = None) -> int:
        slots[var] = new_slot(value)
        return slots[var]

    def read(atom: Any) -> int:
        if is_literal(atom):
            return new_slot(constant(atom.val, atom.aval.dtype, literals))
        return slots[atom]

    for var, value in zip(inner.constvars, consts, strict=True):
        define(var, constant(value, var.aval.dtype, literals))
    inputs = tuple(define(var) for var in inner.invars)
    steps = []
    constants = dict(zip(inner.constvars, consts, strict=True))
    # Only equations that the outputs need become steps: an unused comparison cannot make a point undecided.
    for equation in needed_for(inner.eqns, inner.outvars):
        # A constant that is cast to another float type is the rounded constant, as if the program held that.
        if (rounded := rounded_constant(equation, constants, is_float)) is not None:
            constants[equation.outvars[0]] = rounded
            define(equation.outvars[0], constant(rounded, rounded.dtype, literals))
            continue
        operands = tuple(read(atom) for atom in equation.invars)
        results = tuple(new_slot() if is_dropped(var) else define(var) for var in equation.outvars)
        name, params = equation.primitive.name, equation.params
        if (other_program := lowered(equation)) is not None:
            name, params = "jit", {"jaxpr": other_program}
        steps.append(Step(drawing(equation) or RULES.get(name), name, params, operands, results))
    outputs = tuple(read(atom) for atom in inner.outvars)
    return Program(tuple(initial), inputs, tuple(var.aval.dtype for var in inner.invars), tuple(steps), outputs)


def needed_equations(jaxpr: Any) -> set[int]:
    """Return the `id` of each equation that an evaluation runs: those that the outputs need."""
    inner = jaxpr_of(jaxpr)
    return {id(equation) for equation in needed_for(inner.eqns, inner.outvars)}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The outputs of a program, and their derivatives along the direction that was given.

    A float output is an object array of scalars; integers and booleans are numpy arrays. An entry of a tangent is a
    scalar, None (constant) or KINK. `used_stop_gradient` says that a stopped value depended on the inputs.
    """

    values: list[Array]
    tangents: list[Array]
    used_stop_gradient: bool


def evaluate(
    jaxpr: Any,
    arguments: Sequence[Any],
    tangents: Sequence[Any | None] | None = None,
    *,
    precision: int = PRECISION,
    keep_stopped: bool = False,
    loose: bool = False,
    literals: Literals = shortest,
    side: int = 0,
) -> Evaluation:
    """Return the outputs of a traced program, evaluated on rigorous reals, with their derivatives along a direction.

    `arguments` are arrays (or nested lists) of ints, Fractions, fmpq or balls for floats; numpy arrays for the rest.
    `tangents` has one array for each argument, or None where the argument is held constant. With `keep_stopped`,
    stop_gradient is the identity; without, it makes constants and is recorded. With `loose`, long literals are balls.
    `literals` says what floats in the program stand for.
    With a `side`, values and derivatives are the limits along the tangent from just after the point (1) or before (−1).

    Raises:
        Unsupported: a primitive without semantics here.
        Undecided: a comparison that needs more precision.
        NotDifferentiable: the exit of a while loop jumps at this point.
    """
    literals = loosely if loose else literals
    compiled = program(jaxpr, literals)
    with s.precision(precision), beyond(side), np.errstate(all="ignore"):
        values = [argument(x, dtype) for x, dtype in zip(arguments, compiled.dtypes, strict=True)]
        if tangents is not None:
            values = [_with_tangent(x, dx) for x, dx in zip(values, tangents, strict=True)]
        ctx = Context(run=lambda inner, xs: program(inner, literals).run(ctx, xs), keep_stopped=keep_stopped)
        outs = compiled.run(ctx, values)
    tangent_arrays = [
        np.full(out.primal.shape, None, dtype=object) if out.tangent is None else out.tangent for out in outs
    ]
    return Evaluation([out.primal for out in outs], tangent_arrays, ctx.used_stop_gradient)


def _with_tangent(x: Value, dx: Any | None) -> Value:
    if dx is None:
        return x
    return Value(x.primal, tangent_or_none(argument(dx, np.float64).primal))


def watched_distances(runs: Iterable[Any], is_enough: Callable[[Sequence[Real]], bool]) -> list[Real]:
    """Return the distances to boundaries that programs meet: numbers that they compare with 0 or divide by.

    `runs` are programs with their arguments. They are evaluated in order until `is_enough` holds of the distances so
    far. A program that cannot be evaluated contributes the distances up to where it stops.
    """
    with s.watched() as distances:
        for run in runs:
            if is_enough(distances):
                break
            with suppress(BallError):
                evaluate(*run)
    return distances
