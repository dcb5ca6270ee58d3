"""One attempt at a rule, judged: its certificate, and of what is wrong which argument, where and why."""

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
"""Seconds of the audit of a surrogate's derivative, which the author says is another one."""
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
    """A rule as it is audited in one attempt, once its function was traced."""

    statement: Statement
    attempt: Attempt
    """Without the arguments that have no gradient, unless the author names them."""
    rule: UserRule
    examined: Examined
    traces: Traces
    """Those of its audit; after it they say at which sizes something else was seen."""

    def part(self, statement: Statement | None = None, **changes: Any) -> UserRule:
        """Return the rule of an attempt at another part, with what was seen of its outputs."""
        found = (statement or self.statement).rule(replace(self.attempt, **changes))
        apply_examination(found, self.examined)
        return found

    def under(self, conditions: Sequence[str]) -> Look:
        """Return the same attempt under conditions that the author does not declare."""
        attempt = replace(self.attempt, assumed=tuple(conditions))
        rule = self.statement.rule(attempt)
        return replace(self, attempt=attempt, rule=rule, traces=apply_examination(rule, self.examined))


def first_look(statement: Statement, attempt: Attempt) -> Look:
    """Return the rule of an attempt, its mode and outputs, and the arguments that get no gradient.

    Raises SignatureError: the function returns other shapes than its signature says.
    """
    rule = statement.rule(attempt)
    found = examine(rule)
    # What the author names has a gradient: JAX takes `None` for zeros, and so does the claim.
    if found.without_gradient and statement.differentiable is None:
        attempt = replace(attempt, excluded=found.without_gradient)
        rule = statement.rule(attempt)
    return Look(statement, attempt, rule, found, apply_examination(rule, found))


def claims_of(look: Look) -> tuple[Certificate, str]:
    """Return the certificate of an attempt, on derivative and values; and what the rule approximates, in words."""
    rule, found = look.rule, look.examined
    certificate = untraced(rule, f"an output is of {found.strange}") if found.strange else _certificate(rule, look)
    approximates = ""
    if rule.ideal is not None:
        value = look.part(part="value")
        approximates = rules.approximation(value, rule)
        of_value = _of_value(value, rule)
        others = dict.fromkeys(i.said for i in rule.ideals if i.met)
        certificate = rules.with_value(certificate, [approximates, *others], of_value)
    if found.integers and not found.strange:
        certificate = rules.with_integers(certificate, _certificate(look.part(part="integers")))
    return certificate, approximates


def judged(look: Look) -> Report:
    """Return the report on an attempt: its certificate, and if it is wrong, of which argument, where and why."""
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
    """Return the report of an attempt with a certificate, and a claim for each argument if they were told apart."""
    if look.attempt.excluded:
        certificate = sealed(msgspec.structs.replace(certificate, without_gradient=list(look.attempt.excluded)))
    report = report_of(look.rule, certificate, look.statement.surrogate, arguments)
    return replace(report, only_compared=look.examined.only_compared)


def plainly(look: Look) -> Certificate:
    """Return the certificate of an attempt, without what explains it."""
    look.rule.seconds = SECONDS_AT_SIZES
    if look.examined.strange:
        return untraced(look.rule, f"an output is of {look.examined.strange}")
    return _certificate(look.rule, look)


def _of_value(value: UserRule, rule: UserRule) -> Certificate:
    """Return the claim on the value of a function that approximates another; its rule may approximate the same."""
    found = _certificate(value)
    if found.verdict in PROOFS or any(plainly_refuted(c.witness) for claim in found.claims for c in claim.cases):
        return found
    value.ideals, before = rule.ideals, budget.cut_short
    read = _certificate(value)
    if read.verdict in PROOFS:
        return rules.read_as_ideal(read)
    # Other values than those of the function as it runs are no mistake, as far as they may be those of the ideals.
    return read if read.verdict == "unproved" and budget.cut_short > before else found


def _argument_claims(look: Look, certificate: Certificate, seconds: float) -> tuple[ArgumentClaim, ...]:
    """Return a claim for each argument alone, where not all is proved; the verdict took so many seconds."""
    if look.traces.refused:  # whatever is asked of the code: an argument alone is refused as well
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

    Tried is where all its wrong arguments are right, if each is right somewhere, and where a square matrix is symmetric
    or a quaternion a rotation.
    """
    wrong = [a for a in arguments if a.verdict not in PROOFS]
    domains = list(dict.fromkeys(a.domain for a in wrong if a.domain))
    said = look.statement.domain
    own = (said,) if isinstance(said, str) and said else tuple(said)
    for more in [*([()] if domains else []), *((one,) for one in rules.likely_properties(look.rule))]:
        rule = look.part(replace(look.statement, domain=(*own, *domains, *more)))
        rule.seconds = SECONDS_AT_SIZES
        if _certificate(rule).verdict in PROOFS:
            return " and ".join([*domains, *more])
    return ""


def helped(report: Report, look: Look) -> Report:
    """Return the report; where the rule is not proved, with what a numeric check says, and with what a solver lacks."""
    if report.verdict not in ("unproved", "refuted"):
        return report
    return rules.pointed_to_solves(rules.checked_numerically(report, look.rule), look.traces)


def report_of(
    rule: UserRule,
    certificate: Certificate,
    surrogate: str = "",
    arguments: tuple[ArgumentClaim, ...] = (),
) -> Report:
    """Return the report that a certificate of a rule makes."""
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
    """Return the certificate with reasons that say which argument's cotangent is wrong, where, and what the
    likely cause is.

    Args:
        certificate: that of the rule.
        rule: the rule, whose parts have a place in code.
        arguments: a claim for each argument, with its cause.
        right_where: the domain in which the whole rule is proved, if there is one.
    """
    from certgrad.report.wording import LIKELY_CAUSE, OF_COTANGENT, PROVED_WHERE, SEE_LINE, symbols

    repeated = f"right where {symbols(right_where)}"  # which the line before says already
    wrong = [f"{OF_COTANGENT}{a.name}: {a.cause}" for a in arguments if a.cause and a.cause != repeated]
    wrong += [a.missing for a in arguments if a.missing]
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
        found = audit(rule, traces=look.traces if look is not None else None)
        return rules.with_properties(found, rule) if rule.properties else found
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
