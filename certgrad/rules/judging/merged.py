"""Several certificates of a rule made into one: at several sizes or static values, on values, on integer outputs."""

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
    """Return one certificate in place of several ones, which have the same obligations.

    Each claim has the cases, hypotheses, facts and idealisations of the claims of its kind in all certificates.
    """
    first = certificates[0]

    def all_of(name: str, parts: Sequence[Any]) -> list[Any]:
        """Return the entries of a field of all parts."""
        return [x for part in parts for x in getattr(part, name) or ()]

    claims = []
    for k, claim in enumerate(first.claims):
        same_claims = [c.claims[k] for c in certificates]
        claims.append(
            with_cases(
                claim,
                all_of("cases", same_claims),
                hypotheses=each_once(all_of("hypotheses", same_claims)),
                **{name: sorted({*all_of(name, same_claims)}) for name in ("facts", "idealisations", "measured")},
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
    """Return certificate fields by name, joined from several: the digest, traces, literals and rules used."""
    return {
        "digest": digest_of(c.digest for c in certificates),
        "rules_used": sorted({rule for c in certificates for rule in c.rules_used}),
        "traced": [case for c in certificates for case in c.traced],
        "literals": list({m.literal: m for c in certificates for m in c.literals}.values()),
    }


def read_as_ideal(certificate: Certificate) -> Certificate:
    """Return the certificate on a rule's value with the note that both sides were read as what they approximate."""
    claims = [msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, OF_BOTH])) for c in certificate.claims]
    return with_claims(certificate, claims)


def with_value(certificate: Certificate, approximates: Sequence[str], value: Certificate) -> Certificate:
    """Return the certificate on the derivative with the claims on the value added, and `approximates` as notes.

    The derivative is that of the function which is approximated, the value that of the function which runs.
    """
    about = "jvp_is_derivative" if any(c.kind == "jvp_is_derivative" for c in certificate.claims) else "vjp_is_adjoint"
    claims = [
        msgspec.structs.replace(c, idealisations=sorted([*c.idealisations, *approximates])) if c.kind == about else c
        for c in certificate.claims
    ]
    return with_claims(certificate, [*claims, *value.claims], **rests_on([certificate, value]))


def with_integers(certificate: Certificate, integers: Certificate) -> Certificate:
    """Return the certificate with the claim on integer outputs, which have no derivative, joined to that of its kind.

    The claim is that the fwd returns these outputs. Of the two verdicts the worse one counts.
    """
    (integer_claim,) = integers.claims

    def joined(claim: Claim) -> Claim:
        if claim.kind != integer_claim.kind:
            return claim
        is_worse = ORDER.index(integer_claim.verdict) > ORDER.index(claim.verdict)
        reasons = {
            c.reason: msgspec.structs.replace(c, reason=f"an integer output: {c.reason}") for c in integer_claim.cases
        }
        listed = {h.tree for h in claim.hypotheses}
        hypotheses = [*claim.hypotheses, *(h for h in integer_claim.hypotheses if h.tree not in listed)]
        if not is_worse:
            return msgspec.structs.replace(claim, hypotheses=hypotheses)
        cases = list(reasons.values()) if integer_claim.verdict in ("refuted", "unproved") else integer_claim.cases
        return msgspec.structs.replace(claim, hypotheses=hypotheses, verdict=integer_claim.verdict, cases=cases)

    return with_claims(certificate, map(joined, certificate.claims))


def as_surrogate(certificate: Certificate, reason: str) -> Certificate:
    """Return the certificate with the verdict `surrogate` and the author's reason on cases about the derivative.

    That replaces refuted and unproved cases of the claim that compares the rule with the derivative. The other claim on
    a JVP, that JAX's transposition of it is its adjoint, has to be decided: only refuted cases are replaced there. The
    claim on the forward's value stays as it is.
    """
    kinds = [claim.kind for claim in certificate.claims]
    about_derivative = "jvp_is_derivative" if "jvp_is_derivative" in kinds else "vjp_is_adjoint"

    def turned(claim: Claim, case: CaseClaim) -> CaseClaim:
        undecided = ("refuted", "unproved") if claim.kind == about_derivative else ("refuted",)
        if claim.kind == "rule_runs_forward" or claim.verdict not in undecided or case.verdict not in undecided:
            return case
        return msgspec.structs.replace(case, verdict="surrogate", reason=f"declared: {reason}")

    return with_each_case(certificate, turned)
