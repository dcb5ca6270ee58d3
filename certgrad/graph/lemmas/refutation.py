"""Why an operation's lemma failed: a witness among its possible arguments."""

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
from certgrad.obligations.balls import BallError, Dims, Input, Rule, Run, find_witness, seeded
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
"""A gap that is smaller may be the rounding of what runs in 64 bits, or in 32."""
LARGEST = 4096
"""An array of so many entries is not too large to look at what is decided with literals."""


def failure_of(rules: TracedRules, kind: str, outcome: Outcome) -> ObligationResult:
    residual = show_difference(outcome.residual) if outcome.residual is not None else ""
    if outcome.surrogate:
        return ObligationResult(kind=kind, verdict="surrogate", reason=outcome.reason, residual=residual)  # type: ignore[arg-type]
    # What is too large to prove is too large to search.
    search = rules.operation.search and not outcome.reason.startswith("budget")
    if kind == "jvp_is_derivative" and rule_is_reverse(rules.operation.equation):
        search = False  # the jvp is no rule that runs: nothing of it could be refuted
    witness = _witness(rules, kind) if search else None
    reason = "the two sides differ at the witness" if witness else outcome.reason
    verdict: VerdictName = "refuted" if witness else "unproved"
    return ObligationResult(kind=kind, verdict=verdict, reason=reason, residual=residual, witness=witness)  # type: ignore[arg-type]


def _witness(rules: TracedRules, kind: str) -> Any:
    """A point where the traced programs provably break the obligation, or None."""
    here = _AtNumbers(rules)
    given: dict[str, Any] = {"domain": here.inside, "fits": here.as_traced, "name": here.name}
    given["at_least"] = ROUNDING[rules.operation.equation.wide]
    try:
        seconds = min(SECONDS, budget.seconds_left())
        found = find_witness(kind, here.at, here.inputs, **given, precision=256, loose=True, seconds=seconds)
        return as_data(found, {}) if found is not None else None
    except (BallError, TypeError, ValueError, KeyError):
        return None


def ordinary_runs(rules: TracedRules) -> list[Run]:
    """The programs at concrete sizes, at a point without coincidences; none where such sizes or such a point are not
    found, or the programs are not evaluated."""
    here = _AtNumbers(rules)
    rng = seeded(here.name, "literals")
    try:
        for dims in islice(draw_dims(here.inputs, rng, here.as_traced, least=LARGEST), 1):
            at = here.at(dims)
            point = draw_point(at, "vjp_is_adjoint", 0, rng, here.inside, generic=True)
            return [] if point is None else at.runs(point)
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
        """Return whether these programs run at the sizes."""
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
