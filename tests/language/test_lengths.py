"""Conditions that compare an argument with a size: how they are written as lengths, read, and asked at points."""

import re
from fractions import Fraction

import numpy as np
import pytest

from certgrad.errors import DomainError
from certgrad.language.lengths import in_lengths
from certgrad.language.parse import parse
from certgrad.obligations.balls.statements import all_conditions_hold
from certgrad.signatures.sizes import parse_axis


def _parsed(axes):
    return {array: [parse_axis(size) for size in sizes] for array, sizes in axes.items()}


@pytest.mark.parametrize(
    ("condition", "axes", "written"),
    [
        ("label < v", {"x": ["n", "v"], "label": ["n"]}, "label < x.shape[1]"),
        ("label < v", {"x": ["*b", "v"], "label": ["*b"]}, "label < x.shape[-1]"),
        ("t < h - 1", {"x": ["h+1", "w"], "t": ["n"]}, "t < x.shape[0] - 1 - 1"),
        ("t < h", {"x": ["2*h-1"], "t": ["n"]}, "t < (x.shape[0] + 1) / 2"),
        ("n < 2", {"n": ["k"], "x": ["n"]}, "n < 2"),
        ("x > 0", {"x": ["n"]}, "x > 0"),
        ("x > k", {"x": ["*s", "k", "*t"]}, "x > k"),
        ("x > k", {"x": ["k*m"]}, "x > k"),
        ("x > k", {"x": ["k*m*n"]}, "x > k"),
    ],
)
def test_a_size_is_written_as_the_length_of_an_axis(condition, axes, written):
    assert in_lengths([condition], _parsed(axes)) == (written,)


def test_a_number_with_a_name_comes_before_a_size():
    assert in_lengths(["x > n"], _parsed({"x": ["n"]}), taken=["n"]) == ("x > n",)


def test_a_bare_size_comes_before_an_expression():
    assert in_lengths(["i < n"], _parsed({"y": ["n+1"], "x": ["n"], "i": []})) == ("i < x.shape[0]",)


@pytest.mark.parametrize("text", ["x.shape[0] > 2", "x.shape[0] != y.shape[0]"])
def test_what_is_asked_of_sizes_alone_stands_in_the_signature(text):
    with pytest.raises(DomainError, match="is about sizes alone"):
        parse(text, ("x", "y"))


@pytest.mark.parametrize("text", ["x.shape > 2", "x.shape[y] > 2", "x.size[0] < x", "z.shape[0] < x", "x[0] > 1"])
def test_other_subscripts_are_refused(text):
    with pytest.raises(DomainError, match=re.escape("Write comparisons")):
        parse(text, ("x", "y"))


def test_lengths_are_those_of_the_arrays_and_not_of_what_they_are_broadcast_to():
    table, ids = [[Fraction(1)] * 3] * 2, [0, 1, 1, 0]
    assert all_conditions_hold(["ids < table.shape[0]"], {"table": table, "ids": np.array(ids, object)})
    assert not all_conditions_hold(["ids < table.shape[0]"], {"table": table, "ids": np.array([0, 2, 1, 0], object)})
    assert all_conditions_hold(["ids < table.shape[-1]"], {"table": table, "ids": np.array([0, 2, 1, 0], object)})
