"""The audit of one primitive or function of JAX: each of its configurations as a rule, in one certificate.

For each configuration the forward is the program as it runs, the JVP is `jax.jvp` of it and the VJP is `jax.vjp` of it,
so that what is proved is JAX's own rule and its own transposition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import msgspec
import numpy as np

import certgrad
from certgrad._subject import OF_RULES, Rules
from certgrad.errors import CertgradError
from certgrad.obligations.auditing.audit import audit as audited
from certgrad.obligations.cache import Cache
from certgrad.obligations.certificate import (
    CODES,
    FORMAT,
    KERNEL,
    CaseClaim,
    Certificate,
    Claim,
    Convention,
    VerdictName,
    each_once,
    sealed,
    worst,
)
from certgrad.obligations.generality.instances import family
from certgrad.obligations.meaning.semantics._registry import REFUSED
from certgrad.obligations.prove.problem import Shapes, trace_rules
from certgrad.obligations.tracing.jax_internals import primitives_of, versions, wide_floats
from certgrad.rules.subject.user_rule import UserRule

from ._configuration import Configuration
from ._enumerate import CUSTOM, PRIMITIVE, Subject, subjects
from .configurations import CONFIGURATIONS

STEPS = 80_000
"""The steps that one proof may take. Rules that are proved take far fewer; a rule that no form fits would take all."""
NO_CONFIGURATION = "no configuration is declared for it"
NOT_RUN = "no program of this configuration runs it"


def names() -> list[str]:
    """Return the names of what an audit of JAX has a verdict on, in the order of its report."""
    return [s.name for s in subjects() if not s.without]


def declared(name: str) -> list[Configuration]:
    """Return the configurations of a primitive or function."""
    return [c for c in CONFIGURATIONS if c.subject == name]


def audit(name: str, cache: Cache | None = None) -> Certificate:
    """Return the certificate of a primitive or function: its verdict is the worst of its configurations'."""
    subject = next(s for s in subjects() if s.name == name)
    return audit_configurations(subject, declared(name), cache)


def audit_configurations(
    subject: Subject, configurations: Sequence[Configuration], cache: Cache | None = None
) -> Certificate:
    """Return the certificate of a subject with the configurations that are given."""
    if not configurations:
        return _merged_certificate(
            subject, [(None, _unproved(subject.name, REFUSED.get(subject.name, NO_CONFIGURATION)))]
        )
    if subject.kind == CUSTOM and not any(_runs(subject, c) for c in configurations):
        return _merged_certificate(subject, [(None, _unproved(subject.name, NOT_RUN))])
    return _merged_certificate(subject, [(c, _certificate_at(subject, c, cache)) for c in configurations])


class JaxRule(UserRule):
    """A program that runs a rule of JAX: what JAX's own code asks of dimensions is not trusted."""

    suspects_library = True
    steps = STEPS


def _rule(subject: Subject, configuration: Configuration) -> JaxRule:
    """Return the configuration's program as a rule under the name of its subject."""
    return JaxRule(
        configuration.program,
        configuration.signature,
        static=configuration.parameters,
        differentiable=configuration.differentiable,
        domain=configuration.domain,
        name=subject.name,
    )


def _certificate_at(subject: Subject, configuration: Configuration, cache: Cache | None) -> Certificate:
    """Return the certificate of one configuration. What does not trace is unproved, with JAX's reason."""
    try:
        rule = _rule(subject, configuration)
        certificate = audited(rule, cache)
        runs_it = subject.kind != PRIMITIVE or f"semantics of {subject.name}" in certificate.rules_used
        return certificate if runs_it or _runs(subject, configuration) else _unproved(subject.name, NOT_RUN)
    except CertgradError as error:
        return _unproved(subject.name, _shortened(str(error)))
    except RecursionError:
        return _unproved(subject.name, "the program is nested too deeply")


def _runs(subject: Subject, configuration: Configuration) -> bool:
    """Return whether a program of the configuration runs the primitive, or a custom rule. What does not trace is left
    to the audit.
    """
    wanted = {subject.name} if subject.kind == PRIMITIVE else {"custom_jvp_call", "custom_vjp_call"}
    rule = _rule(subject, configuration)
    instance = family(rule, rule.cases[0]).prove[0]
    rules, shapes = rule.rules(instance.statics), instance.shapes()
    try:
        programs = trace_rules(rules, shapes, 0, f"'{rule.name}'")
    except CertgradError:
        return True
    ran = {name for program in programs.all().values() for name in primitives_of(program.jaxpr)}
    return bool((ran | _as_jax_has_it(rules, shapes)) & wanted)


def _as_jax_has_it(rules: Rules, shapes: Shapes) -> set[str]:
    """Return the primitives of a forward of floats before complex numbers are read as pairs."""
    if set(shapes.dtypes) - {"float", "held"}:
        return set()
    with wide_floats():
        arrays = [jax.ShapeDtypeStruct(shape, "float64") for shape in shapes.inputs]
        return primitives_of(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*arrays).jaxpr)


def _shortened(reason: str) -> str:
    """Return JAX's message without its advice for a user's own function, and at most 200 characters of it."""
    text = " ".join(reason.partition(" Call it once on small arrays")[0].split())
    text = text.replace("InconclusiveDimensionOperation: ", "")
    for end in (". You may be able to", ". Call "):
        text = text.partition(end)[0]
    return text if len(text) < 200 else f"{text[:200]} …"


