"""Constraints on parameters."""

import pytest

from certgrad.errors import DomainError
from certgrad.ops._constraint import check_constraint, holds


@pytest.mark.parametrize(
    "text, values, answer",
    [
        ("eps > 0", {"eps": 0.0}, False),
        ("eps > 0", {"eps": 1e-300}, True),
        ("eps > 0", {"eps": float("nan")}, False),
        ("eps > 0", {"eps": float("inf")}, True),
        ("0 <= p < 1", {"p": 0.0}, True),
        ("0 <= p < 1", {"p": 1.0}, False),
        ("hi >= lo", {"hi": 1.0, "lo": 1.0}, True),
        ("a != -b", {"a": 1.0, "b": -1.0}, False),
        ("a ** 2 + b * 2 / 4 - 1 > 0", {"a": 1.0, "b": 1.0}, True),
        ("1 / a > 0", {"a": 0.0}, False),
        ("k > 0 and k < 3", {"k": 3}, False),
    ],
)
def test_holds(text, values, answer):
    assert holds(text, values) is answer


@pytest.mark.parametrize(
    "text, message",
    [
        ("eps", "The condition 'eps' of 'op' has a part that is not a comparison. Write comparisons"),
        ("eps >", "The condition 'eps >' of 'op' is not a formula."),
        ("eps in eps", "uses a comparison that is not one of > >= < <= != =="),
        ("__import__('os') > 0", "has '__import__('os')', which is not arithmetic on its names"),
        ("alpha > 0", "names 'alpha', but there is only eps"),
    ],
)
def test_what_does_not_parse(text, message):
    with pytest.raises(DomainError) as caught:
        check_constraint(text, ("eps",), "'op'")
    assert message in str(caught.value)
