"""Formulas: read strictly, and evaluated exactly."""

from fractions import Fraction

import numpy as np
import pytest

from certgrad.obligations.balls import Undecided
from certgrad.obligations.balls._scalars import rational
from certgrad.obligations.verify._formulas import MAX_LENGTH, FormulaError, parse

NAMES = frozenset({"x", "y", "k", "eps"})


def array(*values: object) -> np.ndarray:
    return np.vectorize(lambda x: rational(Fraction(x)), otypes=[object])(
        np.array(values[0] if len(values) == 1 else values, dtype=object)
    )


POINT = {"x": array([[1, 2, 3], [-1, -2, -3]]), "y": array([1, 2, 4]), "k": np.array([2, 0]), "eps": array("1/10")}
SIZES = {"n": 3, "b": 2}


@pytest.mark.parametrize(
    "text, true",
    [
        ("x != 0", True),
        ("x > 0", False),
        ("x > -4", True),
        ("x != y", False),
        ("x - y != 0 or eps == 1/10", True),
        ("x*y >= -12", True),
        ("x[i, j] < 4", True),
        ("x[0, j] > 0", True),
        ("x[i, 2]**2 == 9", True),
        ("sum(x[i, j]**2 for j in range(size(n))) == 14", True),
        ("max(x[i, j] for j in range(size(n))) > 0", False),
        ("sum(1 for j in range(size(n))) == 3", True),
        ("x[0, k[i]] > 0", True),
        ("y[k[i]] != 2", True),
        ("x not in integers", False),
        ("x - 1/2 not in integers", True),
        ("x + 4 not in nonpositive_integers", True),
        ("x + 3 not in nonpositive_integers", False),
        ("abs(x) > 1/2", True),
        ("exp(x) > 0", True),
        ("sqrt(y) == 2 or y < 4", True),
        ("step(x)*x >= 0", True),
        ("y**(1/2) > 0", True),
        ("y**(-1) < 2", True),
        ("(7 % 4) // 2 == 1", True),
        ("log(x) > 0", False),
        ("1/(x - 1) > 0 or x < 10", True),
        ("cos(pi) < 0", True),
        ("floor(x/2)*2 == x or abs(x) != 2", True),
        ("determinant(x[i, j] + step(i - j) for i in range(2) for j in range(2)) == -2", True),
        ("max(y[i] for i in range(size(n)) if i <= 1) == 2", True),
        ("max(y[i] for i in range(size(n)) if i >= 1 if i < 2) == 2", True),
        ("prod(y[i] for i in range(size(n)) if i != 1) == 4", True),
        ("argmax_count(x[i, j] for j in range(size(n))) == 1", True),
        ("argmax_count(x[i, j]**2 - 4*x[i, j] for j in range(size(n))) == 1", False),
        ("argmax_count(abs(y[i] - 3) for i in range(size(n)) if i >= 1) == 2", True),
        ("all(y[j] > j for j in range(size(n)))", True),
        ("all(y[j] > j + k[i] for j in range(size(n)))", False),
        ("all(x[i, j] <= 3 for j in range(size(n)) if j < 2) or y < 0", True),
        ("y[j] < 4 or all(y[j] > j for j in range(size(n)))", True),
        ("all(max(x[i, k] for k in range(3) if k <= j) >= x[i, j] for j in range(3))", True),
        ("smallest_minor(x[i, j]*step(1 - i - j) + step(i*j) for i in range(2) for j in range(2)) == 1", True),
    ],
)
def test_truth(text: str, true: bool) -> None:
    assert parse(text, NAMES).holds(POINT, SIZES) is true


def test_false_entries_are_named() -> None:
    assert list(parse("x != y", NAMES).failing(POINT, SIZES)) == [(0, 0), (0, 1)]


def test_what_balls_cannot_tell_is_open() -> None:
    with pytest.raises(Undecided):
        parse("exp(x)*exp(-x) > 1", NAMES).holds(POINT, SIZES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x +",
        "x > 0 and y > 0",
        "not x > 0",
        "z > 0",
        "open('/etc/passwd') > 0",
        "__import__('os') > 0",
        "x.shape > 0",
        "(lambda: 1)() > 0",
        "[x for x in y] > 0",
        "x > 'a'",
        "x > True",
        "x > 1j",
        "x is y",
        "x in y",
        "x not in y",
        "sum(x) > 0",
        "sum(x[i] for i in y) > 0",
        "sum(x[i] for i in range(size(n)) if i) > 0",
        "sum(y[i] for i in range(size(n)) if y[i] > 0 and i > 0) > 0",
        "sum(y[i] for i in range(1, size(n))) > 0",
        "determinant(x[i, j] for i in range(2) for j in range(2) if i != j) != 0",
        "all(y[j] for j in range(size(n)))",
        "all([y[j] > 0 for j in range(size(n))])",
        "all(x > 0)",
        "all(y[j] > 0 for j in range(size(n))) > 0",
        "step(y[j] > 0 for j in range(size(n))) > 0",
        "exp(x, y) > 0",
        "exp(x=1) > 0",
        "x := 1",
        "x > 0; y > 0",
        "x[i] > i.real",
        "(" * 5000,
        "-" * 9000 + "x > 0",
        "x > 0" + " " * MAX_LENGTH,
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text, NAMES).holds(POINT, SIZES)


@pytest.mark.parametrize(
    "text",
    [
        "sum(1 for j in range(10**9)) > 0",
        "x[i] > 0",
        "y[i, j] > 0",
        "x[5, i] > 0",
        "x[i, j] > y[j] + x[j, i]",
        "size(m) > 0",
        "x[i, j] > y",
        "max(y[i] for i in range(size(n)) if i > 5) > 0",
        "all(x[i, j] > 0 for j in range(10**9))",
    ],
)
def test_a_formula_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text, NAMES).holds(POINT, SIZES)
