"""Numbers in texts: the literal of a float is a decimal, a quotient of small integers stays one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certgrad.language import tree as t
from certgrad.language.decimals import decimal, decimal_scale
from certgrad.language.mathml import mathml
from certgrad.language.text import term_text, text

TINY = Fraction(11754944, 10**45)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (TINY, "1.1754944e-38"),
        (Fraction(1, 10**10), "1e-10"),
        (Fraction(3, 2**30), ""),  # more digits than a float has
        (Fraction(1, 3 * 10**9), ""),  # no finite decimal
        (Fraction(2, 3), ""),
        (Fraction(999_999), ""),
        (Fraction(25, 10**8), "2.5e-7"),
        (Fraction(1_000_001, 2_000_000), "0.5000005"),
        (Fraction(16_777_217), ""),
        (Fraction(3 * 10**20), "3e20"),
    ],
)
def test_a_number_is_a_decimal_where_that_is_shorter(number, shown):
    assert decimal(number) == shown
    if shown:
        assert Fraction(shown) == number


def test_literals_of_floats_come_back():
    for value in np.random.default_rng(0).uniform(1e-9, 1e9, 200):
        meant = Fraction(repr(float(value)))
        shown = decimal(meant)
        assert not shown or Fraction(shown) == meant


def test_coefficients_are_scaled_only_to_decimals():
    assert decimal_scale([Fraction(10**20), Fraction(-3)]) == Fraction(1, 10**20)
    assert decimal_scale([Fraction(3), Fraction(7)]) == 1
    assert decimal_scale([Fraction(3 * 10**20), Fraction(1)]) == 1  # 1/(3e20) is none


def test_a_condition_on_a_small_float_reads_as_it_was_written():
    condition = t.Compare(">", t.sum_of_terms([t.scaled(Fraction(10**10), [t.Array("x")]), t.Number("-1")]), t.ZERO)
    assert text(condition, inputs=("x",)) == "x > 1e-10"
    assert text(condition, "latex", inputs=("x",)) == r"x > 1 \cdot 10^{-10}"
    assert "<msup><mn>10</mn><mn>-10</mn></msup>" in mathml(condition, ("x",))
    assert term_text(t.scaled(TINY, [t.Array("x")])) == "1.1754944e-38·x"
