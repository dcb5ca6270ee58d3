"""Why an operation's lemma failed: a witness among its possible arguments, or the reason of the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from certgrad.graph.certificate import ObligationResult
from certgrad.graph.lemmas import bounds
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.numbers import IDEAL_NUMBERS
from certgrad.obligations import balls
from certgrad.obligations.auditing.witnesses import as_data
from certgrad.obligations.balls import (
    BallError,
    Criterion,
    Dims,
    Input,
    Rule,
    Run,
    Scope,
    SearchLimits,
    find_witness,
    seeded,
)
from certgrad.obligations.balls._draw import draw_dims, draw_point
from certgrad.obligations.balls._witness import SECONDS
from certgrad.obligations.balls.statements import all_conditions_hold
from certgrad.obligations.certificate import VerdictName
from certgrad.obligations.generality.decisions import broken
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.wording.present import show_difference
from certgrad.signatures.sizes import parse_size

from .operation import TracedRules, rule_is_reverse

ROUNDING = {True: Fraction(1, 10**12), False: Fraction(1, 10**6)}
"""The least gap between the sides that counts, with 64-bit numbers or without: a smaller one may be rounding."""
LARGEST = 4096
"""Entries of an array that are never too many where programs are run to judge the reading of literals."""


def failure_of(rules: TracedRules, kind: str, outcome: Outcome) -> ObligationResult:
    """Return the result of an obligation that was not proved: refuted by a witness, a surrogate, or unproved."""
    residual = show_difference(outcome.residual) if outcome.residual is not None else ""
    if outcome.surrogate:
        return ObligationResult(kind=kind, verdict="surrogate", reason=outcome.reason, residual=residual)  # type: ignore[arg-type]
    # Where the budget ended the proof, a search would not get far either.
    search = rules.operation.search and not outcome.reason.startswith("budget")
    if kind == "jvp_is_derivative" and rule_is_reverse(rules.operation.equation):
        search = False  # the jvp is no rule that runs: nothing of it could be refuted
    witness = _witness(rules, kind) if search else None
    reason = "the two sides differ at the witness" if witness else outcome.reason
    verdict: VerdictName = "refuted" if witness else "unproved"
    return ObligationResult(kind=kind, verdict=verdict, reason=reason, residual=residual, witness=witness)  # type: ignore[arg-type]


def _witness(rules: TracedRules, kind: str) -> Any:
    """Return a point where the traced programs provably break the obligation, or None."""
    at_numbers = _AtNumbers(rules)
    criterion = Criterion(at_least=ROUNDING[rules.operation.equation.wide], loose=True)
    try:
        witness = find_witness(
            kind,
            at_numbers.at,
            at_numbers.inputs,
            name=at_numbers.name,
            scope=Scope(domain=at_numbers.inside, fits=at_numbers.as_traced),
            criterion=criterion,
            limits=SearchLimits(seconds=min(SECONDS, budget.seconds_left()), precision=256),
        )
        return as_data(witness, {}) if witness is not None else None
    except (BallError, TypeError, ValueError, KeyError):
        return None


def ordinary_runs(rules: TracedRules) -> list[Run]:
    """Return the programs evaluated at concrete sizes and a point without coincidences, such as equal entries.

    An empty list where no such sizes or point are found, or the programs are not evaluated.
    """
    at_numbers = _AtNumbers(rules)
    rng = seeded(at_numbers.name, "literals")
    try:
        for dims in islice(draw_dims(at_numbers.inputs, rng, at_numbers.as_traced, least=LARGEST), 1):
            programs = at_numbers.at(dims)
            point = draw_point(programs, "vjp_is_adjoint", 0, rng, at_numbers.inside, generic=True)
            return [] if point is None else programs.runs(point)
    except (BallError, TypeError, ValueError, KeyError):
        pass
    return []


class _AtNumbers:
    """An operation's programs at concrete sizes of its arguments."""

    def __init__(self, rules: TracedRules) -> None:
        self.operation, self.programs = rules.operation, rules.programs
        shapes = rules.shapes
        self.name = f"{self.operation.title} {shapes.inputs}"
        self.inputs = [
            Input(n, tuple(map(parse_size, s)), k, differentiable=i in shapes.active)  # type: ignore[arg-type]
            for i, (n, s, k) in enumerate(zip(self.operation.names, shapes.inputs, shapes.dtypes, strict=True))
        ]

    def at(self, dims: Dims) -> balls.Programs:
        """Return the programs at these sizes, as the search for witnesses takes them."""
        programs = self.programs

        def run(program: Any, *groups: Sequence[Any]) -> list[Any]:
            return jaxpr.evaluate(program, [x for g in groups for x in g], dims.sizes, IDEAL_NUMBERS)

        rule = Rule(
            forward=lambda xs: run(programs.forward, xs),
            jvp=None if rule_is_reverse(self.operation.equation) else lambda xs, dxs: run(programs.jvp, xs, dxs),
            vjp=lambda xs, seeds: run(programs.vjp, xs, seeds),
            primal=(lambda xs: run(programs.primal, xs)) if programs.primal else None,
        )
        return balls.Programs(rule, self.inputs, dims)

    def as_traced(self, dims: Dims) -> bool:
        """Return whether the traced programs are those that run at these sizes."""
        return broken(self.programs, dims.sizes) is None

    def inside(self, values: Mapping[str, Any]) -> bool:
        """Return whether the point is in the operation's domain."""
        signed = zip(self.operation.names, self.operation.signs, strict=False)
        return all_conditions_hold(self.operation.domain, values) and all(
            _satisfies_signs(values[n], s) for n, s in signed
        )


def _satisfies_signs(value: Any, signs: int) -> bool:
    if isinstance(value, list | tuple):
        return all(_satisfies_signs(v, signs) for v in value)
    if not isinstance(value, int | Fraction):
        return True
    return bounds.holds(value, signs)
