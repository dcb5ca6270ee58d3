"""Integers come out of integer parts: ⌊p + k⌋ = ⌊p⌋ + k for a k that is an integer by its form."""

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certgrad.obligations.laws.functions import truncated
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.power import fn, is_integer_term
from certgrad.obligations.terms.session import clear_caches

RATIONALS = st.fractions(min_value=-9, max_value=9, max_denominator=7)


@given(RATIONALS, RATIONALS, st.integers(-4, 4))
def test_drawn_instances(p: Fraction, q: Fraction, k: int) -> None:
    assert floor(p + k * floor(q)) == floor(p) + k * floor(q)


@pytest.fixture(autouse=True)
def _anew():
    clear_caches()


def test_an_integer_part_of_integer_parts_is_their_sum() -> None:
    x = access("x", ())
    part = fn("floor", x)
    assert fn("floor", -part) == -part
    assert fn("floor", x.scale(2) + part * part.scale(3) + number(1)) == fn("floor", x.scale(2)) + part * part.scale(
        3
    ) + number(1)
    assert truncated(part - number(5)) == part - number(5)


def test_what_is_no_integer_stays() -> None:
    x = access("x", ())
    part = fn("floor", x)
    assert not is_integer_term(part * number(Fraction(1, 2)))
    assert not is_integer_term(x)
    assert fn("floor", -x) != -part
    assert fn("floor", part * number(Fraction(1, 2))) != part * number(Fraction(1, 2))
