"""Hypotheses that the audit itself adds to a certificate: sizes that divide, bounds that nobody declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from certgrad.obligations.certificate import (
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    each_once,
    statement,
    with_cases,
    with_claims,
)

if TYPE_CHECKING:
    from .user_rule import UserRule


def listing(
    certificate: Certificate, rule: UserRule, of_case: Callable[[str, list[Hypothesis]], Iterable[Hypothesis]]
) -> Certificate:
    """The certificate with other hypotheses: `of_case` gives them, of an obligation and what a case of it lists."""

    def case(kind: str, one: CaseClaim) -> CaseClaim:
        found = each_once(of_case(kind, one.hypotheses))
        verdict = "proved under hypotheses" if found and one.verdict == "proved" else one.verdict
        return msgspec.structs.replace(one, hypotheses=found, verdict=verdict)

    def turned(claim: Claim) -> Claim:
        cases = [case(claim.kind, one) for one in claim.cases]
        found = each_once(h for one in cases for h in one.hypotheses)
        return with_cases(claim, cases, hypotheses=found, statement=statement(rule, claim.kind, bool(found)))

    return with_claims(certificate, map(turned, certificate.claims))
