"""The second check of certificates of rules in code: against the current code, by evaluation alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from certgrad._subject import Subject, is_op
from certgrad.errors import CertgradError
from certgrad.obligations import verify
from certgrad.obligations.auditing.heard import Heard, heard
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.conformance import NOT_COMPARED
from certgrad.obligations.generality.looks import digest_of
from certgrad.obligations.generality.traces import Spec, Trace, Traces
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.verify import Verification
from certgrad.obligations.verify.digest import case_digest
from certgrad.ops._composed import Composed
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import perhaps_audited
from certgrad.rules.judging.judged import first_look
from certgrad.rules.judging.multiples import hypotheses, multiples
from certgrad.rules.project.configuration import nearest
from certgrad.rules.subject.defaults import choices
from certgrad.rules.subject.orders import in_each_order
from certgrad.rules.subject.projections import granted
from certgrad.rules.subject.statement import Attempt, Statement
from certgrad.rules.subject.user_rule import UserRule


def verify_rule(certificate: Certificate, found: FoundRule, *, seed: str = "", draws: int = 10) -> Verification:
    """Return the second check of a certificate against the rule that was found under its name.

    The certificate does not choose the code. The rule is traced again at the shapes of its declaration, its digests are
    compared, and its claims evaluated. Then the rule is traced as an audit does at all sizes, ranks and dtypes that its
    code distinguishes ("heard"), and the traces are compared with what runs.

    Args:
        certificate: the certificate to check.
        found: the rule in code.
        seed: chooses the points at which claims are evaluated.
        draws: how many points are drawn for each claim.
    """

    def not_checked(why: str) -> Verification:
        return Verification(op=certificate.op, outcome="not checked", problems=(why,))

    if found.problem:
        return not_checked(found.problem)
    if is_op(found.rule):
        named = named_as_found(found)
        return _verified(certificate, named, [named], seed, draws)
    table = nearest(Path.cwd()).declarations
    if certificate.sizes:
        return not_checked("it was proved at sizes alone, which this check does not look at")
    tried: list[Verification] = []
    try:
        for declared in perhaps_audited(found, table):
            if declared.approximates is not None:
                return not_checked("its derivative is that of another function, which this check does not look at")
            rule = as_audited(found, declared, certificate)
            if isinstance(rule, str):
                return Verification(op=certificate.op, outcome="failed", problems=(rule,))
            tried.append(_verified(certificate, rule.whole, rule.parts, seed, draws))
            if tried[-1].outcome != "failed":  # else the certificate may be about another declaration
                return tried[-1]
    except CertgradError as error:
        return not_checked(str(error))
    return tried[0]


def _verified(
    certificate: Certificate, subject: Subject, parts: Sequence[Subject], seed: str, draws: int
) -> Verification:
    """Return the check of a subject's digests and claims; if it succeeds, that of each part's traces at all sizes.

    The parts are the rules that were audited alone, of which `subject` has all cases.
    """
    traces = Traces(subject)

    def traced(k: int) -> dict[str, Any]:
        return {digest: programs for programs, digest in traced_case(traces, k) if not isinstance(programs, Exception)}

    @cache
    def hearing() -> list[Heard]:
        return heard_of(certificate, parts)

    def one_program() -> bool:
        return not any(isinstance(part, Composed) for part in parts) and not any(h.apart for h in hearing())

    evaluated = verify.verify(certificate, subject, seed=seed, draws=draws, traced=traced, one_program=one_program)
    if evaluated.outcome != "verified" or not (problems := unlike_what_was_audited(certificate, parts, hearing)):
        return evaluated
    return Verification(op=certificate.op, outcome="failed", problems=tuple(problems))


def traced_case(traces: Traces, k: int) -> Iterator[tuple[Programs | CertgradError, str]]:
    """Yield the programs of case `k` in 64 bits and then in 32, each with its digest.

    In place of programs that do not trace an error is yielded, with "".
    """
    op = traces.op
    for wide in (True, False):
        trace = traces.make(Spec(k, 0, (), wide))
        if not isinstance(trace, Trace):
            yield trace, ""
            continue
        programs = traces.apart(trace.instance, trace.programs)
        yield programs, case_digest(op, op.cases[k], {n: (p.jaxpr, p.consts) for n, p in programs.all().items()})


def heard_of(certificate: Certificate, parts: Sequence[Subject]) -> list[Heard]:
    """Return for each part what its code asks of sizes, ranks and dtypes; composed ops are left out.

    Traces are compared with what runs if they were for the certificate.
    """
    compared = not any(NOT_COMPARED in claim.measured for claim in certificate.claims)
    heard_parts = []
    for part in parts:
        if not isinstance(part, Composed):
            subject = copy(part)
            subject.conformance = compared
            heard_parts.append(heard(Traces(subject), certificate.claims))
    return heard_parts


def unlike_what_was_audited(
    certificate: Certificate, parts: Sequence[Subject], hearing: Callable[[], list[Heard]] | None = None
) -> list[str]:
    """Return in words how the code differs from what was proved; nothing if it does not.

    The certificate is about each of the parts, and about their traces at all sizes, ranks and dtypes that their code
    distinguishes. `hearing` returns what `heard_of` would, if that was computed already.
    """
    for part in parts:
        if isinstance(part, Composed):
            return list(dict.fromkeys(_unsaid(certificate, part)))
    heard = heard_of(certificate, parts) if hearing is None else hearing()
    if problems := list(dict.fromkeys(text for h in heard for text in h.problems)):
        return problems
    digests = [h.digest for h in heard]
    if certificate.digest != (digests[0] if len(digests) == 1 else digest_of(digests)):
        at = "; ".join(dict.fromkeys(text for h in heard for text in h.apart))
        where = f"sizes or ranks ({at})" if at else "sizes or ranks"
        return [f"at some {where} the code traces to other programs than those that were proved"]
    scopes = [scope for h in heard for scope in h.scopes]
    for claim in certificate.claims:
        for case, scope in zip(claim.cases, scopes, strict=False):
            if case.scope != scope:
                return [f"{claim.id} is claimed for {case.scope}, and the code can be claimed for {scope}"]
    return []


def named_as_found(found: FoundRule) -> Subject:
    """Return a copy of the op that was found, with the name under which it was found."""
    named = copy(found.rule)
    named.name = found.name
    return named


def _unsaid(certificate: Certificate, op: Composed) -> Iterator[str]:
    """Yield in words what a composed op's program asks of sizes, or keeps, and the certificate does not list."""
    from certgrad.accel.verify import unsaid
    from certgrad.graph.certifying.composed import graph_of

    dimensions = {h.text for claim in certificate.claims for h in claim.hypotheses}
    notes = {text for claim in certificate.claims for text in claim.idealisations}
    for case in op.cases:
        yield from unsaid(graph_of(op, case), dimensions, notes)


