"""Codes: one for every obligation, each meaning what the certificates say."""

from certgrad.obligations import certificate
from certgrad.report import findings as _findings
from certgrad.report.codes import CODES, REMARKS


def test_every_obligation_has_its_code_explained() -> None:
    assert {code.kind: code.code for code in CODES.values()} == certificate.CODES


def test_a_code_never_changes_its_meaning() -> None:
    assert {code.code: code.kind for code in CODES.values()} == {
        "CG101": "jvp_is_derivative",
        "CG102": "vjp_is_adjoint",
        "CG103": "rule_runs_forward",
        "CG104": "forward_equals_reference",
    }


def test_every_remark_is_explained() -> None:
    assert list(REMARKS) == list(_findings.REMARKS)
    assert {code.code: code.kind for code in REMARKS.values()} == {
        "CG201": "rule_is_audited",
        "CG202": "shapes_are_declared",
        "CG203": "argument_has_a_gradient",
        "CG204": "claim_is_about_all_arguments",
        "CG205": "ignore_is_needed",
        "CG206": "declaration_fits",
        "CG207": "derivative_is_of_the_function",
        "CG208": "module_imports",
        "CG209": "bounds_are_declared",
        "CG210": "exact_evaluation_agrees",
    }
