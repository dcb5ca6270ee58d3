"""The verdict on one attempt: its certificate, and for a wrong rule the argument that is wrong, where and why."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from certgrad import rules
from certgrad.errors import RuleError, TraceError
from certgrad.obligations.auditing.attempts import plainly_refuted
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.claims import untraced
from certgrad.obligations.certificate import (
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    sealed,
    with_each_case,
)
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import from_library
from certgrad.rules.subject.examine import Examined, apply_examination, examine
from certgrad.rules.subject.layers import place_of
from certgrad.rules.subject.report import OTHER_VALUE, ArgumentClaim, Report
from certgrad.rules.subject.statement import SECONDS_AT_SIZES, Attempt, Statement
from certgrad.rules.subject.user_rule import UserRule

SURROGATE_SECONDS = 10.0
"""Seconds of the audit of a surrogate's derivative, of which the author says that it is not the function's."""
NONE = "None is returned for {}, which `differentiable` names; JAX takes it for zeros"
AN_OBJECT = (
    " If an argument is an object, as a module of parameters is, give the signature as a tuple, with such an object "
    'that holds texts in place of its arrays: (Params(w="d m", b="m"), "n d").'
)
DEFAULTS = (
    " JAX traces {0}, of which the default stands, with the arrays of a {1}, and fails so under jax.jit as well: give "
    "the rule to a function of the arrays alone, as in {1}(lambda x: jnp.round(x)), or name the others by "
    "nondiff_argnums."
)


@dataclass(frozen=True)
class Look:
    """A rule as it is audited in one attempt, after a first trace of its function."""

    statement: Statement
    attempt: Attempt
    """The attempt, which excludes the arguments without a gradient unless the author names them."""
    rule: UserRule
    examined: Examined
    traces: Traces
    """The traces that the audit uses; after it they also say at which sizes something else was seen to happen."""

    def part(self, statement: Statement | None = None, **changes: Any) -> UserRule:
        """Return the rule of the same attempt with some fields changed, and with what is known of its outputs."""
        rule = (statement or self.statement).rule(replace(self.attempt, **changes))
        apply_examination(rule, self.examined)
        return rule

    def under(self, conditions: Sequence[str]) -> Look:
        """Return the same attempt under further conditions, which the author does not declare."""
        attempt = replace(self.attempt, assumed=tuple(conditions))
        rule = self.statement.rule(attempt)
        return replace(self, attempt=attempt, rule=rule, traces=apply_examination(rule, self.examined))


def first_look(statement: Statement, attempt: Attempt) -> Look:
    """Return the rule of an attempt with a first examination: its outputs, and which arguments get no gradient.

    Raises SignatureError if the function returns other shapes than its signature says.
    """
    rule = statement.rule(attempt)
    examined = examine(rule)
    # An argument that the author names stays in the claim: JAX takes `None` for zeros, and so does the claim.
    if examined.without_gradient and statement.differentiable is None:
        attempt = replace(attempt, excluded=examined.without_gradient)
        rule = statement.rule(attempt)
    return Look(statement, attempt, rule, examined, apply_examination(rule, examined))


def claims_of(look: Look) -> tuple[Certificate, str]:
    """Return the certificate of an attempt, and a text on the approximation; "" if the rule approximates nothing.

    The certificate has the claims on the derivative, on the value of an approximation, and on integer outputs.
    """
    rule, examined = look.rule, look.examined
    certificate = (
        untraced(rule, f"an output is of {examined.strange}") if examined.strange else _certificate(rule, look)
    )
    approximates = ""
    if rule.ideal is not None:
        value = look.part(part="value")
        approximates = rules.approximation(value, rule)
        of_value = _of_value(value, rule)
        approximated = dict.fromkeys(i.said for i in rule.ideals if i.met)
        certificate = rules.with_value(certificate, [approximates, *approximated], of_value)
    if examined.integers and not examined.strange:
        certificate = rules.with_integers(certificate, _certificate(look.part(part="integers")))
    return certificate, approximates


def judged(look: Look) -> Report:
    """Return the report on an attempt: its certificate, and for a wrong rule which argument is wrong, where and why.

    A refuted rule is tried under bounds on its arguments first (`assumed.py`).
    """
    started = time.thread_time()
    surrogate = look.statement.surrogate
    if surrogate:  # whether it is the derivative after all is of little interest
        look.rule.seconds = SURROGATE_SECONDS
    certificate, approximates = claims_of(look)
    if certificate.verdict == "refuted" and not surrogate:
        look, certificate = rules.assumed(look, certificate) or (look, certificate)
    rule = look.rule
    arguments: tuple[ArgumentClaim, ...] = ()
    right_where = ""
    if certificate.verdict in ("refuted", "unproved") and not surrogate:
        arguments = _argument_claims(look, certificate, time.thread_time() - started)
        right_where = _right_where(look, arguments) if certificate.verdict == "refuted" else ""
        certificate = explained(certificate, rule, arguments, right_where)
    if surrogate:
        certificate = rules.as_surrogate(certificate, surrogate)
    return replace(reported(look, certificate, arguments), approximates=approximates, right_where=right_where)


def reported(look: Look, certificate: Certificate, arguments: tuple[ArgumentClaim, ...] = ()) -> Report:
    """Return the report of an attempt with a certificate; `arguments` are claims on single arguments, if any."""
    if look.attempt.excluded:
        certificate = sealed(msgspec.structs.replace(certificate, without_gradient=list(look.attempt.excluded)))
    report = report_of(look.rule, certificate, look.statement.surrogate, arguments)
    return replace(report, only_compared=look.examined.only_compared)


def plainly(look: Look) -> Certificate:
    """Return the certificate of an attempt, by a short audit without an explanation of what is wrong."""
    look.rule.seconds = SECONDS_AT_SIZES
    if look.examined.strange:
        return untraced(look.rule, f"an output is of {look.examined.strange}")
    return _certificate(look.rule, look)


def _of_value(value: UserRule, rule: UserRule) -> Certificate:
    """Return the claim that the rule returns the value of a function which approximates another.

    If the claim fails, it is tried once more with both read as what they approximate: the rule may compute the value by
    another approximation of the same function.
    """
    as_it_runs = _certificate(value)
    if as_it_runs.verdict in PROOFS or any(
        plainly_refuted(c.witness) for claim in as_it_runs.claims for c in claim.cases
    ):
        return as_it_runs
    value.ideals, cut_short_before = rule.ideals, budget.cut_short
    as_ideal = _certificate(value)
    if as_ideal.verdict in PROOFS:
        return rules.read_as_ideal(as_ideal)
    # The rule may compute another approximation of the same value, which is no mistake: if time was up before that was
    # decided, the claim stays open.
    return as_ideal if as_ideal.verdict == "unproved" and budget.cut_short > cut_short_before else as_it_runs


def _argument_claims(look: Look, certificate: Certificate, seconds: float) -> tuple[ArgumentClaim, ...]:
    """Return a claim for each argument alone, on a rule that is not proved; its audit took `seconds`."""
    if look.traces.refused:  # code for which nothing can be proved: that is so of each argument as well
        return tuple(ArgumentClaim(n, "unproved", look.traces.refused) for n in look.rule.moving)

    def part_of(argument: str, statics: Mapping[str, Any] | None) -> UserRule:
        static = look.attempt.static if statics is None else statics
        chosen: dict[str, Any] = {"differentiable": [argument], "excluded": ()} if argument else {}
        return look.part(static=static, **chosen)

    named = look.examined.without_gradient if look.statement.differentiable is not None else ()
    return tuple(
        replace(a, cause=NONE.format(a.name)) if a.cause and a.name in named else a
        for a in rules.diagnosed(look.rule, certificate, part_of, seconds)
    )


def _right_where(look: Look, arguments: Sequence[ArgumentClaim]) -> str:
    """Return a domain in which the whole rule is proved; "" if none is found.

    The candidates are the domain in which all wrong arguments are right, if each is right somewhere, and that with
    likely properties: a square matrix is symmetric, a quaternion is a rotation.
    """
    wrong = [a for a in arguments if a.verdict not in PROOFS]
    domains = list(dict.fromkeys(a.domain for a in wrong if a.domain))
    declared = look.statement.domain
    declared_domain = (declared,) if isinstance(declared, str) and declared else tuple(declared)
    for properties in [*([()] if domains else []), *((one,) for one in rules.likely_properties(look.rule))]:
        rule = look.part(replace(look.statement, domain=(*declared_domain, *domains, *properties)))
        rule.seconds = SECONDS_AT_SIZES
        if _certificate(rule).verdict in PROOFS:
            return " and ".join([*domains, *properties])
    return ""


def helped(report: Report, look: Look) -> Report:
    """Return the report; if the rule is not proved, with a numeric check and a hint on what a solver has to declare."""
    if report.verdict not in ("unproved", "refuted"):
        return report
    return rules.pointed_to_solves(rules.checked_numerically(report, look.rule), look.traces)


def report_of(
    rule: UserRule,
    certificate: Certificate,
    surrogate: str = "",
    arguments: tuple[ArgumentClaim, ...] = (),
) -> Report:
    """Return the report for a certificate of a rule, with a script that reproduces a witness if there is one."""
    differs = any(case.witness is not None for claim in certificate.claims for case in claim.cases)
    return Report(
        certificate,
        rule.where,
        tuple(rule.undifferentiated),
        surrogate,
        arguments=arguments or tuple(ArgumentClaim(n, certificate.verdict) for n in rule.moving),
        location=f"{rule.file}:{rule.line}",
        reproduction=rules.reproduction(rule, certificate) if differs else "",
    )


def explained(
    certificate: Certificate, rule: UserRule, arguments: Sequence[ArgumentClaim], right_where: str = ""
) -> Certificate:
    """Return the certificate with longer reasons: which argument's cotangent is wrong, where, and the likely cause.

    Args:
        certificate: the certificate of the rule.
        rule: the rule; a reason names the line of the function that is wrong.
        arguments: a claim for each argument, with its cause.
        right_where: the domain in which the whole rule is proved, if there is one.
    """
    from certgrad.report.wording import LIKELY_CAUSE, OF_COTANGENT, PROVED_WHERE, SEE_LINE, symbols

    repeated = f"right where {symbols(right_where)}"  # an earlier line of the reason says it already
    wrong = [f"{OF_COTANGENT}{a.name}: {a.cause}" for a in arguments if a.cause and a.cause != repeated]
    wrong += [a.missing for a in arguments if a.missing]
    # The function of the rule that each claim is about.
    parts = {"vjp_is_adjoint": rule.vjp_rule, "rule_runs_forward": rule.fwd_rule, "jvp_is_derivative": rule.jvp_rule}

    def with_reason(claim: Claim, case: CaseClaim) -> CaseClaim:
        kind = claim.kind
        if case.verdict not in ("refuted", "unproved"):
            return case
        in_domain = right_where and case.verdict == "refuted" and kind != "rule_runs_forward"
        lines = [*([PROVED_WHERE.format(right_where)] if in_domain else []), case.reason]
        if kind != "rule_runs_forward":
            lines += wrong
        elif case.verdict == "refuted":
            lines.append(f"{LIKELY_CAUSE}: {OTHER_VALUE}")
        function = parts[kind]
        file, line = place_of(function) if function is not None else ("", 0)
        if line and case.verdict == "refuted" and not from_library(file):
            lines.append(f"{SEE_LINE}{Path(file).name}:{line}")
        return msgspec.structs.replace(case, reason="\n".join(lines))

    return with_each_case(certificate, with_reason)


def _certificate(rule: UserRule, look: Look | None = None) -> Certificate:
    if rule.unknown:
        return untraced(rule, rule.unknown)
    try:
        certificate = audit(rule, traces=look.traces if look is not None else None)
        return rules.with_properties(certificate, rule) if rule.properties else certificate
    except (TraceError, RuleError) as error:
        reason = str(error)
        if "UnexpectedTracerError" in reason:
            reason = f"A custom rule closes over a traced value; pass it as an argument. {reason}"
        if "AttributeError" in reason:
            reason += AN_OBJECT
        traced = [n for n in rule.unsaid if n in rule.dynamic]
        if traced and ("Tracer" in reason or "Non-hashable" in reason):
            reason += DEFAULTS.format(" and ".join(traced), rule.kind)
        if rule.params and "certgrad.each" not in reason:
            reason += f" If it needs the value of {' or '.join(rule.params)}, give values by certgrad.each."
        return untraced(rule, reason)
