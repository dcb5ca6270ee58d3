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
        ("0 <= p < 1", {"p": 0.0}, True),
        ("0 <= p < 1", {"p": 1.0}, False),
        ("hi >= lo", {"hi": 1.0, "lo": 1.0}, True),
        ("a != -b", {"a": 1.0, "b": -1.0}, False),
        ("a ** 2 + b * 2 / 4 - 1 > 0", {"a": 1.0, "b": 1.0}, True),
    ],
)
def test_holds(text, values, answer):
    assert holds(text, values) is answer


@pytest.mark.parametrize(
    "text, message",
    [
        ("eps", "The constraint 'eps' is no comparison. Write one such as 'eps > 0'."),
        ("eps >", "The constraint 'eps >' is no comparison. Write one such as 'eps > 0'."),
        ("eps in eps", "The constraint 'eps in eps' compares with something else than > >= < <= !=."),
        (
            "__import__('os') > 0",
            "The constraint '__import__('os') > 0' holds '__import__('os')', which is no parameter, number or "
            "arithmetic of them. The parameters are eps.",
        ),
    ],
)
def test_what_does_not_parse(text, message):
    with pytest.raises(DomainError) as caught:
        check_constraint(text, {"eps"})
    assert str(caught.value) == message
