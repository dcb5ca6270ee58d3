"""`certgrad.check`: prove the derivative rule of one function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from certgrad import rules
from certgrad.errors import CertgradError, RuleError, TraceError, UsageError
from certgrad.obligations.auditing.attempts import plainly_refuted
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.untraced import untraced
from certgrad.obligations.certificate import (
    AT_SIZES,
    ORDER,
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    sealed,
    worst,
)
from certgrad.obligations.tracing.jax_internals import Program, from_library

from ._choices import at_choices
from ._examine import Examined, examine, settled
from ._layers import place_of
from ._report import OTHER_VALUE, PROVED_WHERE, ArgumentClaim, Report
from ._standing import LEFT_OUT, of_defaults, standing
from ._user_rule import UserRule

if TYPE_CHECKING:
    from ._approximation import Declared
    from ._at_sizes import Sizes
    from ._fails import Failure
    from ._multiples import Multiples

SURROGATE_SECONDS = 10.0
SECONDS_AT_SIZES = 10.0
"""For a proof at numbers, or in a smaller domain."""
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
OF_BOTH = "the rule computes its value otherwise than the function: both are read as what they approximate"


def check(
    function: Callable,
    signature: str | Sequence[Any],
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] = (),
    surrogate: str = "",
    approximates: Callable | str | None = None,
    name: str = "",
    conformance: bool = True,
    sizes: Sizes | Sequence[Sizes] | None = (),
    elsewhere: Sequence[Declared] = (),
    order: int = 1,
) -> Report:
    """Prove the derivative rule of a function for all shapes that fit the signature.

    For a `jax.custom_vjp`: the primal of its `fwd` is the function, and its cotangents are the adjoint of the
    function's derivative. For a `jax.custom_jvp`: its tangents are the derivative, and JAX's transposition of them is
    the adjoint. For any other function: the same of the derivatives that JAX makes.

    Args:
        function: the function, also under `jit` or `partial`.
        signature: the shapes of its array arguments and outputs: `"n d, d -> n d"`; `*s` is any number of axes,
            `:int` and `:bool` mark arrays that have no tangent; `{w: d m, b: m}`, `(n, m)` and `None` are arguments
            that hold several arrays or none. Or a tuple of the arguments, each any structure of such texts.
        static: its other arguments, by name: a value, `certgrad.each(…)` of several, of which each is proved and every
            combination where several arguments have several, or `certgrad.real("c > 0")` for every such number.
        differentiable: the arguments that the claim is about; all float arrays if None. The array `w` in the argument
            `params` is called `params_w`. A rule that returns `None` for an argument that is named here claims that
            its derivative is 0; for one that is not, it has no gradient, and the verdict says so.
        domain: hypotheses on the arguments (`"x > 0"`), which the proof may use and then lists.
        surrogate: the reason, if the rule deliberately is not the derivative.
        approximates: the function that the rule is the derivative of, if `function` computes only an approximation of
            it: a function of the same arrays, or its name as `"jax.numpy:exp"`. The derivative is then claimed of that
            one and the value of `function`; their distance is measured at drawn points and not proved.
        name: what the report calls it; the function's own name if empty.
        conformance: compare the traced programs with traces at numbers and with calls, which can take a proof away. If
            not, the claim says so.
        sizes: where the rule is not proved for all sizes, it is tried at small ones, and first at these
            (`{"n": 128, "d": 64}`, or several such); what is proved there is `proved at sizes`, which is no proof for
            all. None: it is not tried.
        elsewhere: other functions that the rule calls, each with the declaration of what it approximates, where that
            stands in a configuration and not on the function. They are read so where `approximates` is given.
        order: 2 looks at the rule of the rule as well: that the derivative which JAX makes of the cotangents, as second
            derivatives run it, is their derivative. The report's `second` says what came of it.

    Returns a report; a wrong rule is a verdict in it and never an exception.

    Raises:
        SignatureError, UsageError, DomainError: the declaration does not fit the function.
    """

    if order not in (1, 2):
        raise UsageError(f"`order` is 1 or 2, and not {order!r}.")
    if surrogate and approximates is not None:
        raise UsageError(
            "`surrogate` says that a rule is no derivative, and `approximates` of what it is one: say one."
        )

    def alone(signature: str | Sequence[Any], static: Mapping[str, Any] | None, at: Sizes | None = None) -> _Rule:
        return _Rule(
            function, signature, static, differentiable, domain, approximates, name, conformance, elsewhere, at
        )

    whole = alone(signature, static)
    stands = standing(whole.made())
    if stands is not None:
        function, whole = stands, replace(whole, function=stands)
    report = _looked_at(whole, surrogate, sizes)
    if stands is not None and report.verdict != "unproved":
        report = replace(report, left_out=(*report.left_out, LEFT_OUT.format(" and ".join(of_defaults(whole.made())))))
    if surrogate or report.verdict not in (*PROOFS, AT_SIZES):
        return report
    # Of the shapes of outputs the author speaks at the defaults alone.
    inputs = signature.partition("->")[0] if isinstance(signature, str) else signature

    def at_value(chosen: Mapping[str, Any]) -> Report | str | None:
        other = alone(inputs, {**(static or {}), **chosen})
        try:
            here = rules.first_sizes(other.made())
            if rules.runs(alone(inputs, static, here).made()) and not rules.runs(replace(other, at=here).made()):
                return None
            return _looked_at(other, "", sizes)
        except CertgradError as error:
            return str(error)

    report = at_choices(report, whole.made(), at_value)
    return report if order == 1 or report.verdict not in (*PROOFS, AT_SIZES) else _with_second(report, whole, sizes)


def _with_second(report: Report, said: _Rule, sizes: Sizes | Sequence[Sizes] | None) -> Report:
    """The report with that on the cotangents as a function of their own: the worst, where there are several cases."""
    module, mark, own = report.name.rpartition(":")
    name = f"{module}{mark}gradient of {own}"
    found = [
        check(
            f, shapes, differentiable=moving, domain=said.domain, name=name, conformance=said.conformance, sizes=sizes
        )
        for f, shapes, moving in rules.gradients_of(_examined(said))
    ]
    return replace(report, second=max(found, key=lambda one: ORDER.index(one.verdict)))


@dataclass(frozen=True)
class _Rule:
    """What the author says of a rule."""

    function: Callable
    signature: str | Sequence[Any]
    static: Mapping[str, Any] | None
    differentiable: Sequence[str] | None
    domain: str | Sequence[str]
    approximates: Callable | str | None
    name: str
    conformance: bool
    elsewhere: Sequence[Declared] = ()
    """Other functions that approximate one, and are declared by name."""
    at: Sizes | None = None
    """Numbers for the sizes that the signature leaves open."""
    multiples: Multiples = field(default_factory=dict)
    """Sizes that are multiples of numbers, or of each other."""

    def made(
        self,
        excluded: Sequence[str] = (),
        only: Sequence[str] | None = None,
        statics: Mapping[str, Any] | None = None,
        integers: bool = False,
        value_only: bool = False,
    ) -> UserRule:
        """The rule as the audit sees it, or a part of what is claimed of it."""
        found = UserRule(
            self.function,
            self.signature,
            static=self.static if statics is None else statics,
            differentiable=self.differentiable if only is None else only,
            domain=self.domain,
            name=self.name,
            excluded=excluded,
            integers=integers,
            ideal=None if integers or value_only else self.approximates,
            value_only=value_only,
            conformance=self.conformance,
            at=self.at,
            multiples=self.multiples,
        )
        if found.ideal is not None:
            found.ideals = rules.ideals_of(found, self.elsewhere)
        if self.at is not None:
            found.seconds = SECONDS_AT_SIZES
        return found


def _looked_at(said: _Rule, surrogate: str, sizes: Sizes | Sequence[Sizes] | None) -> Report:
    """The report with sizes left open, and where that is unproved at numbers."""

    def at_numbers(one: Sizes) -> Report | None:
        there = replace(said, at=one)
        rule = there.made()
        if not rules.traces(rule):
            found = rules.failure(rule)
            return None if found is None else _failed(rule, found)
        return _checked(there, surrogate)[0]

    def forward(one: Sizes) -> Program | None:
        return rules.forward_of(replace(said, at=one).made())

    rule = said.made()
    given = rules.read_sizes(sizes, rule) if sizes else []
    try:
        report, differs_at = _checked(said, surrogate)
        if surrogate:
            return report
        if report.verdict == "unproved":
            chosen = rules.multiples(rule, lambda m: replace(said, multiples=m).made())
            there = _where_sizes_divide(replace(said, multiples=chosen), rule, surrogate) if chosen else None
            if there is not None:
                return there
        if report.verdict == "unproved" and sizes is not None and differs_at is not None:
            report = rules.at_sizes(report, rule, differs_at, given, at_numbers, forward)
            if report.verdict == "refuted" and report.witness is None:
                report = replace(report, certificate=explained(report.certificate, rule, report.arguments))
        return _helped(report, said)
    except SystemExit as error:
        return _report(rule, untraced(rule, f"the rule ends the program: sys.exit({error.code!r})"), surrogate)


def _where_sizes_divide(there: _Rule, rule: UserRule, surrogate: str) -> Report | None:
    """The report of the rule at sizes that are multiples, if it decides something; which are is listed."""
    report, _ = _checked(there, surrogate)
    if report.verdict not in PROOFS:
        return _helped(report, there) if report.verdict == "refuted" else None
    certificate = rules.listed(report.certificate, rule, there.multiples)
    arguments = tuple(replace(a, verdict=certificate.verdict) for a in report.arguments)
    return replace(report, certificate=certificate, arguments=arguments)


def _helped(report: Report, said: _Rule) -> Report:
    """The report; where the rule is not proved, with what a numeric check says, and with what a solver lacks."""
    if report.verdict not in ("unproved", "refuted"):
        return report
    rule = _examined(said)
    return rules.pointed_to_solves(rules.checked_numerically(report, rule), rule)


def _examined(said: _Rule) -> UserRule:
    """The rule without the arguments that have no gradient."""
    rule = said.made()
    found = examine(rule)
    if found.without_gradient and said.differentiable is None:
        rule = said.made(found.without_gradient)
    settled(rule, found)
    return rule


def _checked(said: _Rule, surrogate: str) -> tuple[Report, Sequence[Sizes] | None]:
    """The report, and sizes at which something else was seen than what was proved; None where it is so at any."""
    started = time.process_time()
    rule, named = said.made(), said.differentiable is not None
    found = examine(rule)
    zeros = found.without_gradient if named else ()
    if named:  # what the author names has a gradient: JAX takes `None` for zeros, and so does the claim
        found = replace(found, without_gradient=())
    if found.without_gradient:
        rule = said.made(found.without_gradient)
    settled(rule, found)
    if surrogate:  # whether it is the derivative after all is of little interest
        rule.seconds = SURROGATE_SECONDS
    certificate = untraced(rule, f"an output is of {found.strange}") if found.strange else _certificate(rule)
    approximates = ""
    if rule.ideal is not None:
        value = said.made(found.without_gradient, value_only=True)
        settled(value, found)
        approximates = rules.approximation(value, rule)
        of_value = _certificate(value)
        if of_value.verdict not in PROOFS and not _plainly_wrong(of_value):  # it may approximate the same
            value.ideals = rule.ideals
            read = _certificate(value)
            of_value = _read_as_ideal(read) if read.verdict in PROOFS else of_value
        others = dict.fromkeys(i.said for i in rule.ideals if i.met)
        certificate = _with_value(certificate, [approximates, *others], of_value)
    if found.integers and not found.strange:
        certificate = _with_integers(certificate, _certificate(said.made(found.without_gradient, integers=True)))
    arguments: tuple[ArgumentClaim, ...] = ()
    right_where = ""
    if certificate.verdict in ("refuted", "unproved") and not surrogate:

        def alone(argument: str, statics: Mapping[str, Any] | None) -> UserRule:
            chosen = {"only": [argument]} if argument else {"excluded": found.without_gradient}
            one = said.made(**chosen, statics=statics)
            settled(one, found)
            return one

        arguments = tuple(
            replace(a, cause=NONE.format(a.name)) if a.cause and a.name in zeros else a
            for a in rules.diagnosed(rule, certificate, alone, time.process_time() - started)
        )
        right_where = _right_where(said, found, arguments) if certificate.verdict == "refuted" else ""
        certificate = explained(certificate, rule, arguments, right_where)
    if surrogate:
        certificate = _as_surrogate(certificate, surrogate)
    if found.without_gradient:
        certificate = sealed(msgspec.structs.replace(certificate, without_gradient=list(found.without_gradient)))
    report = _report(rule, certificate, surrogate, arguments)
    return replace(
        report, approximates=approximates, right_where=right_where
    ), None if rule.differs_anywhere else rule.differs_at


def _right_where(said: _Rule, found: Examined, arguments: Sequence[ArgumentClaim]) -> str:
    """The domain in which the whole rule is proved: where those of its arguments are right that are so somewhere."""
    wrong = [a for a in arguments if a.verdict not in PROOFS]
    domains = list(dict.fromkeys(a.domain for a in wrong if a.domain))
    if not domains:
        return ""
    own = (said.domain,) if isinstance(said.domain, str) and said.domain else tuple(said.domain)
    rule = replace(said, domain=(*own, *domains)).made(found.without_gradient)
    settled(rule, found)
    rule.seconds = SECONDS_AT_SIZES
    return " and ".join(domains) if _certificate(rule).verdict in PROOFS else ""


def _failed(rule: UserRule, found: Failure) -> Report:
    report = _report(rule, rules.refuted(rule, found), "")
    return replace(report, reproduction=rules.of_failure(rule, found))


def _report(
    rule: UserRule,
    certificate: Certificate,
    surrogate: str,
    arguments: tuple[ArgumentClaim, ...] = (),
) -> Report:
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
    """With reasons that say which argument's cotangent is wrong, where, and what the likely cause is."""
    wrong = [f"likely cause in the cotangent of {a.name}: {a.cause}" for a in arguments if a.cause]
    wrong += [a.missing for a in arguments if a.missing]
    if right_where:
        wrong.append(PROVED_WHERE.format(right_where))
    places = {"vjp_is_adjoint": rule.vjp_rule, "rule_runs_forward": rule.fwd_rule, "jvp_is_derivative": rule.jvp_rule}

    def reason(kind: str, case: CaseClaim) -> str:
        if case.verdict not in ("refuted", "unproved"):
            return case.reason
        lines = [case.reason]
        if kind != "rule_runs_forward":
            lines += wrong
        elif case.verdict == "refuted":
            lines.append(f"likely cause: {OTHER_VALUE}")
        at = places[kind]
        file, line = place_of(at) if at is not None else ("", 0)
        if line and case.verdict == "refuted" and not from_library(file):
            lines.append(f"see {Path(file).name}:{line}")
        return "\n".join(lines)

    claims = [
        msgspec.structs.replace(
            claim, cases=[msgspec.structs.replace(c, reason=reason(claim.kind, c)) for c in claim.cases]
        )
        for claim in certificate.claims
    ]
    return sealed(msgspec.structs.replace(certificate, claims=claims))


