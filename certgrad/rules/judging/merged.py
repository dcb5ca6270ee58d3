"""Certificates of one rule as one: at several sizes or static values, of its value, of outputs that are integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from certgrad.obligations.certificate import (
    ORDER,
    CaseClaim,
    Certificate,
    Claim,
    each_once,
    with_cases,
    with_claims,
    with_each_case,
)
from certgrad.obligations.generality.looks import digest_of

OF_BOTH = "the rule computes its value otherwise than the function: both are read as what they approximate"


def merged(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate that claims what all of several claim, which have the same obligations."""
    first = certificates[0]

    def all_of(name: str, parts: Sequence[Any]) -> list[Any]:
        """Return the entries of a field of all parts."""
        return [x for part in parts for x in getattr(part, name) or ()]

    claims = []
    for k, claim in enumerate(first.claims):
        same = [c.claims[k] for c in certificates]
        claims.append(
            with_cases(
                claim,
                all_of("cases", same),
                hypotheses=each_once(all_of("hypotheses", same)),
                **{name: sorted({*all_of(name, same)}) for name in ("facts", "idealisations", "measured")},
            )
        )
    repeated = all_of("sizes", certificates)
    sizes = [s for k, s in enumerate(repeated) if s not in repeated[:k]]
    return with_claims(
        first,
        claims,
        signature=list(dict.fromkeys(all_of("signature", certificates))),
        sizes=sizes or msgspec.UNSET,
        **rests_on(certificates),
    )


def rests_on(certificates: Sequence[Certificate]) -> dict[str, Any]:
    """Return the fields of a certificate that say what several certificates rest on together."""
    return {
        "digest": digest_of(c.digest for c in certificates),
        "rules_used": sorted({rule for c in certificates for rule in c.rules_used}),
        "traced": [case for c in certificates for case in c.traced],
        "literals": list({m.literal: m for c in certificates for m in c.literals}.values()),
    }


def read_as_ideal(certificate: Certificate) -> Certificate:
    """Return the claim of a rule's value, which is proved of what both it and the function approximate."""
    claims = [msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, OF_BOTH])) for c in certificate.claims]
    return with_claims(certificate, claims)


def with_value(certificate: Certificate, approximates: Sequence[str], value: Certificate) -> Certificate:
    """Return the claims about an ideal function's derivative, and that about the value of the function which runs."""
    about = "jvp_is_derivative" if any(c.kind == "jvp_is_derivative" for c in certificate.claims) else "vjp_is_adjoint"
    claims = [
        msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, *approximates])) if c.kind == about else c
        for c in certificate.claims
    ]
    return with_claims(certificate, [*claims, *value.claims], **rests_on([certificate, value]))


def with_integers(certificate: Certificate, integers: Certificate) -> Certificate:
    """Return the certificate with the claim that the fwd returns the integer outputs, which have no derivative."""
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

    return with_claims(certificate, map(joined, certificate.claims))


def as_surrogate(certificate: Certificate, reason: str) -> Certificate:
    """Return the certificate with the author's reason in the place of findings about the derivative.

    The forward's value is claimed all the same, and JAX's transposition of a JVP must be proved its adjoint. The claim
    that compares the rule with the derivative need not be decided.
    """
    kinds = [claim.kind for claim in certificate.claims]
    about_derivative = "jvp_is_derivative" if "jvp_is_derivative" in kinds else "vjp_is_adjoint"

    def turned(claim: Claim, case: CaseClaim) -> CaseClaim:
        undecided = ("refuted", "unproved") if claim.kind == about_derivative else ("refuted",)
        if claim.kind == "rule_runs_forward" or claim.verdict not in undecided or case.verdict not in undecided:
            return case
        return msgspec.structs.replace(case, verdict="surrogate", reason=f"declared: {reason}")

    return with_each_case(certificate, turned)