def _unproved(name: str, reason: str) -> Certificate:
    """Return a certificate whose claims are all unproved, for this reason."""
    claims = [
        _claim(name, kind, "", [CaseClaim(signature="", statics={}, scope="", verdict="unproved", reason=reason)])
        for kind in OF_RULES
    ]
    return _certificate(name, [], (), claims, [], "")


def _merged_certificate(subject: Subject, results: Sequence[tuple[Configuration | None, Certificate]]) -> Certificate:
    """Return the certificate of a rule of JAX, in which each claim has the cases of all configurations.

    `results` has the certificate of each configuration, or one without a configuration where nothing was audited.
    """
    claims = []
    for kind in OF_RULES:
        parts = [(c, claim) for c, certificate in results for claim in certificate.claims if claim.kind == kind]
        cases = [_as_configured(c, case) for c, claim in parts for case in claim.cases]
        statements = "; ".join(dict.fromkeys(claim.statement for _, claim in parts if claim.statement))
        merged = _claim(subject.name, kind, statements, cases)
        claims.append(
            msgspec.structs.replace(
                merged,
                facts=sorted({f for _, claim in parts for f in claim.facts}),
                idealisations=sorted({i for _, claim in parts for i in claim.idealisations}),
            )
        )
    certificates = [certificate for _, certificate in results]
    literals = {x.literal: x for certificate in certificates for x in certificate.literals}
    configured = [c for c, _ in results if c is not None]
    unsealed = _certificate(
        subject.name,
        [str(c) for c in configured],
        tuple(dict.fromkeys(d for c in configured for d in c.domain)),
        claims,
        [k for c in configured for k in _conventions(subject, c)],
        hashlib.blake2b(
            "\n".join(t.digest for c in certificates for t in c.traced).encode(), digest_size=32
        ).hexdigest(),
    )
    return sealed(
        msgspec.structs.replace(
            unsealed,
            rules_used=sorted({r for c in certificates for r in c.rules_used}),
            literals=[literals[k] for k in sorted(literals)],
            traced=[
                msgspec.structs.replace(t, statics=c.described)
                for c, certificate in results
                if c is not None
                for t in certificate.traced
            ],
        )
    )


def _as_configured(configuration: Configuration | None, case: CaseClaim) -> CaseClaim:
    """Return the case under the words of its configuration."""
    if configuration is None:
        return case
    return msgspec.structs.replace(
        case,
        signature=configuration.signature,
        statics=configuration.described,
        reason=_shortened(case.reason),
    )


def _claim(name: str, kind: str, statement: str, cases: list[CaseClaim]) -> Claim:
    """Return the claim of a kind with these cases: its verdict is the worst, its hypotheses are those of all."""
    return Claim(
        id=f"{name}.{kind}",
        code=CODES[kind],
        kind=kind,  # type: ignore[arg-type]
        statement=statement,
        verdict=worst([c.verdict for c in cases]),
        hypotheses=each_once(h for c in cases for h in c.hypotheses),
        cases=cases,
    )


def _certificate(
    name: str,
    signature: list[str],
    domain: tuple[str, ...],
    claims: list[Claim],
    conventions: list[Convention],
    digest: str,
) -> Certificate:
    """Return the sealed certificate of a rule of JAX's from its claims."""
    verdicts: list[VerdictName] = [c.verdict for c in claims]
    return sealed(
        Certificate(
            format=FORMAT,
            op=name,
            signature=signature,
            params={},
            domain=list(domain),
            verdict=worst(verdicts),
            claims=claims,
            conventions=conventions,
            source="",
            digest=digest,
            versions={**versions(), "certgrad": certgrad.__version__, "kernel": KERNEL},
        )
    )


def _conventions(subject: Subject, configuration: Configuration) -> list[Convention]:
    """Return the gradients that JAX has at the points where a configuration may have a kink, with the points.

    A point at which JAX raises is left out; of a configuration that is no valid rule there are none.
    """
    if not configuration.kinks:
        return []
    try:
        rule = _rule(subject, configuration)
    except CertgradError:
        return []
    active_positions = tuple(k for k, n in enumerate(rule.arg_names) if n in rule.moving)
    settings = "".join(f", {name} = {configuration.described[name]}" for name in configuration.parameters)
    conventions = []
    for kink in configuration.kinks:
        with wide_floats():
            arrays = [np.asarray(v, dtype=np.float64) for v in kink]
            point = ", ".join(f"{n} = {_text(v)}" for n, v in zip(rule.arg_names, arrays, strict=True))
            try:
                gradient = jax.grad(lambda *xs: _total(rule.call(xs, rule.cases[0].statics)), argnums=active_positions)(
                    *arrays
                )
            except Exception:  # whatever JAX raises there, there is no value to show
                continue
            gradients = ", ".join(_text(np.asarray(g)) for g in gradient)
            conventions.append(Convention(point=point + settings, rule=gradients, jax="", torch=""))
    return conventions


def _total(value: Any) -> Any:
    return sum(jax.numpy.sum(y) for y in jax.tree_util.tree_leaves(value))


def _text(value: np.ndarray) -> str:
    return f"{float(value):.6g}" if value.ndim == 0 else "[" + ", ".join(_text(v) for v in value) + "]"
