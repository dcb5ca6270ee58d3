"""The second check of certificates of rules in code: against the code that is there now, by evaluation alone."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from pathlib import Path

from certgrad._subject import Subject, is_op
from certgrad.errors import CertgradError
from certgrad.obligations import verify
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.generality.traces import Spec, Trace, Traces
from certgrad.obligations.verify import Verification
from certgrad.obligations.verify.digest import case_digest

from ._by_name import declarations_of
from ._choices import choices
from ._configuration import nearest
from ._declaration import Declaration
from ._examine import examine, settled
from ._find import Found
from ._multiples import asked, multiples
from ._user_rule import UserRule


def verify_rule(certificate: Certificate, found: Found, *, seed: str = "", draws: int = 10) -> Verification:
    """Check a certificate against a rule that was found under its name. What the certificate says chooses no code.

    The rule is traced again at the shapes that its declaration gives, its digests compared, and its claims evaluated.
    """

    def not_checked(why: str) -> Verification:
        return Verification(op=certificate.op, outcome="not checked", problems=(why,))

    if found.problem:
        return not_checked(found.problem)
    if is_op(found.rule):
        named = named_as_found(found)
        return _verified(certificate, named, seed, draws)
    table = nearest(Path.cwd()).declarations
    if certificate.sizes:
        return not_checked("it was proved at sizes alone, which this check does not look at")
    tried: list[Verification] = []
    try:
        for declared in declarations_of(found, table):
            if declared.approximates is not None:
                return not_checked("its derivative is that of another function, which this check does not look at")
            rule = as_audited(found, declared, certificate)
            if isinstance(rule, str):
                return Verification(op=certificate.op, outcome="failed", problems=(rule,))
            tried.append(_verified(certificate, rule, seed, draws))
            if tried[-1].outcome != "failed":
                return tried[-1]
    except CertgradError as error:
        return not_checked(str(error))
    return tried[0]


def _verified(certificate: Certificate, subject: Subject, seed: str, draws: int) -> Verification:
    traces = Traces(subject)

    def digests(k: int) -> list[str]:
        made = [traces.make(Spec(k, 0, (), wide)) for wide in (True, False)]
        return [
            case_digest(subject, subject.cases[k], {n: (p.jaxpr, p.consts) for n, p in one.programs.all().items()})
            for one in made
            if isinstance(one, Trace)
        ]

    return verify.verify(certificate, subject, seed=seed, draws=draws, digests=digests)


def named_as_found(found: Found) -> Subject:
    """The op that was found, under the name that it was found by."""
    named = copy(found.rule)
    named.name = found.name
    return named


def as_audited(found: Found, declared: Declaration, certificate: Certificate) -> UserRule | str:
    """The rule as `check` sees it: without the arguments that have no gradient, with the values of options that were
    looked at, at the sizes at which it traces; or what the certificate ought to list and does not.
    """
    options = {k: v for k, v in declared.options.items() if k in ("static", "differentiable", "domain")}

    def made(signature: object, **more: object) -> UserRule:
        rule = UserRule(found.rule, signature, name=found.name, **{**options, **more})  # type: ignore[arg-type]
        seen = examine(rule)
        if seen.without_gradient and declared.differentiable is None:
            excluded = {**options, **more, "excluded": seen.without_gradient}
            rule = UserRule(found.rule, signature, name=found.name, **excluded)  # type: ignore[arg-type]
        settled(rule, seen)
        return rule

    rule = made(declared.signature)
    dividing = multiples(rule, lambda chosen: made(declared.signature, multiples=chosen))
    if dividing:
        needed = set(asked(rule, dividing))
        if any(needed - {h.tree for h in claim.hypotheses} for claim in certificate.claims):
            return "it does not list that sizes divide, where alone the rule traces"
        rule = made(declared.signature, multiples=dividing)
    traced = [(one.signature, dict(one.statics)) for one in certificate.traced]
    inputs = declared.signature
    inputs = inputs.partition("->")[0] if isinstance(inputs, str) else inputs
    for name, value in choices(rule) if len(traced) > len(rule.cases) else ():
        with suppress(CertgradError):
            other = made(inputs, static={**declared.static, name: value})
            if all((str(c.signature), {k: str(v) for k, v in c.statics.items()}) in traced for c in other.cases):
                rule.cases = (*rule.cases, *other.cases)
    return rule
