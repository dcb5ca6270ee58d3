"""The check of an audit's proofs by exact evaluation: the level to which a certificate is confirmed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from certgrad.errors import CertgradError
from certgrad.obligations.certificate import AT_SIZES, PROOFS, Certificate
from certgrad.obligations.verify import Verification, verify
from certgrad.report.audited import RuleResult
from certgrad.report.findings import NOT_EXACT, Remark
from certgrad.rules.finding.find import FoundRule


def with_level(result: RuleResult, found: Callable[[str], FoundRule | None]) -> RuleResult:
    """Return the result of a rule with the level of `certgrad verify`, and a remark if that level is not exact.

    A result without a proof is returned as it is. `found` returns a rule in code by its name.
    """
    certificate = result.certificate
    if certificate is None or certificate.verdict not in (*PROOFS, AT_SIZES):
        return result
    try:
        checked = _checked(certificate, found)
    except CertgradError as error:
        checked = Verification(op=certificate.op, outcome="not checked", problems=(str(error),))
    if checked.exact:
        return msgspec.structs.replace(result, level=checked.level)
    why = checked.problems[0] if checked.problems else "balls evaluate it alone"
    remark = Remark(NOT_EXACT, f"exact evaluation does not agree with the proof: {why}", brief=f"not exact: {why}")
    return msgspec.structs.replace(result, level=checked.level, remarks=[*result.remarks, remark])


def _checked(certificate: Certificate, found: Callable[[str], FoundRule | None]) -> Verification:
    """Return the second check of a certificate: of an op of the library, or of a rule in code, which has a `:`."""
    if ":" not in certificate.op:
        return verify(certificate)
    rule = found(certificate.op)
    if rule is None:
        return Verification(op=certificate.op, outcome="not checked", problems=("its code was not found again",))
    from .verify import verify_rule

    return verify_rule(certificate, rule)
