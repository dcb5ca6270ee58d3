"""Obligations that compare two programs which share work: what both compute alike needs no meaning.

The theorem: let both sides of an obligation be P(x, t, h(x)) and Q(x, t, h(x)), where h stands for values that both
programs compute by the same operations from what is not moved. If P(x, t, c) = Q(x, t, c) for every c, then both sides
are equal at every x at which h(x) is finite. That h(x) is finite is a hypothesis; nothing else is used of it.

It compares a rule's value with the function's, and a JVP with its transpose. It says nothing about a derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from certgrad.hypotheses.tree import Words
from certgrad.obligations.assume.conditions import polys
from certgrad.obligations.certificate import Hypothesis
from certgrad.obligations.generality.bounded import inside
from certgrad.obligations.prove.problem import Programs, Shapes, build
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.walk import mentions
from certgrad.obligations.tracing.jax_internals import Numbering, Program, Value, bits_of, kind_of, reached, rebuilt

FINITE = Hypothesis(
    text="what both programs compute alike is finite",
    latex=r"\text{what both programs compute alike is finite}",
    prose="every value that both programs compute by the same operations from the inputs is a finite number",
    source="shared values",
    negligible=False,
    tree=Words("what both programs compute alike is finite"),
)


def compares_programs(kind: str, programs: Programs) -> bool:
    """Whether the obligation is about two programs and no derivative."""
    if kind == "rule_runs_forward":
        return programs.primal is not None
    return kind == "vjp_is_adjoint" and programs.jvp is not None


def prove_alike(
    kind: str,
    names: Sequence[str],
    params: Mapping[str, str | None],
    domain: tuple[str, ...],
    shapes: Shapes,
    programs: Programs,
    where: str,
) -> Outcome:
    """An attempt at the obligation with shared values in place of what computes them; it holds under `FINITE`.

    Raises UnprovedError where the calculus cannot follow what is left.
    """
    first, second = (programs.forward, programs.primal) if kind == "rule_runs_forward" else (programs.jvp, programs.vjp)
    assert first is not None
    assert second is not None
    count, last = len(names), len(params)
    arguments = [Value(v.aval, moves=True) for v in first.jaxpr.invars[:count]]
    numbering = Numbering(inside(domain, dict(zip(names, arguments, strict=True))))
    scalars = [Value(v.aval, moves=True) for v in first.jaxpr.invars[_end(first, last) :]]
    sides = []
    for program in (first, second):
        free = [Value(v.aval, free=True, moves=True) for v in program.jaxpr.invars[count : _end(program, last)]]
        sides.append((numbering.outputs(program, [*arguments, *free, *scalars]), free))
    (left, _), (right, _) = sides
    common = {v for v in reached(left) if _can_stand_alone(v)}.intersection(reached(right))
    shared = list(dict.fromkeys(v for outputs in (left, right) for v in reached(outputs, common) if v in common))
    one, other = (rebuilt(outputs, [*arguments, *shared, *free, *scalars]) for outputs, free in sides)
    if kind == "rule_runs_forward":
        seeds = [Value(v.aval) for v in programs.vjp.jaxpr.invars[count : _end(programs.vjp, last)]]
        nothing = rebuilt((), [*arguments, *shared, *seeds, *scalars])
        reduced = Programs(one, None, nothing, other, programs.out_shapes)
    else:
        reduced = Programs(rebuilt((), [*arguments, *shared, *scalars]), one, other, None, programs.out_shapes)
    added = [f"shared value {k}" for k in range(len(shared))]
    wider = replace(
        shapes,
        inputs=(*shapes.inputs, *(tuple(v.aval.shape) for v in shared)),
        dtypes=(*shapes.dtypes, *(_KINDS[kind_of(v.aval.dtype)] for v in shared)),
    )
    problem = build([*names, *added], params, domain, wider, reduced, where)
    outcome = prove(problem, kind)
    if outcome.proved and any(mentions(p, set(added)) for c in outcome.hypotheses for p in polys(c)):
        return Outcome(reason="a condition on a value that both programs compute alike")
    return outcome


def same_value(programs: Programs) -> bool:
    """The rule computes its value from the inputs by the operations of the function, whatever these mean."""
    if programs.primal is None:
        return False
    numbering = Numbering()
    arguments = [Value(v.aval, moves=True) for v in programs.forward.jaxpr.invars]
    left, right = (numbering.outputs(program, arguments) for program in (programs.forward, programs.primal))
    return all(a is b and isinstance(a, Value) for a, b in zip(left, right, strict=True))


_KINDS = {"f": "held", "i": "int", "b": "bool"}


def _end(program: Program, last: int) -> int:
    """Where the tangents or seeds among a program's inputs end."""
    return len(program.jaxpr.invars) - last


def _can_stand_alone(value: Value) -> bool:
    """Any number may be put in its place."""
    if value.step is None or value.free or not value.moves or not value.pure:
        return False
    kind = kind_of(value.aval.dtype)
    return kind in _KINDS and (kind != "i" or bits_of(value.aval.dtype) >= 32)