@dataclass(frozen=True)
class AsAudited:
    """A rule with all its cases, and the rules that were audited alone: at its defaults, then at other options."""

    whole: UserRule
    parts: Sequence[UserRule]


def as_audited(found: FoundRule, declared: Declaration, certificate: Certificate) -> AsAudited | str:
    """Return the rule as `check` audits it; a text if the certificate does not list a hypothesis that it has to.

    The audit leaves out arguments without a gradient, takes cases by the order of sizes or multiples of sizes if the
    rule traces only so, and adds the cases at other values of options that are in the certificate.
    """
    statement = Statement(found.rule, declared.signature, declared.differentiable, declared.domain, name=found.name)

    def rule_of(part: Statement, **more: Any) -> UserRule:
        return first_look(part, Attempt(**{"static": declared.static, **more})).rule

    rule = rule_of(statement)
    traced = [(case.signature, dict(case.statics)) for case in certificate.traced]
    traces = Traces(rule)
    ordered = in_each_order(rule, traces)
    if ordered is not None and {str(c.signature) for c in ordered.cases} == {signature for signature, _ in traced}:
        rule = ordered
    elif dividing := multiples(rule, lambda chosen: rule_of(statement, multiples=chosen), traces):
        for needed in hypotheses(rule, dividing):
            if any(needed.tree not in {h.tree for h in claim.hypotheses} for claim in certificate.claims):
                return f"the rule traces only where {needed.text}, which the certificate does not list"
        rule = rule_of(statement, multiples=dividing)
    for needed in granted(rule).values():
        if any(needed.tree not in {h.tree for h in claim.hypotheses} for claim in certificate.claims):
            return f"the rule is audited only where {needed.text}, which the certificate does not list"
    whole, parts = copy(rule), [rule]
    # If the certificate has more cases than the rule at its defaults, they are at other values of options.
    for name, value in choices(rule) if len(traced) > len(whole.cases) else ():
        with suppress(CertgradError):
            at_option = rule_of(statement.of_inputs, static={**declared.static, name: value})
            if all((str(c.signature), {k: str(v) for k, v in c.statics.items()}) in traced for c in at_option.cases):
                whole.cases = (*whole.cases, *at_option.cases)
                parts.append(at_option)
    return AsAudited(whole, parts)
