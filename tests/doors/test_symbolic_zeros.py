"""A rule that is wrong where a cotangent is a symbolic zero, or an input is not perturbed, elsewhere in a graph."""

from __future__ import annotations

from typing import Any

import jax
import pytest

import certgrad
from certgrad.obligations.certificate import PROOFS
from tests.doors import zeros
from tests.doors.doors import verdict_through
from tests.doors.examples import Example, Function, Variant, named


@pytest.mark.one_in(4)
@pytest.mark.parametrize("variant", zeros.ELSEWHERE, ids=lambda one: one.name)
def test_certify(variant: Variant) -> None:
    right, wrong = (verdict_through("certify", Example(zeros, variant, is_wrong)) for is_wrong in (False, True))
    if variant.use is zeros.second_stopped:  # a stopped value that floor reads is not followed
        assert {right, wrong} == {"unproved"}
    else:
        assert right in PROOFS
        assert wrong == "refuted"


def test_a_pattern_that_nothing_of_the_graph_is_in_is_one_of_its_functions() -> None:
    """Both outputs are returned: `jax.grad` of the first alone is what goes wrong."""
    found = certgrad.certify(certgrad.trace(lambda x: zeros.wrong_moments(x), "x: n"))
    assert found.verdict == "refuted"
    assert "where only output 0 is used" in found.findings[-1]


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (lambda x: zeros.wrong_moments(x), zeros.OF_TWO),
        (jax.jit(zeros.wrong_moments), zeros.OF_TWO),
        (lambda x, w: zeros.wrong_product(x, w), zeros.PRODUCT),
        (lambda x, w: zeros.wrong_pushed(x, w), zeros.PRODUCT),
    ],
)
@pytest.mark.usefixtures("verdicts_alone")
def test_check_of_a_function_that_calls_such_a_rule(function: Function, signature: str) -> None:
    assert certgrad.check(function, signature).verdict == "refuted"


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.parametrize(("count", "verdict"), [(2, "proved"), (5, "unproved")])
def test_patterns_beyond_those_that_are_looked_at(count: int, verdict: str) -> None:
    """Of a function that calls a rule which sees zeros; a rule of its own says that it is asked for too many."""
    rule: Any = jax.custom_jvp(lambda *xs: sum(xs))
    rule.defjvp(lambda p, t: (sum(p), sum(map(zeros.array, t, p))), symbolic_zeros=True)
    signature = ", ".join(["n"] * count)
    assert certgrad.certify(certgrad.trace(rule, *["n"] * count)).verdict == verdict
    function = named(lambda *xs: rule(*xs), [f"x{k}" for k in range(count)])
    assert certgrad.check(function, f"{signature} -> n").verdict == verdict
