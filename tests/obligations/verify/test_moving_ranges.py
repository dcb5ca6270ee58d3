"""Hypotheses on maxima over moving ranges, and over groups of axes that may be empty: evaluated, and not for show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from certgrad.language.text import text
from certgrad.language.tree import ZERO, Array, Compare, Index, Mul, Number, Size, Unique, mapped
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


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_hypothesis_is_found_at_a_point(name: str) -> None:
    certificate, op = certificate_of(name), registry.get(name)
    (claim,) = (c for c in certificate.claims if c.kind == DERIVATIVE)
    assert claim.hypotheses
    for hypothesis in claim.hypotheses:
        result = verify(without_hypothesis(certificate, op, DERIVATIVE, hypothesis.text))
        assert result.outcome == "failed"
        assert result.problems[0].startswith(f"{name}.{DERIVATIVE} at ")


def negated(node: Any) -> Any:
    """The least where it said the greatest."""
    return replace(node, body=Mul((Number("-1"), node.body))) if isinstance(node, Unique) else node


def nothing(node: Any) -> Any:
    return Compare("=", ZERO, ZERO) if isinstance(node, Unique) else node


def mirrored(node: Any) -> Any:
    """i − j for j − i."""
    here = isinstance(node, Mul) and node.factors[0] == Number("-1") and isinstance(node.factors[1], Index)
    return node.factors[1] if here else node


def added_to(node: Any) -> Any:
    return node.factors[1] if isinstance(node, Mul) and node.factors == (Number("-1"), Array("correction")) else node


def less(node: Any) -> Any:
    return Mul((Number("-1"), node)) if node == Size("m") else node


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "name, change",
    [
        ("cummax", negated),
        ("cummin", negated),
        ("cummax", mirrored),
        ("max_pool1d", negated),
        ("max_pool2d", negated),
        ("max_pool2d", nothing),
        ("std", added_to),
        ("std", less),
    ],
)
def test_a_changed_hypothesis_is_no_pass(name: str, change: Callable[[Any], Any]) -> None:
    """Points outside the true hypothesis are then inside what is stated, or nothing is."""
    inputs = registry.get(name).arg_names

    def everywhere(node: Any) -> Any:
        return change(mapped(node, everywhere))

    def flip(case: CaseClaim) -> CaseClaim:
        trees = [everywhere(h.tree) for h in case.hypotheses]
        assert trees != [h.tree for h in case.hypotheses]
        pairs = zip(case.hypotheses, trees, strict=True)
        return replace(case, hypotheses=[replace(h, tree=t, text=text(t, inputs=inputs)) for h, t in pairs])

    result = verify(changed(certificate_of(name), registry.get(name), DERIVATIVE, flip), draws=MANY)
    assert result.outcome != "verified"
    assert "checksum" not in result.problems[0]
    assert "does not say" not in result.problems[0]


@pytest.mark.one_in(6)
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


@pytest.mark.one_in(5)
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
    assert texts == ["m·n > correction", "m·n·(Σla x[i,l,j,a,k]^2) > (Σla x[i,l,j,a,k])^2"]
    assert [h.text for h in certificate_of("var").claims[0].hypotheses] == ["m·n ≠ correction"]
