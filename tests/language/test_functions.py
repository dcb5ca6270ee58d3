"""A function has the same value by each arithmetic; each fact of its record is compared with its enclosure at points on
both sides of 0."""

import jax
import numpy as np
import pytest
from flint import arb, fmpq

from certgrad.language import places
from certgrad.language import tree as t
from certgrad.language.floats import Floats
from certgrad.language.functions import FUNCTIONS, Function, ball
from certgrad.language.parse import FUNCTIONS as WRITTEN
from certgrad.language.reader import Reader, Scope
from certgrad.obligations.balls import Undecided
from certgrad.obligations.balls.statements import BALLS

POINTS = [arb(k) / 8 for k in (-31, -20, -9, -7, -5, -2, -1, 1, 2, 3, 6, 7, 9, 17, 40)]
OF_ONE = {name: f for name, f in FUNCTIONS.items() if f.ball is not None and f.arguments == ("real",)}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_a_function_that_may_be_written(name: str) -> None:
    term, at = t.Apply(name, (t.Array("x"),)), 1.25 if name == "acosh" else -0.75 if name == "logistic" else 0.625
    by_floats = Reader(Floats()).read(term)(Scope({"x": np.asarray(at)}, {}))
    exactly = np.asarray(fmpq(*at.as_integer_ratio()), dtype=object)
    with jax.enable_x64(True):
        found = places.question(t.Compare("=", term, t.ZERO), {"x": np.asarray(at)}, {}).counted()
    assert found.sides is not None
    assert float(found.sides[0]) == pytest.approx(by_floats, rel=1e-9)
    assert float(Reader(BALLS).read(term)(Scope({"x": exactly}, {}))) == pytest.approx(by_floats, rel=1e-9)


def values(f: Function) -> list[tuple[arb, arb]]:
    """Arguments in the domain, with the values there."""
    assert f.ball is not None
    found = [(x, f.ball(x)) for x in POINTS]
    return [(x, y) for x, y in found if y.is_finite()]


def holds(f: Function, x: arb) -> bool:
    """Whether it is defined at the point."""
    asked = Reader(BALLS).read(f.domain(t.Array("x")))
    return bool(asked(Scope({"x": np.asarray(fmpq(int(8 * float(x)), 8), dtype=object)}, {})))


@pytest.mark.parametrize("name", OF_ONE)
def test_facts_of_functions_of_one_number(name: str) -> None:
    f = OF_ONE[name]
    seen = values(f)
    assert len(seen) >= 3
    for x, y in seen:
        if f.parity and (mirrored := ball(name)(-x)).is_finite():
            assert mirrored.overlaps(-y if f.parity == "odd" else y)
        if f.sign == "of its argument":
            assert (x * y) > 0
        if f.sign == ">= 0":
            assert not y < 0
        if f.sign == "> 0" or f.only_zero:
            assert y != 0
        if f.size:
            assert abs(y) < 1
        if f.whole:
            assert y.unique_fmpz() is not None
    if f.monotone:
        inside = [y for x, y in seen if holds(f, x)]
        assert inside == sorted(inside, key=float, reverse=f.monotone == "decreasing")
        assert len(inside) == len({float(y) for y in inside})
    if f.at_zero is not None:
        assert ball(name)(arb(0)).contains(arb(f.at_zero))


@pytest.mark.parametrize("name", OF_ONE)
def test_a_function_has_a_value_where_it_is_defined_and_only_there(name: str) -> None:
    for x in POINTS:
        try:
            inside = holds(OF_ONE[name], x)
        except Undecided:
            continue
        found = ball(name)(x)
        assert bool(found.is_finite()) == inside or (name == "spence" and not inside), x


@pytest.mark.parametrize("name", ["igamma", "incomplete_beta"])
def test_masses_are_between_zero_and_one(name: str) -> None:
    for a in POINTS[8:]:
        for x in (arb(1) / 9, arb(1) / 2, arb(7) / 8):
            y = ball(name)(*[a] * (len(FUNCTIONS[name].arguments) - 1), x)
            assert 0 < y < 1


def test_signs_that_an_odd_function_alone_does_not_have() -> None:
    assert FUNCTIONS["sin"].sign == ""
    assert not FUNCTIONS["sin"].only_zero
