"""Cases that are asked for run, whatever the sample is."""

import pytest

from tests.sampling import asked_for, excludes_slow


@pytest.mark.parametrize(
    "keyword, arguments, asked",
    [
        ("", ["tests/ops"], False),
        ("cumsum", ["tests/ops"], True),
        ("not cumsum", ["tests/ops"], False),
        ("", ["tests/test_complex.py::test_values[exp]"], True),
    ],
)
def test_cases_are_asked_for_by_name(keyword: str, arguments: list[str], asked: bool) -> None:
    assert asked_for(keyword, arguments) == asked


@pytest.mark.parametrize(
    "expression, excluded",
    [("not slow and not coq", True), ("", False), ("slow", False), ("slow or not slow", False)],
)
def test_slow_cases_run_where_the_expression_admits_them(expression: str, excluded: bool) -> None:
    assert excludes_slow(expression) == excluded
