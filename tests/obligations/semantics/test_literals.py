"""Literals that stand for constants: the nearest double, and nothing near it."""

import numpy as np
import pytest
import sympy

from certgrad.obligations._terms import ONE
from certgrad.obligations.semantics._literals import _table, constant_of


@pytest.mark.parametrize(
    "value, text",
    [
        (1 / 3, "0.3333333333333333 stands for 1/3"),
        (-1 / 3, "-0.3333333333333333 stands for −1/3"),
        (float((2 / sympy.sqrt(sympy.pi)).evalf(40)), "1.1283791670955126 stands for 2/√π"),
        (float(sympy.log(2).evalf(40)), "0.6931471805599453 stands for log(2)"),
        (np.pi, "3.141592653589793 stands for π"),
    ],
)
def test_a_double_stands_for_the_constant_nearest_to_it(value: float, text: str) -> None:
    found = constant_of(np.float64(value))
    assert found is not None
    assert found[0] == text


def test_the_terms_are_the_constants() -> None:
    third = constant_of(np.float64(1 / 3))
    assert third is not None
    assert third[1] + third[1] + third[1] == ONE


@pytest.mark.parametrize("value", [0.5, 0.1, 2.0, 0.125, 0.0, 1 / 3 + 1e-16, 0.333333, np.inf, np.nan])
def test_other_doubles_are_read_as_they_are_written(value: float) -> None:
    assert constant_of(np.float64(value)) is None


def test_only_doubles_are_read() -> None:
    assert constant_of(np.float32(1 / 3)) is None
    assert constant_of(np.int64(3)) is None


def test_each_constant_is_within_half_a_unit_of_its_double() -> None:
    for double, (text, constant) in list(_table().items())[::9]:
        exact = sympy.Rational(double)
        for neighbour in (np.nextafter(double, np.inf), np.nextafter(double, 0)):
            further = abs(constant - sympy.Rational(float(neighbour))).evalf(60)
            assert abs(constant - exact).evalf(60) < further, text
