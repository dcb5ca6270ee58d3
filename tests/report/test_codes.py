"""Codes: one for every obligation, each meaning what the certificates say."""

from certgrad.obligations import certificate
from certgrad.report.codes import CODES


def test_every_obligation_has_its_code_explained() -> None:
    assert {code.kind: code.code for code in CODES.values()} == certificate.CODES


def test_a_code_never_changes_its_meaning() -> None:
    assert {code.code: code.kind for code in CODES.values()} == {
        "CG101": "jvp_is_derivative",
        "CG102": "vjp_is_adjoint",
        "CG103": "rule_runs_forward",
    }
