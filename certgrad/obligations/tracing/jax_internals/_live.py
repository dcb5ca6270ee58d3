"""Loops, branches, and which parts of a program its needed outputs depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from certgrad.jaxpr.programs import is_dropped, is_literal, scan_counts

from ._programs import Program, inner_program, program_of


def branch_programs(eqn: Any) -> list[Program]:
    """Return the branches of a `cond` as programs, that for index 0 first."""
    return [program_of(b) for b in eqn.params["branches"]]


@dataclass(frozen=True)
class ScanLoop:
    """A `scan`: its body takes constants, carries and rows, and returns carries and rows."""

    body: Program
    consts: int
    carries: int
    length: Any
    reverse: bool

    def live_outputs(self, use: Sequence[bool]) -> list[bool]:
        """Return which outputs of the body the needed outputs of the scan depend on, through any number of steps."""
        return _live_through_steps(self.body.jaxpr, self.consts, self.carries, use)


@dataclass(frozen=True)
class WhileLoop:
    """A `while`: its test and its body take constants of their own, and the carries."""

    test: Program
    body: Program
    test_consts: int
    body_consts: int

    def live_outputs(self, use: Sequence[bool]) -> list[bool]:
        """Return which carries the needed ones depend on, through any number of steps."""
        return _live_through_steps(self.body.jaxpr, self.body_consts, len(use), use)


def while_loop(eqn: Any) -> WhileLoop:
    """Return a `while` equation as a `WhileLoop`."""
    p = eqn.params
    return WhileLoop(program_of(p["cond_jaxpr"]), program_of(p["body_jaxpr"]), p["cond_nconsts"], p["body_nconsts"])


def scan_loop(eqn: Any) -> ScanLoop:
    """Return a `scan` equation as a `ScanLoop`."""
    p = eqn.params
    return ScanLoop(program_of(p["jaxpr"]), *scan_counts(p), p["length"], bool(p["reverse"]))


def _live_through_steps(body: Any, consts: int, carries: int, use: Sequence[bool]) -> list[bool]:
    """Return which outputs of a loop's body are needed for the outputs in `use`, through any number of steps.

    A needed output may read a carry, which is an output of the step before: the needed outputs grow until they do not.
    """
    needed = list(use)
    while True:
        carried = live_inputs(body, needed)[consts : consts + carries]
        with_carried = [n or c for n, c in zip(needed, [*carried, *[False] * len(needed)], strict=False)]
        if with_carried == needed:
            return needed
        needed = with_carried


def live_equations(jaxpr: Any, needed: Sequence[bool]) -> list[tuple[Any, list[bool]]]:
    """Return the equations that the needed outputs depend on, in order, each with which of its outputs are needed."""
    return _live(jaxpr, needed)[0]


def part_of(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """Return the program from some inputs to some outputs, with only the equations and constants that these need."""
    jaxpr = program.jaxpr
    kept = [eqn for eqn, _ in live_equations(jaxpr, [k in outputs for k in range(len(jaxpr.outvars))])]
    return _subprogram(program, [jaxpr.invars[k] for k in inputs], kept, [jaxpr.outvars[k] for k in outputs])


def _subprogram(program: Program, invars: Sequence[Any], eqns: Sequence[Any], outvars: Sequence[Any]) -> Program:
    """Return some equations of a program as a program, with the constants that they read."""
    read = {v for eqn in eqns for v in eqn.invars if not is_literal(v)} | {v for v in outvars if not is_literal(v)}
    constants = [(v, c) for v, c in zip(program.jaxpr.constvars, program.consts, strict=False) if v in read]
    constvars, consts = [v for v, _ in constants], [c for _, c in constants]
    return Program(SimpleNamespace(invars=invars, constvars=constvars, eqns=eqns, outvars=outvars), consts)


def up_to_mark(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program | None:
    """Return the equations before the mark (see `mark`), even unused ones, as a program; None without a mark.

    Its inputs and outputs are those of the program with these numbers.
    """
    if program.marked is None:
        return None
    jaxpr = program.jaxpr
    before, outvars = jaxpr.eqns[: program.marked], [jaxpr.outvars[k] for k in outputs]
    return _subprogram(program, [jaxpr.invars[k] for k in inputs], before, outvars)


def live_results(
    program: Program,
    args: Sequence[Any],
    needed: Sequence[bool],
    rule: Callable[[Any, list[Any]], Sequence[Any]],
    constant: Callable[[Any, Any], Any],
) -> list[Any]:
    """Return the needed outputs of a program run by `rule`, equation by equation; None in the place of the others.

    Called programs are inlined, and an operand is None where the needed outputs do not depend on it. `constant` makes a
    value of a constant or literal and its type.
    """
    jaxpr = program.jaxpr
    values = {v: constant(c, v.aval) for v, c in zip(jaxpr.constvars, program.consts, strict=True)}
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(v: Any) -> Any:
        return constant(v.val, v.aval) if is_literal(v) else values.get(v)

    for eqn, use in live_equations(jaxpr, needed):
        operands, inner = [read(v) for v in eqn.invars], inner_program(eqn)
        outs = rule(eqn, operands) if inner is None else live_results(inner, operands, use, rule, constant)
        values.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) if wanted else None for v, wanted in zip(jaxpr.outvars, needed, strict=True)]


def live_inputs(jaxpr: Any, needed: Sequence[bool]) -> list[bool]:
    """Return which inputs the needed outputs depend on."""
    wanted = _live(jaxpr, needed)[1]
    return [v in wanted for v in jaxpr.invars]


def _live(jaxpr: Any, needed: Sequence[bool]) -> tuple[list[tuple[Any, list[bool]]], set[Any]]:
    """Return the equations that the needed outputs depend on, as `live_equations`, and all variables that they do.

    Both come from one walk, from the last equation to the first, as a second walk would double the time at each level
    of nested loops.
    """
    wanted = {v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v)}
    kept: list[tuple[Any, list[bool]]] = []
    for eqn in reversed(jaxpr.eqns):
        use = [not is_dropped(v) and v in wanted for v in eqn.outvars]
        if not any(use):
            continue
        kept.append((eqn, use))
        inputs = [v for v, u in zip(eqn.invars, used_inputs(eqn, use), strict=True) if u]
        wanted.update(v for v in inputs if not is_literal(v))
    return kept[::-1], wanted


def used_inputs(eqn: Any, use: Sequence[bool]) -> list[bool]:
    """Return which operands of an equation its needed outputs depend on."""
    inner = inner_program(eqn)
    if inner is not None and len(inner.jaxpr.invars) == len(eqn.invars):
        return live_inputs(inner.jaxpr, use)
    if eqn.primitive.name == "cond":
        branches = [live_inputs(b.jaxpr, use) for b in branch_programs(eqn)]
        return [True, *(any(used) for used in zip(*branches, strict=True))]
    if eqn.primitive.name == "scan":
        loop = scan_loop(eqn)
        needed = loop.live_outputs(use)
        starts = [False] * loop.consts + needed[: loop.carries]  # a carry has a start, read or not
        used = live_inputs(loop.body.jaxpr, needed)
        return [u or (k < len(starts) and starts[k]) for k, u in enumerate(used)]
    return [True] * len(eqn.invars)
