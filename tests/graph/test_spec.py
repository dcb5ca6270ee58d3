"""Specs: names, and the sizes that arrays give the dimensions."""

import pytest

from certgrad.errors import UsageError
from certgrad.graph._spec import read_specs, split_name


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x: n d", ("x", "n d")),
        ("n d", (None, "n d")),
        ("", (None, "")),
        ("b:", ("b", "")),
        ("n:int", (None, "n:int")),
        ("labels: n:int", ("labels", "n:int")),
    ],
)
def test_names(text: str, expected: tuple) -> None:
    assert split_name(text) == expected


def test_arguments_are_named_by_the_function() -> None:
    read = read_specs(lambda x, weights: None, ["n d", "d"])
    assert [a.name for a in read.arguments] == ["x", "weights"]
    assert read.dims == ["n", "d"]


def test_sizes() -> None:
    read = read_specs(lambda x, y: None, ["n 2*n", "m 3"])
    assert read.sizes([(2, 4), (5, 3)]) == {"n": 2, "m": 5}
    with pytest.raises(UsageError, match=r"x has shape \(2, 5\), but its spec 'n 2\*n' with n = 2, m = 5 gives"):
        read.sizes([(2, 5), (5, 3)])
