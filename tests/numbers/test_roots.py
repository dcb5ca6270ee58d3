"""Roots are enclosed only where there is one: Newton's method, then Krawczyk's test."""

from flint import arb, arb_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.numbers.roots import enclosed_root
from certgrad.obligations.balls import precision


def of_square(c):
    """z² = c."""
    return lambda z: [z[0] * z[0] - c], lambda z: arb_mat([[2 * z[0]]])


@settings(max_examples=20, deadline=None)
@given(st.fractions(min_value=1, max_value=50), st.booleans())
def test_a_square_root_is_enclosed_tightly(c, negative):
    with precision(256):
        value = arb(c.numerator) / c.denominator
        (root,) = enclosed_root(*of_square(value), [arb(-3 if negative else 3)])
        exact = value.sqrt()
        assert root.overlaps(-exact if negative else exact)
        assert root.rad() < arb(2) ** -200


def test_no_root_is_found_where_there_is_none_and_none_is_shown_where_it_is_not_simple():
    with precision(128):
        for c in (-1, 0):
            assert enclosed_root(*of_square(arb(c)), [arb(1)]) is None
        assert enclosed_root(*of_square(arb(2)), [arb(0)]) is None  # no slope at the start


def test_a_coefficient_that_is_a_ball_widens_the_root():
    with precision(128):
        (root,) = enclosed_root(*of_square(arb(2, arb(2) ** -90)), [arb(1)])
        assert root.contains(arb(2).sqrt().mid())
        assert arb(2) ** -94 < root.rad() < arb(2) ** -88


def test_a_system():
    """x + y = 3, x·y = 2."""
    with precision(128):
        root = enclosed_root(
            lambda z: [z[0] + z[1] - 3, z[0] * z[1] - 2],
            lambda z: arb_mat([[arb(1), arb(1)], [z[1], z[0]]]),
            [arb(0), arb(5)],
        )
        assert root[0].contains(1)
        assert root[1].contains(2)
