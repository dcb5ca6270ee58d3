"""Arithmetic of scalars: enclosure of exact results, exact ties, IEEE's special values."""

from fractions import Fraction
from math import inf, isnan, nan

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from certgrad.obligations.balls import UNKNOWN, Undecided
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._functions import FUNCTIONS

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=64)
OPERATIONS = {"add": s.add, "sub": s.sub, "mul": s.mul, "div": s.div, "max": s.maximum, "min": s.minimum}


def exact(name: str, a: Fraction, b: Fraction) -> Fraction:
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "max": lambda: max(a, b),
        "min": lambda: min(a, b),
    }[name]()


def balled(a: Fraction) -> arb:
    with s.precision(60):
        return arb(s.rational(a))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OPERATIONS)
@given(a=rationals, b=rationals)
def test_rationals_stay_exact_and_balls_enclose(name: str, a: Fraction, b: Fraction) -> None:
    operation = OPERATIONS[name]
    if name == "div" and b == 0:
        assert isnan(operation(s.rational(a), fmpq(0)))
        assert operation(balled(a), balled(b)) is UNKNOWN or isnan(operation(balled(a), fmpq(0)))
        return
    want = s.rational(exact(name, a, b))
    assert operation(s.rational(a), s.rational(b)) == want
    for x in (s.rational(a), balled(a)):
        for y in (s.rational(b), balled(b)):
            got = operation(x, y)
            assert got is UNKNOWN or s.overlap(got, want)


@given(a=rationals, b=rationals)
def test_comparison_is_exact_on_rationals(a: Fraction, b: Fraction) -> None:
    assert s.compare(s.rational(a), s.rational(b)) == (a > b) - (a < b)


def test_overlapping_balls_are_undecided() -> None:
    a, b = arb(2).sqrt(), arb(2).sqrt()
    with pytest.raises(Undecided):
        s.compare(a, b)
    assert s.compare(a, a) == 0
    assert s.sub(a, a) == 0
    assert s.div(a, a) == 1
    assert s.compare(a, fmpq(3, 2)) == -1


def test_zero_annihilates_balls_exactly() -> None:
    assert type(s.mul(fmpq(0), arb(2).sqrt())) is fmpq
    assert type(s.div(fmpq(0), arb(2).sqrt())) is fmpq


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (lambda: s.add(inf, fmpq(1)), inf),
        (lambda: s.add(inf, -inf), nan),
        (lambda: s.sub(-inf, arb(2).sqrt()), -inf),
        (lambda: s.mul(fmpq(-2), inf), -inf),
        (lambda: s.mul(fmpq(0), inf), nan),
        (lambda: s.div(fmpq(1), inf), 0.0),
        (lambda: s.div(inf, fmpq(-3)), -inf),
        (lambda: s.div(inf, inf), nan),
        (lambda: s.div(fmpq(1), fmpq(0)), nan),
        (lambda: s.maximum(-inf, fmpq(3)), 3.0),
        (lambda: s.maximum(nan, fmpq(3)), nan),
        (lambda: s.minimum(-inf, inf), -inf),
        (lambda: s.power(-inf, 3), -inf),
        (lambda: s.power(fmpq(0), -1), nan),
        (lambda: s.power(nan, 0), 1.0),
        (lambda: FUNCTIONS["exp"](-inf), 0.0),
        (lambda: FUNCTIONS["exp"](inf), inf),
        (lambda: FUNCTIONS["log"](fmpq(0)), -inf),
        (lambda: FUNCTIONS["log"](fmpq(-1)), nan),
        (lambda: FUNCTIONS["log"](inf), inf),
        (lambda: FUNCTIONS["sqrt"](fmpq(-1, 3)), nan),
        (lambda: FUNCTIONS["rsqrt"](fmpq(0)), nan),
        (lambda: FUNCTIONS["tanh"](-inf), -1.0),
        (lambda: FUNCTIONS["logistic"](-inf), 0.0),
        (lambda: FUNCTIONS["erfc"](-inf), 2.0),
        (lambda: FUNCTIONS["atanh"](fmpq(1)), inf),
        (lambda: FUNCTIONS["asin"](fmpq(5, 4)), nan),
        (lambda: FUNCTIONS["lgamma"](fmpq(-7)), inf),
        (lambda: FUNCTIONS["digamma"](fmpq(-7)), nan),
        (lambda: FUNCTIONS["log1p"](fmpq(-1)), -inf),
        (lambda: FUNCTIONS["sin"](inf), nan),
    ],
)
def test_special_values(got, want) -> None:
    value = got()
    assert float(value) == want or (isnan(want) and isnan(float(value)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_unknown_propagates(name: str) -> None:
    for other in (fmpq(0), fmpq(1), arb(2).sqrt(), inf, nan):
        assert OPERATIONS[name](UNKNOWN, other) is UNKNOWN
        assert OPERATIONS[name](other, UNKNOWN) is UNKNOWN
    with pytest.raises(Undecided):
        s.compare(UNKNOWN, fmpq(0))


def test_a_ball_around_the_edge_of_a_domain_is_unknown() -> None:
    around_zero = arb(0, 1e-20)
    assert FUNCTIONS["log"](around_zero) is UNKNOWN
    assert FUNCTIONS["sqrt"](around_zero) is UNKNOWN
    assert s.div(fmpq(1), around_zero) is UNKNOWN
    assert isnan(FUNCTIONS["log"](arb(-3, 1)))


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("sqrt", fmpq(9, 4), fmpq(3, 2)),
        ("rsqrt", fmpq(9, 4), fmpq(2, 3)),
        ("cbrt", fmpq(-8, 27), fmpq(-2, 3)),
        ("exp", fmpq(0), fmpq(1)),
        ("exp2", fmpq(-3), fmpq(1, 8)),
        ("log", fmpq(1), fmpq(0)),
        ("logistic", fmpq(0), fmpq(1, 2)),
        ("lgamma", fmpq(2), fmpq(0)),
        ("erf", fmpq(0), fmpq(0)),
    ],
)
def test_known_values_are_exact(name: str, x: fmpq, y: fmpq) -> None:
    got = FUNCTIONS[name](x)
    assert type(got) is fmpq
    assert got == y


