"""Hypotheses on maxima over moving ranges, and over groups of axes that may be empty: evaluated, and not for show."""

from __future__ import annotations

import pytest

from certgrad.obligations.certificate import CaseClaim
from certgrad.obligations.verify import verify
from certgrad.ops import Op, registry
from tests.obligations.verify.forging import certificate_of, changed, for_code_of, replace, without_hypothesis

NAMES = ["cummax", "cummin", "max_pool1d", "max_pool2d", "std"]
DERIVATIVE = "jvp_is_derivative"
MANY = 60
"""Draws enough for a row whose minimum is attained twice, and none of whose maxima is."""


def turned(op: Op) -> Op:
    """−f(−x), with its derivative: of a maximum, the minimum."""
    return op.with_rules(
        forward=lambda x, **k: -op.forward(-x, **k),
        jvp=lambda x, dx, **k: op.call_rule(op.jvp_rule, -x, dx, statics=k),
        vjp=lambda x, seed, **k: op.call_rule(op.vjp_rule, -x, seed, statics=k),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_hypothesis_is_found_at_a_point(name: str) -> None:
    certificate, op = certificate_of(name), registry.get(name)
    (claim,) = (c for c in certificate.claims if c.kind == DERIVATIVE)
    assert claim.hypotheses
    for hypothesis in claim.hypotheses:
        result = verify(without_hypothesis(certificate, op, DERIVATIVE, hypothesis.text))
        assert result.outcome == "failed"
        assert result.problems[0].startswith(f"{name}.{DERIVATIVE} at ")


@pytest.mark.parametrize(
    "name, coefficient, flipped",
    [
        ("cummax", "argmax_count(x", "argmax_count(-x"),
        ("cummin", "argmax_count(-x", "argmax_count(x"),
        ("cummax", "(-1)*", "(1)*"),
        ("max_pool1d", "argmax_count(x", "argmax_count(-x"),
        ("max_pool2d", "argmax_count(x", "argmax_count(-x"),
        ("max_pool2d", ") == 1", ") == 0"),
        ("std", "- correction", "+ correction"),
        ("std", "size(m)*", "(-1)*size(m)*"),
    ],
)
def test_a_flipped_coefficient_in_a_hypothesis_is_no_pass(name: str, coefficient: str, flipped: str) -> None:
    """Points outside the true hypothesis are then inside what is stated, or nothing is."""

    def flip(case: CaseClaim) -> CaseClaim:
        formulas = [h.formula.replace(coefficient, flipped) for h in case.hypotheses]
        assert formulas != [h.formula for h in case.hypotheses]
        return replace(case, hypotheses=[replace(h, formula=f) for h, f in zip(case.hypotheses, formulas, strict=True)])

    result = verify(changed(certificate_of(name), registry.get(name), DERIVATIVE, flip), draws=MANY)
    assert result.outcome != "verified"
    assert "checksum" not in result.problems[0]


@pytest.mark.parametrize(
    "name, other",
    [
        ("cummax", registry.get("cummin")),
        ("cummin", registry.get("cummax")),
        ("max_pool1d", turned(registry.get("max_pool1d"))),
        ("max_pool2d", turned(registry.get("max_pool2d"))),
        ("var", registry.get("std")),
    ],
)
def test_the_certificate_of_another_op_is_found_at_a_point(name: str, other: Op) -> None:
    """Renamed, with the other op's digests: its hypotheses are those of the first."""
    result = verify(for_code_of(certificate_of(name), other), other, draws=MANY)
    assert result.outcome == "failed"
    assert f"{other.name}.{DERIVATIVE} at " in result.problems[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_another_op_is_found_at_a_point(name: str) -> None:
    op = registry.get(name)
    wrong = op.with_rules(jvp=lambda *args, **k: -op.call_rule(op.jvp_rule, *args, statics=k))
    result = verify(for_code_of(certificate_of(name), wrong), wrong)
    assert result.outcome == "failed"
    assert any(problem.startswith(f"{name}.") for problem in result.problems)


def test_what_follows_from_the_general_family_is_listed_once() -> None:
    """Where *n or *m has no axes, the hypotheses are the general ones at n = 1 or m = 1."""
    texts = [h.text for h in certificate_of("std").claims[0].hypotheses]
    assert texts == ["m·n > correction", "m·n·(Σij x[j,i]^2) > (Σij x[j,i])^2"]
    assert [h.text for h in certificate_of("var").claims[0].hypotheses] == ["m·n ≠ correction"]
