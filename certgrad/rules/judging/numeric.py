"""Help for a rule that is not proved: a numeric check, which refutes if confirmed; for a solver the missing
declaration.
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
    """Return the report on a rule that is not proved, with what to declare if its function is a solver: if it iterates
    until a test ends it, or some number of steps, and no solver in it is marked.
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
    made = traces.make(Spec(0, 0, (), True))
    if not isinstance(made, Trace):
        return False
    equations = list(equations_of(made.programs.forward.jaxpr))
    return any(map(_is_iteration, equations)) and not any(e.primitive.name == MARKED for e in equations)


def _is_iteration(equation: Any) -> bool:
    """Return whether it is a `while`, or a `fori_loop` of floats: a scan that takes nothing at each step and returns
    nothing of each.
    """
    if equation.primitive.name == "while":
        return True
    if equation.primitive.name != "scan":
        return False
    constants, carried = scan_counts(equation.params)
    return len(equation.invars) == carried + constants and len(equation.outvars) == carried


def differs_at_a_point(rule: UserRule) -> bool:
    """Return whether a numeric check of the rule's claims finds a point where both sides differ, and ball arithmetic
    confirms it.
    """
    shapes = family(rule, rule.cases[0]).prove[0]
    return any(numeric(rule, shapes, kind).witness is not None for kind in OF_RULES)


def checked_numerically(report: Report, rule: UserRule) -> Report:
    """Return the report on an unproved rule with the result of a numeric check of each open claim.

    Where ball arithmetic confirms that both sides differ the claim is refuted. Else it says that they agree, or seem to
    differ.
    """

    if report.verdict != "unproved":
        return report
    until = budget.until(SECONDS, LEAST_SECONDS)

    def checked(claim: Claim, k: int, one: CaseClaim) -> tuple[CaseClaim, Numeric]:
        """Return case `k` of a claim, refuted if a point shows it, and what its numeric check found."""
        if one.verdict != "unproved" or k >= len(rule.cases):
            return one, Numeric()
        open_cases = sum(c.verdict == "unproved" for c in claim.cases)
        found = numeric(rule, family(rule, rule.cases[k]).prove[0], claim.kind, open_cases, until)
        if found.witness is not None:
            reason = f"{DIFFERS}\n{one.reason}" if one.reason else DIFFERS
            return msgspec.structs.replace(one, verdict="refuted", reason=reason, witness=found.witness), found
        return one, found

    claims = []
    for claim in report.certificate.claims:
        if claim.verdict != "unproved":
            claims.append(claim)
            continue
        pairs = [checked(claim, k, one) for k, one in enumerate(claim.cases)]
        unconfirmed = [found for _, found in pairs if found.witness is None]
        measured = list(dict.fromkeys([*claim.measured, *(found.agrees for found in unconfirmed if found.agrees)]))
        contradicted = next((found.differing for found in unconfirmed if found.differs), claim.contradicted)
        cases = [one for one, _ in pairs]
        claims.append(with_cases(claim, cases, measured=measured, contradicted=contradicted))
    certificate = with_claims(report.certificate, claims)
    if certificate.verdict == "refuted":
        return replace(report, certificate=certificate, reproduction=reproduction(rule, certificate))
    return replace(report, certificate=certificate)