def _plainly_wrong(certificate: Certificate) -> bool:
    """It is refuted by more than approximations differ."""
    return any(plainly_refuted(case.witness) for claim in certificate.claims for case in claim.cases)


def _read_as_ideal(certificate: Certificate) -> Certificate:
    """The claim of a rule's value, which is proved of what both it and the function approximate."""
    claims = [msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, OF_BOTH])) for c in certificate.claims]
    return sealed(msgspec.structs.replace(certificate, claims=claims))


def _with_value(certificate: Certificate, approximates: Sequence[str], value: Certificate) -> Certificate:
    """The claims about an ideal function's derivative, and that about the value of the function which runs."""
    about = "jvp_is_derivative" if any(c.kind == "jvp_is_derivative" for c in certificate.claims) else "vjp_is_adjoint"
    claims = [
        msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, *approximates])) if c.kind == about else c
        for c in certificate.claims
    ]
    claims += value.claims
    return sealed(
        msgspec.structs.replace(
            certificate,
            claims=claims,
            verdict=worst([c.verdict for c in claims]),
            **rules.rests_on([certificate, value]),
        )
    )


def _with_integers(certificate: Certificate, integers: Certificate) -> Certificate:
    """With what is found of the values of integer outputs, which have no derivative: the fwd must return them too."""
    (other,) = integers.claims

    def joined(claim: Claim) -> Claim:
        if claim.kind != other.kind:
            return claim
        worse = ORDER.index(other.verdict) > ORDER.index(claim.verdict)
        reasons = {c.reason: msgspec.structs.replace(c, reason=f"an integer output: {c.reason}") for c in other.cases}
        known = {h.tree for h in claim.hypotheses}
        hypotheses = [*claim.hypotheses, *(h for h in other.hypotheses if h.tree not in known)]
        if not worse:
            return msgspec.structs.replace(claim, hypotheses=hypotheses)
        cases = list(reasons.values()) if other.verdict in ("refuted", "unproved") else other.cases
        return msgspec.structs.replace(claim, hypotheses=hypotheses, verdict=other.verdict, cases=cases)

    claims = [joined(c) for c in certificate.claims]
    return sealed(msgspec.structs.replace(certificate, claims=claims, verdict=worst([c.verdict for c in claims])))


