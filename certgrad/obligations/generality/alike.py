"""Proofs in which some values may be any numbers: values that both programs of an obligation compute by the same
operations, and values that are multiplied by 0.

The theorem: let both sides of an obligation be P(x, t, h(x)) and Q(x, t, h(x)), where x are the arguments, t the
tangents or seeds, and h values that are computed from x alone. If P(x, t, c) = Q(x, t, c) for every c, then both sides
are equal at every x at which h(x) is finite. That h(x) is finite is a hypothesis; nothing else is used of it.

Where the obligation compares two programs (a rule's value with the function's, or a JVP with its transpose), h are the
values that both programs compute by the same operations, and the values that one program multiplies by the number 0,
such as the partial derivative in an argument whose tangent is 0. Where the obligation compares a JVP with the
function's derivative, for which there is no program, h are the values of the second kind alone: the JVP is evaluated,
and not differentiated, so that a number may stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.language.tree import Words
from certgrad.obligations.assume.conditions import polys
from certgrad.obligations.certificate import hypothesis
from certgrad.obligations.generality.bounded import idle_clamp_finder
from certgrad.obligations.prove.problem import Posed, Programs, build
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.walk import mentions
from certgrad.obligations.tracing.jax_internals import Program, bits_of, genuine, kind_of
from certgrad.obligations.tracing.jax_internals._numbering import Numbering, Value, reached_values, rebuilt

FINITE = hypothesis(
    Words("what both programs compute alike is finite"),
    "shared values",
    False,
    "every value that both programs compute by the same operations from the inputs is a finite number",
)
IDLE = hypothesis(
    Words("what is multiplied by 0 is finite"),
    "values multiplied by 0",
    False,
    "every value that the programs multiply by the number 0 is a finite number",
)


def compares_programs(kind: str, programs: Programs) -> bool:
    """Return whether the obligation compares two programs, with no derivative."""
    if kind == "rule_runs_forward":
        return programs.primal is not None
    return kind == "vjp_is_adjoint" and programs.jvp is not None


def prove_alike(kind: str, given: Posed) -> Outcome:
    """Return the outcome of an attempt in which values that both programs share become inputs, as if any numbers.

    The outcome says by `alike` and `idle` whether such values were computed alike, or multiplied by 0: its proof then
    holds under `FINITE`, `IDLE` or both. Raises UnprovedError where the calculus cannot follow what is left.
    """
    programs, last = given.programs, len(given.params)
    first, second = (programs.forward, programs.primal) if kind == "rule_runs_forward" else (programs.jvp, programs.vjp)
    assert first is not None
    assert second is not None
    count = len(given.names)
    # A program's inputs are the arguments, then tangents or seeds (`free`), then open parameters (`scalars`).
    arguments = [Value(v.aval, moves=True) for v in first.jaxpr.invars[:count]]
    numbering = Numbering(idle_clamp_finder(given.domain, dict(zip(given.names, arguments, strict=True))))
    scalars = [Value(v.aval, moves=True) for v in first.jaxpr.invars[_end(first, last) :]]
    sides = []
    # One numbering for both programs: what they compute by the same operations of the same operands is one value.
    for program in (first, second):
        free = [Value(v.aval, free=True, moves=True) for v in program.jaxpr.invars[count : _end(program, last)]]
        sides.append((numbering.outputs(program, [*arguments, *free, *scalars]), free))
    (left, _), (right, _) = sides
    # A value of tangents or seeds (`free`) is not shared: the two sides must agree as functions of these.
    common = {v for v in reached_values(left) if _can_stand_alone(v)}.intersection(reached_values(right))
    idle = {*_multiplied_by_zero(left), *_multiplied_by_zero(right)} - common
    common |= idle
    shared = list(dict.fromkeys(v for outputs in (left, right) for v in reached_values(outputs, common) if v in common))
    left_program, right_program = (rebuilt(outputs, [*arguments, *shared, *free, *scalars]) for outputs, free in sides)
    if kind == "rule_runs_forward":
        seeds = [Value(v.aval) for v in programs.vjp.jaxpr.invars[count : _end(programs.vjp, last)]]
        empty_vjp = rebuilt((), [*arguments, *shared, *seeds, *scalars])
        reduced = Programs(left_program, None, empty_vjp, right_program, programs.out_shapes)
    else:
        reduced = Programs(
            rebuilt((), [*arguments, *shared, *scalars]), left_program, right_program, None, programs.out_shapes
        )
    outcome = _proved_of_any(shared, kind, replace(given, programs=reduced))
    some_alike = not idle.issuperset(shared)
    return replace(outcome, alike=some_alike or not shared, idle=not idle.isdisjoint(shared))


def prove_idle(given: Posed) -> Outcome | None:
    """Return the outcome of an attempt at the JVP with any numbers in the place of values that it multiplies by 0.

    Return None if there are no such values. The proof holds under `IDLE`. Raises UnprovedError where the calculus
    cannot follow the programs that are left.
    """
    programs, count, last = given.programs, len(given.names), len(given.params)
    forward, jvp = programs.forward, programs.jvp
    assert jvp is not None
    arguments = [Value(v.aval, moves=True) for v in jvp.jaxpr.invars[:count]]
    scalars = [Value(v.aval, moves=True) for v in jvp.jaxpr.invars[_end(jvp, last) :]]
    tangents = [Value(v.aval, free=True, moves=True) for v in jvp.jaxpr.invars[count : _end(jvp, last)]]
    outputs = Numbering().outputs(jvp, [*arguments, *tangents, *scalars])
    idle = {*_multiplied_by_zero(outputs)}
    shared = [v for v in reached_values(outputs, idle) if v in idle]
    if not shared:
        return None
    invars = list(forward.jaxpr.invars)
    # All programs of an obligation take the same arguments, so that the forward takes the shared values too, unused.
    wider = SimpleNamespace(
        invars=[*invars[:count], *shared, *invars[count:]],
        constvars=forward.jaxpr.constvars,
        eqns=forward.jaxpr.eqns,
        outvars=forward.jaxpr.outvars,
    )
    seeds = [Value(v.aval) for v in programs.vjp.jaxpr.invars[count : _end(programs.vjp, last)]]
    reduced = Programs(
        Program(wider, forward.consts),
        rebuilt(outputs, [*arguments, *shared, *tangents, *scalars]),
        rebuilt((), [*arguments, *shared, *seeds, *scalars]),
        None,
        programs.out_shapes,
    )
    outcome = _proved_of_any(shared, "jvp_is_derivative", replace(given, programs=reduced))
    return replace(outcome, idle=True)


def _proved_of_any(shared: Sequence[Value], kind: str, given: Posed) -> Outcome:
    """Return the outcome of an attempt on programs that take the shared values as inputs after their arguments.

    It is not proved where a hypothesis is about a shared value, as then the value does not stand for any number.
    """
    added = [f"shared value {k}" for k in range(len(shared))]
    wider = replace(
        given.shapes,
        inputs=(*given.shapes.inputs, *(tuple(v.aval.shape) for v in shared)),
        dtypes=(*given.shapes.dtypes, *(_KINDS[kind_of(v.aval.dtype)] for v in shared)),
    )
    problem = build(replace(given, names=[*given.names, *added], shapes=wider))
    outcome = prove(problem, kind)
    if outcome.proved and any(mentions(p, set(added)) for c in outcome.hypotheses for p in polys(c)):
        return Outcome(reason="a condition on a value that stands for any number")
    return outcome


def _multiplied_by_zero(outputs: Sequence[Any]) -> Iterator[Value]:
    """Yield the values behind the outputs that are multiplied by the number 0."""
    for value in reached_values(outputs):
        if value.step is not None and value.step.eqn.primitive.name == "mul" and genuine(value.step.eqn.primitive):
            first, second = value.step.operands
            for operand, factor in ((first, second), (second, first)):
                if isinstance(operand, Value) and _can_stand_alone(operand) and _is_zero(factor):
                    yield operand


def _is_zero(atom: Any) -> bool:
    """Return whether an operand is a literal or constant of zeros, also after changes of shape or dtype."""
    while isinstance(atom, Value) and atom.step is not None:
        if atom.step.eqn.primitive.name not in KEEPS_CONSTANTS or not genuine(atom.step.eqn.primitive):
            return False
        atom = atom.step.operands[0]
    constant = atom.constant if isinstance(atom, Value) else atom.val
    return constant is not None and not np.any(np.asarray(constant))


def same_value(programs: Programs) -> bool:
    """Return whether the rule computes its value by the function's own operations, whatever these mean."""
    if programs.primal is None:
        return False
    numbering = Numbering()
    arguments = [Value(v.aval, moves=True) for v in programs.forward.jaxpr.invars]
    left, right = (numbering.outputs(program, arguments) for program in (programs.forward, programs.primal))
    return all(a is b and isinstance(a, Value) for a, b in zip(left, right, strict=True))


_KINDS = {"f": "held", "i": "int", "b": "bool"}


def _end(program: Program, last: int) -> int:
    """Return where the tangents or seeds among a program's inputs end."""
    return len(program.jaxpr.invars) - last


def _can_stand_alone(value: Value) -> bool:
    """Return whether any number may be put in the place of a value: it is computed from arguments alone, by functions.

    Integers of less than 32 bits are excluded.
    """
    if value.step is None or value.free or not value.moves or not value.pure:
        return False
    kind = kind_of(value.aval.dtype)
    return kind in _KINDS and (kind != "i" or bits_of(value.aval.dtype) >= 32)
