"""Help for a rule that is not proved: a numeric check, and the declaration that a solver lacks.

The check refutes a rule if ball arithmetic confirms the point that it finds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from certgrad._subject import OF_RULES
from certgrad.jaxpr.programs import scan_counts
from certgrad.jaxpr.solves import NAME as MARKED
from certgrad.obligations.auditing.numeric import LEAST_SECONDS, SECONDS, Numeric, numeric
from certgrad.obligations.certificate import CaseClaim, Claim, with_cases, with_claims, with_each_case
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.traces import Spec, Trace, Traces
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import equations_of
from certgrad.rules.causes.reproduction import reproduction
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule

SOLVES = (
    "it iterates: if that solves an equation, say which by certgrad.solves, and the rule is proved by the implicit "
    "function theorem (docs/solvers.md)"
)
DIFFERS = "a numeric check found a point where the two sides differ, and ball arithmetic confirms it"


def pointed_to_solves(report: Report, traces: Traces) -> Report:
    """Return the report; if the function iterates and may be a solver, its open cases say what to declare.

    The function may be one if it has a `while` or a `fori_loop`, and no solver in it is marked by `certgrad.solves`.
    """
    if not _iterates(traces):
        return report

    def with_hint(claim: Claim, one: CaseClaim) -> CaseClaim:
        is_open = claim.kind != "rule_runs_forward" and one.verdict in ("unproved", "refuted")
        if not is_open or SOLVES in one.reason:
            return one
        return msgspec.structs.replace(one, reason=f"{one.reason}\n{SOLVES}".strip())

    return replace(report, certificate=with_each_case(report.certificate, with_hint))


def _iterates(traces: Traces) -> bool:
    trace = traces.make(Spec(0, 0, (), True))
    if not isinstance(trace, Trace):
        return False
    equations = list(equations_of(trace.programs.forward.jaxpr))
    return any(map(_is_iteration, equations)) and not any(e.primitive.name == MARKED for e in equations)


def _is_iteration(equation: Any) -> bool:
    """Return whether an equation is a `while`, or a `fori_loop` with a fixed number of steps.

    JAX traces the latter as a scan without inputs and outputs for each step.
    """
    if equation.primitive.name == "while":
        return True
    if equation.primitive.name != "scan":
        return False
    constants, carried = scan_counts(equation.params)
    return len(equation.invars) == carried + constants and len(equation.outvars) == carried


def differs_at_a_point(rule: UserRule) -> bool:
    """Return whether a numeric check finds a point where the two sides of a claim differ, confirmed by ball arithmetic.

    Only the first case of the rule is checked.
    """
    shapes = family(rule, rule.cases[0]).prove[0]
    return any(numeric(rule, shapes, kind).witness is not None for kind in OF_RULES)


def checked_numerically(report: Report, rule: UserRule) -> Report:
    """Return the report on an unproved rule with the result of a numeric check of each open claim.

    Where ball arithmetic confirms that the two sides differ, the claim is refuted. Otherwise the claim notes that they
    agree at the points, or seem to differ. A report with another verdict is returned as it is.
    """

    if report.verdict != "unproved":
        return report
    until = budget.until(SECONDS, LEAST_SECONDS)

    def checked(claim: Claim, k: int, one: CaseClaim) -> tuple[CaseClaim, Numeric]:
        """Return case `k` of a claim, refuted if a point shows it, and the result of its numeric check."""
        if one.verdict != "unproved" or k >= len(rule.cases):
            return one, Numeric()
        open_cases = sum(c.verdict == "unproved" for c in claim.cases)
        result = numeric(rule, family(rule, rule.cases[k]).prove[0], claim.kind, open_cases, until)
        if result.witness is not None:
            reason = f"{DIFFERS}\n{one.reason}" if one.reason else DIFFERS
            return msgspec.structs.replace(one, verdict="refuted", reason=reason, witness=result.witness), result
        return one, result

    claims = []
    for claim in report.certificate.claims:
        if claim.verdict != "unproved":
            claims.append(claim)
            continue
        pairs = [checked(claim, k, one) for k, one in enumerate(claim.cases)]
        unconfirmed = [outcome for _, outcome in pairs if outcome.witness is None]
        measured = list(
            dict.fromkeys([*claim.measured, *(outcome.agrees for outcome in unconfirmed if outcome.agrees)])
        )
        contradicted = next((outcome.differing for outcome in unconfirmed if outcome.differs), claim.contradicted)
        cases = [one for one, _ in pairs]
        claims.append(with_cases(claim, cases, measured=measured, contradicted=contradicted))
    certificate = with_claims(report.certificate, claims)
    if certificate.verdict == "refuted":
        return replace(report, certificate=certificate, reproduction=reproduction(rule, certificate))
    return replace(report, certificate=certificate)
