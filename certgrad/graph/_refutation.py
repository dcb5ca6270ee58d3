"""Why an operation's lemma failed: a witness among what it may be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from certgrad.graph import _bounds, _jaxpr
from certgrad.graph._numbers import IDEAL
from certgrad.graph._rules import ActiveShapes
from certgrad.graph.certificate import ObligationResult
from certgrad.obligations import balls
from certgrad.obligations.auditing.witnesses import as_data
from certgrad.obligations.balls import BallError, Dims, Input, Rule, find_witness
from certgrad.obligations.balls.statements import inside
from certgrad.obligations.certificate import VerdictName
from certgrad.obligations.generality.decisions import Fixed, _solution
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.atoms import Dim
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.wording.present import show_difference

from ._operation import Operation, rule_is_reverse


def broken_decision(programs: Programs, sizes: Mapping[str, Any]) -> Fixed | None:
    """Sizes that a rule treats on their own, where the node has them: the case, empty where it cannot be written.

    None where each question about dimensions that tracing answered has the same answer at these sizes.
    """
    for program in programs.all().values():
        for decision in program.decisions:
            if decision.difference is None:
                if decision.by_library:
                    continue
                return {}
            value = _at(decision.difference, sizes)
            if value is None or value == 0:
                return _solution(decision.difference) or {}
    return None


def _at(poly: Poly, sizes: Mapping[str, Any]) -> Fraction | None:
    """A polynomial over dimensions at these sizes; None where it holds something else."""
    total = Fraction(0)
    for mono, c in poly.items():
        value = Fraction(int(c.p), int(c.q))
        for atom, power in mono:
            if not isinstance(atom, Dim) or atom.name not in sizes or Fraction(str(power)).denominator != 1:
                return None
            value *= Fraction(sizes[atom.name]) ** int(str(power))
        total += value
    return total


def failure_of(
    operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], kind: str, outcome: Outcome
) -> ObligationResult:
    residual = show_difference(outcome.residual) if outcome.residual is not None else ""
    if outcome.surrogate:
        return ObligationResult(kind=kind, verdict="surrogate", reason=outcome.reason, residual=residual)  # type: ignore[arg-type]
    # What is too large to prove is too large to search.
    search = operation.search and not outcome.reason.startswith("budget")
    if kind == "jvp_is_derivative" and rule_is_reverse(operation.equation):
        search = False  # the jvp is no rule that runs: nothing of it could be refuted
    witness = _witness(operation, shapes, programs, names, kind) if search else None
    reason = "the two sides differ at the witness" if witness else outcome.reason
    verdict: VerdictName = "refuted" if witness else "unproved"
    return ObligationResult(kind=kind, verdict=verdict, reason=reason, residual=residual, witness=witness)  # type: ignore[arg-type]


def _witness(operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], kind: str) -> Any:
    """A point where the traced programs provably break the obligation, or None."""
    inputs = [
        Input(n, tuple(str(d) for d in s), k, differentiable=i in shapes.active)  # type: ignore[arg-type]
        for i, (n, s, k) in enumerate(zip(operation.names, shapes.inputs, shapes.dtypes, strict=True))
    ]

    def at(dims: Dims) -> balls.Programs:
        def run(program: Any, *groups: Sequence[Any]) -> list[Any]:
            return _jaxpr.evaluate(program, [x for g in groups for x in g], dims.sizes, IDEAL)

        rule = Rule(
            forward=lambda xs: run(programs.forward, xs),
            jvp=None if rule_is_reverse(operation.equation) else lambda xs, dxs: run(programs.jvp, xs, dxs),
            vjp=lambda xs, seeds: run(programs.vjp, xs, seeds),
            primal=(lambda xs: run(programs.primal, xs)) if programs.primal else None,
        )
        return balls.Programs(rule, inputs, dims)

    def as_traced(dims: Any) -> bool:
        return broken_decision(programs, dims.sizes) is None  # else another program runs at these sizes

    def domain(values: Mapping[str, Any]) -> bool:
        signed = zip(operation.names, operation.signs, strict=False)
        return inside(operation.domain, values) and all(_within(values[n], s) for n, s in signed)

    try:
        name = f"{operation.title} {shapes.inputs}"
        found = find_witness(kind, at, inputs, domain=domain, fits=as_traced, name=name, precision=256)
        return as_data(found, _NoStatics()) if found is not None else None  # type: ignore[arg-type]
    except (BallError, TypeError, ValueError, KeyError):
        return None


class _NoStatics:
    """A node's parameters are part of its equation: it has no structural arguments to show."""

    def keywords(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        return {}


def _within(value: Any, signs: int) -> bool:
    if isinstance(value, list | tuple):
        return all(_within(v, signs) for v in value)
    if not isinstance(value, int | Fraction):
        return True
    return _bounds.holds(value, signs)
