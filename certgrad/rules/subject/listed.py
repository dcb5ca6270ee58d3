"""Hypotheses that the audit itself adds to a certificate: divisors of sizes, bounds that no declaration states."""

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
    """Return the certificate with other hypotheses in each case, and verdicts and statements that fit them.

    `of_case` returns the hypotheses of a case from the kind of obligation and the hypotheses that the case has.
    """

    def case(kind: str, one: CaseClaim) -> CaseClaim:
        hypotheses = each_once(of_case(kind, one.hypotheses))
        verdict = "proved under hypotheses" if hypotheses and one.verdict == "proved" else one.verdict
        return msgspec.structs.replace(one, hypotheses=hypotheses, verdict=verdict)

    def turned(claim: Claim) -> Claim:
        cases = [case(claim.kind, one) for one in claim.cases]
        hypotheses = each_once(h for one in cases for h in one.hypotheses)
        return with_cases(claim, cases, hypotheses=hypotheses, statement=statement(rule, claim.kind, bool(hypotheses)))

    return with_claims(certificate, map(turned, certificate.claims))
