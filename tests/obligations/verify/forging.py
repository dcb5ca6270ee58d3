"""Certificates as someone could falsify them, each made consistent again: only evaluation can tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from certgrad import audit_op
from certgrad.obligations.certificate import (
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    each_once,
    sealed,
    statement,
    worst,
)
from certgrad.obligations.verify._programs import digest

replace = msgspec.structs.replace


@cache
def certificate_of(name: str) -> Certificate:
    """The certificate of an op of the library."""
    return audit_op(name)


def consistent(certificate: Certificate, op: Any, claims: list[Claim]) -> Certificate:
    """The certificate with other claims: verdicts, statements and checksum fit them."""
    fitted = [_fitted(claim, op) for claim in claims]
    return sealed(replace(certificate, claims=fitted, verdict=worst([c.verdict for c in fitted])))


def _fitted(claim: Claim, op: Any) -> Claim:
    cases = [replace(c, verdict="proved under hypotheses" if c.hypotheses else "proved") for c in claim.cases]
    listed = each_once(h for c in cases for h in c.hypotheses)
    return replace(
        claim,
        cases=cases,
        hypotheses=listed,
        verdict=worst([c.verdict for c in cases]),
        statement=statement(op, claim.kind, bool(listed)),
    )


def changed(certificate: Certificate, op: Any, kind: str, change: Callable[[CaseClaim], CaseClaim]) -> Certificate:
    """The certificate with every case of one claim changed."""
    claims = [replace(c, cases=list(map(change, c.cases))) if c.kind == kind else c for c in certificate.claims]
    return consistent(certificate, op, claims)


def without_hypothesis(certificate: Certificate, op: Any, kind: str, text: str) -> Certificate:
    """One hypothesis of one claim dropped."""

    def drop(case: CaseClaim) -> CaseClaim:
        return replace(case, hypotheses=[h for h in case.hypotheses if h.text != text])

    return changed(certificate, op, kind, drop)


def with_hypothesis(certificate: Certificate, op: Any, kind: str, hypothesis: Hypothesis) -> Certificate:
    """One hypothesis added to one claim."""
    return changed(certificate, op, kind, lambda case: replace(case, hypotheses=[*case.hypotheses, hypothesis]))


def for_code_of(certificate: Certificate, op: Any) -> Certificate:
    """The same claims about other code: the digests are those of `op`, which may have fewer cases."""
    declared = [(str(case.signature), {k: str(v) for k, v in case.statics.items()}) for case in op.cases]

    def kept(entries: list) -> list:
        return [e for e in entries if (e.signature, e.statics) in declared]

    traced = [replace(t, digest=digest(op, case)) for t, case in zip(kept(certificate.traced), op.cases, strict=True)]
    other = replace(certificate, op=op.name, signature=[str(case) for case in op.cases], traced=traced)
    claims = [replace(c, id=f"{op.name}.{c.kind}", cases=kept(c.cases)) for c in certificate.claims]
    return consistent(other, op, claims)
