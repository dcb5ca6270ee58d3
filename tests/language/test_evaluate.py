"""Statements evaluated exactly: true, false, undefined, and what does not fit."""

from fractions import Fraction

import numpy as np
import pytest

from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.coding import decode, encode
from certgrad.language.parse import parse
from certgrad.language.reader import MAX_TERMS
from certgrad.obligations.balls import Undecided
from certgrad.obligations.balls._scalars import rational
from certgrad.obligations.balls.statements import evaluate
from tests.language.boundaries import near_boundaries

NAMES = ("x", "y", "k", "eps")


def array(*values: object) -> np.ndarray:
    return np.vectorize(lambda x: rational(Fraction(x)), otypes=[object])(
        np.array(values[0] if len(values) == 1 else values, dtype=object)
    )


POINT = {"x": array([[1, 2, 3], [-1, -2, -3]]), "y": array([1, 2, 4]), "k": np.array([2, 0]), "eps": array("1/10")}
SIZES = {"n": 3, "b": 2}
I, J, K = t.Index("i"), t.Index("j"), t.Index("k")
X, Y = t.Entry("x", (I, J)), t.Entry("y", (J,))
ROWS, COLUMNS = t.Range("i", t.Axis("x", 0)), t.Range("j", t.Axis("x", 1))


def number(text: object) -> t.Number:
    return t.Number(str(text))


def minus(a: t.Term, b: t.Term) -> t.Term:
    return t.Add((a, t.Mul((number(-1), b))))


def fold(kind: str, body: t.Term, *over: t.Range, where: tuple[t.Statement, ...] = ()) -> t.Fold:
    return t.Fold(kind, over or (COLUMNS,), body, where)  # type: ignore[arg-type]


def every_row(holds: t.Statement) -> t.Statement:
    return t.ForAll((ROWS,), holds)


def compare(left: t.Term, relation: str, right: object) -> t.Compare:
    return t.Compare(relation, left, right if isinstance(right, t.Node) else number(right))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, true",
    [
        ("x != 0", True),
        ("x > 0", False),
        ("x > -4", True),
        ("x != y", False),
        ("x - y != 0 or eps == 1/10", True),
        ("x*y >= -12", True),
        ("-4 < x < 4 and y > 0", True),
        ("x not in integers", False),
        ("x - 1/2 not in integers", True),
        ("x + 4 not in nonpositive_integers", True),
        ("x + 3 not in nonpositive_integers", False),
        ("abs(x) > 1/2", True),
        ("exp(x) > 0", True),
        ("sqrt(y) == 2 or y < 4", True),
        ("log(x) > 0", False),
        ("log(x) > 0 or x < 100", True),
        ("1/(x - 4) < 0", True),
        ("1/(x - 1) != 5", None),
        ("log(x) > -5", None),
        ("log(x) > 3", False),
    ],
)
def test_what_users_write(text: str, true: bool | None) -> None:
    assert evaluate(parse(text, NAMES), POINT, SIZES) is true


MATRIX = (t.Range("i", number(2)), t.Range("j", number(2)))