@pytest.mark.one_in(18)
@pytest.mark.parametrize("name", FUNCTIONS)
@given(x=st.fractions(min_value=-4, max_value=4, max_denominator=32))
def test_derivatives_enclose_difference_quotients(name: str, x: Fraction) -> None:
    function = FUNCTIONS[name]
    with s.precision(400):
        h = fmpq(1, 2**100)
        at, near, behind = (function(s.rational(x) + k * h) for k in (0, 1, -1))
        slope = function.derivative(s.rational(x), at)
        if not all(map(s.finite, (at, near, behind, slope))):
            return
        quotient = (near - behind) / (2 * h)
        assert abs(arb(quotient - slope)) < fmpq(1, 2**60) * (1 + abs(arb(slope)))


def test_huge_rationals_become_balls() -> None:
    x = fmpq(1, 3)
    for _ in range(14):
        x = s.mul(x, x)
    assert type(x) is arb


@pytest.mark.parametrize("x", [Fraction(5, 2), Fraction(-5, 2), Fraction(3, 2), Fraction(1, 2), Fraction(7, 3)])
def test_rounding(x: Fraction) -> None:
    import math

    from certgrad.obligations.balls._elementwise import round_away, round_even

    q = s.rational(x)
    assert round_even(q) == round(x)
    assert round_away(q) == int(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x))
    assert (s.floor(q), s.ceil(q), s.truncate(q)) == (math.floor(x), math.ceil(x), math.trunc(x))
    assert s.floor(arb(q)) in (UNKNOWN, math.floor(x))


@pytest.mark.parametrize(
    ("a", "b", "inside", "outside"),
    [(1, 3, (1, 2, 3), (4, 0)), (2, 2, (2,), (1, 3)), (-1, 5, (-1, 5), (6, -2))],
)
def test_either_encloses_both(a, b, inside, outside):
    found = s.either(fmpq(a), fmpq(b))
    assert all(s.ball(found).contains(x) for x in inside)
    assert not any(s.ball(found).contains(x) for x in outside)


def test_nothing_is_known_of_a_number_or_an_infinity():
    assert s.either(s.inf, fmpq(1)) is s.UNKNOWN
