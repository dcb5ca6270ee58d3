"""Each fact of a record is compared with the ball function at points of its domain, on both sides of 0."""

import pytest
from flint import arb

from certgrad.obligations.terms.functions import FUNCTIONS, Function

POINTS = [arb(k) / 8 for k in (-31, -20, -9, -7, -5, -2, -1, 1, 2, 3, 6, 7, 9, 17, 40)]
OF_ONE = {
    name: f for name, f in FUNCTIONS.items() if len(f.symbols) == 1 and name not in ("igamma_grad_a", "whole_power")
}


def values(f: Function) -> list[tuple[arb, arb]]:
    """Arguments in the domain, with the values there."""
    found = [(x, f.ball(x)) for x in POINTS]
    return [(x, y) for x, y in found if y.is_finite()]


@pytest.mark.parametrize("name", OF_ONE)
def test_facts_of_functions_of_one_number(name: str) -> None:
    f = OF_ONE[name]
    seen = values(f)
    assert len(seen) >= 3
    for x, y in seen:
        if f.parity and (mirrored := f.ball(-x)).is_finite():
            assert mirrored.overlaps(-y if f.parity == "odd" else y)
        if f.sign == "of its argument":
            assert (x * y) > 0
        if f.sign == ">= 0":
            assert not y < 0
        if f.sign == "> 0" or f.only_zero:
            assert y != 0
        if f.size:
            assert abs(y) < 1
    if f.at_zero is not None:
        assert f.ball(arb(0)).contains(arb(f.at_zero))


@pytest.mark.parametrize("name", ["igamma", "incomplete_beta"])
def test_masses_are_between_zero_and_one(name: str) -> None:
    f = FUNCTIONS[name]
    for a in POINTS[8:]:
        for x in (arb(1) / 9, arb(1) / 2, arb(7) / 8):
            y = f.ball(*[a] * (len(f.symbols) - 1), x)
            assert 0 < y < 1


def test_signs_that_an_odd_function_alone_does_not_have() -> None:
    assert FUNCTIONS["sin"].sign == ""
    assert not FUNCTIONS["sin"].only_zero