STATEMENTS = [
    (every_row(compare(fold("sum", t.Power(X, "2")), "=", 14)), True),
    (every_row(compare(fold("maximum", X), ">", 0)), False),
    (every_row(compare(fold("product", X), "!=", 5)), True),
    (compare(fold("sum", number(1), t.Range("j", t.Size("n"))), "=", 3), True),
    (compare(fold("sum", Y, t.Range("j", number(2))), "=", 3), True),
    (compare(fold("maximum", Y, t.Range("j", t.Axis("y", 0)), where=(compare(J, "<=", 1),)), "=", 2), True),
    (compare(fold("maximum", Y, t.Range("j", t.Axis("y", 0)), where=(compare(J, ">", 5),)), "=", 2), None),
    (compare(fold("product", Y, t.Range("j", t.Axis("y", 0)), where=(compare(J, "!=", 1),)), "=", 4), True),
    (compare(t.Entry("x", (number(0), number(2))), "=", 3), True),
    (every_row(compare(t.Entry("x", (number(0), t.Entry("k", (I,)))), ">", 2)), False),
    (every_row(t.Unique((COLUMNS,), X)), True),
    (every_row(t.Unique((COLUMNS,), minus(t.Power(X, "2"), t.Mul((number(4), X))))), False),
    (every_row(t.Distinct((COLUMNS,), X)), True),
    (t.Distinct((COLUMNS,), minus(t.Power(Y, "2"), t.Mul((number(3), Y)))), False),
    (t.ForAll((ROWS, COLUMNS), t.Where((compare(X, ">", 0),), compare(t.Apply("log", (X,)), ">=", 0))), True),
    (t.ForAll((ROWS, COLUMNS), compare(t.Apply("log", (X,)), ">=", 0)), None),
    (compare(t.Matrix("determinant", MATRIX, minus(X, t.Truth(compare(minus(I, J), "=", 0)))), "=", 2), True),
    (compare(t.Matrix("inverse", MATRIX, minus(X, J), (number(0), number(1))), "!=", 0), True),
    (
        compare(t.Matrix("smallest minor", MATRIX, t.Truth(compare(minus(I, J), "=", 0))), ">", 0),
        True,
    ),
    (compare(t.Matrix("pivot gap", MATRIX, minus(X, J)), ">", 0), False),
    (compare(t.Matrix("pivot gap", MATRIX, minus(X, I)), ">", 0), True),
    (compare(t.Chosen("pivots", MATRIX, (minus(X, I),), (), 0, (number(0),)), "=", 1), True),
    (compare(t.Chosen("pivoted", MATRIX, (minus(X, I),), (), 0, (number(0),)), "=", 1), True),
    (compare(t.Apply("remainder", (number(7), number(4))), "=", 3), True),
    (compare(t.Apply("quotient", (number(-7), number(4))), "=", -2), True),
    (compare(t.Apply("cos", (t.Constant("pi"),)), "<", 0), True),
    (compare(t.Chosen("argmax", (COLUMNS,), (Y,), (), 0), "=", 2), True),
    (compare(t.Chosen("order", (COLUMNS,), (t.Entry("x", (number(1), J)),), (), 0, (number(0),)), "=", 2), True),
    (
        compare(
            t.Carry(
                t.Loop(
                    "c",
                    "s",
                    (t.CarryOf((), number(1), t.Mul((number(3), t.Carried("c", 0, t.Index("s"), ())))),),
                ),
                0,
                number(4),
                (),
            ),
            "=",
            81,
        ),
        True,
    ),
]


@pytest.mark.parametrize("statement, true", STATEMENTS)
def test_truth(statement: t.Statement, true: bool | None) -> None:
    assert evaluate(statement, POINT, SIZES) is true
    assert evaluate(decode(encode(statement)), POINT, SIZES) is true


def test_what_balls_cannot_tell_is_open() -> None:
    with pytest.raises(Undecided):
        evaluate(parse("exp(x)*exp(-x) > 1", NAMES), POINT, SIZES)


@pytest.mark.parametrize(
    "statement",
    [
        parse("z > 0", ("z",)),
        compare(X, ">", 0),
        t.ForAll((ROWS,), compare(X, ">", 0)),
        compare(t.Size("m"), ">", 0),
        compare(t.Array("x"), ">", t.Entry("y", (number(0),))),
        compare(t.Entry("y", (number(3),)), ">", 0),
        compare(t.Entry("y", (number(0), number(0))), ">", 0),
        compare(fold("sum", Y, t.Range("j", number(MAX_TERMS + 1))), ">", 0),
        compare(t.Apply("open", (number(1),)), ">", 0),
        compare(t.Apply("__import__", (number(1),)), ">", 0),
        compare(t.Constant("e"), ">", 0),
        compare(t.Matrix("determinant", (ROWS, COLUMNS), X), "!=", 0),
        compare(t.Carried("c", 0, number(0), ()), ">", 0),
        t.Words("x is nice"),
        t.OffBoundaries("x is nice"),
    ],
)
def test_what_does_not_fit_is_refused(statement: t.Statement) -> None:
    with pytest.raises(UnfitError):
        evaluate(statement, POINT, SIZES)


def test_points_near_a_boundary_lie_on_it_and_on_both_sides() -> None:
    statement = every_row(compare(fold("sum", X), "!=", 0))
    point = {"x": array([[1, 2], [3, 4]])}
    found = list(near_boundaries(statement, point, {}))
    assert {evaluate(statement, one, {}) for one in found} == {True, False}
    assert len(found) >= 8
