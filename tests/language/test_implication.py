"""Which hypotheses follow from others, as trees: what is said to follow does, and the forms that occur are seen."""

from __future__ import annotations

from typing import Any

import pytest

from certgrad.language import tree as t
from certgrad.language.implication import implies
from certgrad.language.parse import conjuncts, parse


def statements(text: str) -> list[t.Statement]:
    return [*conjuncts(parse(text, ("x", "y", "z")))]


IMPLIED = [
    (["x > 0"], "x != 0", True),
    (["x > 0"], "x >= 0", True),
    (["x >= 0"], "x > 0", False),
    (["x >= 0", "x != 0"], "x > 0", True),
    (["x >= 1"], "x > 0", True),
    (["x > 0"], "x > 1", False),
    (["x != 0", "y != 0"], "x*y != 0", True),
    (["x*y != 0"], "x != 0", True),
    (["x != 0"], "x*y != 0", False),
    (["x != 0"], "x**2 != 0", True),
    (["x != 0"], "0*x != 0", False),
    (["x != y"], "y != x", True),
    (["2*x != 4*y"], "2*y - x != 0", True),
    (["x != y"], "y != 2*x", False),
    (["x > 0"], "x > 0 or y > 0", True),
    (["x > 0 or y > 0"], "x > 0", False),
    (["x > 0 or x < 0"], "x != 0", True),
    (["x > 1 or y > 1"], "x > 0 or y > 0", True),
    (["x > 0"], "y > 0", False),
    ([], "x > 0", False),
]


@pytest.mark.parametrize(("known", "asked", "follows"), IMPLIED)
def test_implication(known: list[str], asked: str, follows: bool) -> None:
    (statement,) = statements(asked)
    assert implies([s for text in known for s in statements(text)], statement) == follows


def test_implication_under_binders() -> None:
    def of(relation: Any, variable: str, guards: tuple[t.Statement, ...] = ()) -> t.Statement:
        holds = t.Compare(relation, t.Entry("x", (t.Index(variable),)), t.ZERO)
        over = (t.Range(variable, t.Size("n")),)
        return t.ForAll(over, t.Where(guards, holds) if guards else holds)

    kept = t.Compare(">", t.Entry("y", ()), t.ZERO)
    assert implies([of(">", "i")], of("!=", "j"))
    assert implies([of(">", "i")], of(">", "i", (kept,)))
    assert implies([of(">", "i", (kept,))], of("!=", "j", (kept,)))
    assert not implies([of(">", "i", (kept,))], of(">", "i"))
    assert not implies([of("!=", "i")], of(">", "i"))


def test_no_variable_is_taken_for_another() -> None:
    i, j = (t.Index(v) for v in "ij")
    of_i, of_j = ((t.Range(v, t.Size("n")),) for v in "ij")

    def above(k: t.Index) -> t.Statement:
        return t.Compare(">", t.Entry("x", (i, j)), t.Entry("y", (k,)))

    def nested(k: t.Index) -> t.Statement:
        return t.ForAll(of_i, t.ForAll(of_j, above(k)))

    assert implies([nested(i)], nested(i))
    assert not implies([nested(i)], nested(j))
    assert implies([t.ForAll(of_j, above(i))], t.ForAll(of_j, above(i)))
    assert not implies([t.ForAll(of_j, above(i))], t.ForAll(of_j, above(j)))
    assert implies([above(i)], above(i))
    assert not implies([above(i)], above(j))
