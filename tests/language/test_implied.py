"""Which comparisons say nothing beside another: by the structure of statements, not by their text."""

import pytest

from certgrad.language import tree as t
from certgrad.language.implied import unsaid

X = t.Entry("x", (t.Index("i"),))
Y = t.Entry("y", (t.Index("i"),))
I = t.Range("i", t.Axis("x", 0))


def number(value):
    return t.Number(str(value))


def square(term):
    return t.Power(term, "2")


def less(term, value):
    return t.Add((term, number(-value)))


def every(relation, left, right=t.ZERO):
    return t.ForAll((I,), t.Compare(relation, left, right))


def wherever(relation, left, at_least=">"):
    """The comparison wherever x > 0, or x ≥ 0."""
    return t.ForAll((I,), t.Where((t.Compare(at_least, X, t.ZERO),), t.Compare(relation, left, t.ZERO)))


def somewhere(relation):
    """A comparison at places of which nothing says how far they go."""
    return t.ForAll((t.Range("i", t.UNKNOWN),), t.Compare(relation, X, t.ZERO))


MORE_THAN_1 = every(">", less(X, 1))


@pytest.mark.parametrize(
    ("one", "two", "dropped"),
    [
        (MORE_THAN_1, every(">", less(square(X), 1)), {1}),
        (every(">", less(square(X), 1)), MORE_THAN_1, {0}),
        (MORE_THAN_1, every("!=", X), {1}),
        (MORE_THAN_1, every(">", X, number(1)), {1}),
        (every("<", X, number(-1)), every(">", less(square(X), 1)), {1}),
        (every("<", X), every(">=", t.Mul((number(-1), X))), {1}),
        (every(">=", less(X, 1)), every("!=", less(X, 1)), set()),
        (every(">=", less(X, 1)), every(">", less(square(X), 1)), set()),
        (MORE_THAN_1, every(">", less(square(X), 2)), set()),
        (MORE_THAN_1, every("<", less(square(X), 1)), set()),
        (MORE_THAN_1, every(">", Y), set()),
        (MORE_THAN_1, t.Compare(">", X, t.ZERO), set()),  # of another i
        (MORE_THAN_1, every("!=", t.Add((X, t.Entry("y"), number(1)))), set()),
        (every(">", less(square(X), 1)), every("!=", less(X, 1)), set()),
        (every(">", t.Add((X, Y))), every("!=", t.Add((X, Y))), {1}),
        (wherever(">", Y), wherever("!=", Y), {1}),
        (wherever(">", Y), every("!=", Y), set()),
        (somewhere(">"), somewhere("!="), set()),
        (wherever(">", Y), wherever(">", Y, at_least=">="), set()),
        (every("!=", t.Mul((number(-2), X)), t.Mul((number(2), Y))), every("<", t.Add((X, Y))), {0}),
        (every(">", t.Add((X, Y))), every(">", t.Add((X, Y)), number(-1)), {1}),
        (every(">", t.Add((X, Y))), every(">", t.Add((X, Y)), number(1)), {0}),
        (every(">", t.Add((X, Y))), every("<", t.Add((X, Y)), number(1)), set()),
        (every(">", t.Add((X, Y))), every("!=", t.Add((X, t.Mul((number(-1), Y))))), set()),
        (every("!=", t.Add((X, Y))), every("!=", t.Add((X, Y, number(1)))), set()),
        (every(">", t.Add((X, t.Mul((X, Y))))), every(">=", t.Add((X, t.Mul((X, Y))))), {1}),
    ],
)
def test_what_another_implies(one, two, dropped):
    assert unsaid([one, two]) == dropped