def _as_surrogate(certificate: Certificate, reason: str) -> Certificate:
    """With the author's reason in place of findings about the derivative; the forward's value is claimed as ever.

    The claim that compares the rule with the derivative is of no interest to the author, so it need not be decided;
    that JAX's transposition of a JVP is its adjoint must be proved all the same.
    """
    kinds = [claim.kind for claim in certificate.claims]
    about_derivative = "jvp_is_derivative" if "jvp_is_derivative" in kinds else "vjp_is_adjoint"

    def turned(claim: Claim) -> Claim:
        undecided = ("refuted", "unproved") if claim.kind == about_derivative else ("refuted",)
        if claim.kind == "rule_runs_forward" or claim.verdict not in undecided:
            return claim
        cases = [
            msgspec.structs.replace(c, verdict="surrogate", reason=f"declared: {reason}")
            if c.verdict in undecided
            else c
            for c in claim.cases
        ]
        return msgspec.structs.replace(claim, verdict=worst([c.verdict for c in cases]), cases=cases)

    claims = [turned(c) for c in certificate.claims]
    return sealed(msgspec.structs.replace(certificate, claims=claims, verdict=worst([c.verdict for c in claims])))


def _certificate(rule: UserRule) -> Certificate:
    if rule.unknown:
        return untraced(rule, rule.unknown)
    try:
        return audit(rule)
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
