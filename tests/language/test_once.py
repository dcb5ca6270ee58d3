"""What is said once of several hypotheses: one for all ranks, none that always holds or that others imply."""

from __future__ import annotations

from typing import Any

import pytest

from certgrad.language import tree as t
from certgrad.language.implication import implies
from certgrad.language.once import merge_rank_variants, needless
from certgrad.language.parse import conjuncts, parse
from certgrad.language.text import text

NAMES = "ijklabc"


def squares(rank: int, *more: t.Term, last: int = 1) -> t.Statement:
    """That Σ x[…,j]² and more is above 0, with so many axes before the last ones."""
    every = NAMES[: rank + last]
    index = tuple(map(t.Index, every))
    ranges = tuple(t.Range(v, t.Axis("x", k)) for k, v in enumerate(every))
    total = t.Fold("sum", ranges[rank:], t.Power(t.Entry("x", index), "2"))
    holds = t.Compare(">", t.sum_of_terms([total, *more]), t.ZERO)
    return t.ForAll(ranges[:rank], holds) if rank else holds


def test_one_statement_stands_for_all_ranks() -> None:
    scaled = t.Mul((t.Size("d"), t.Entry("eps")))
    every = [squares(rank, scaled) for rank in (4, 5, 6, 1, 2, 3)]
    (said,) = merge_rank_variants(every).items()
    assert (said[0], text(said[1])) == (3, "(Σj x[…,j]^2) > −d·eps")
    beside = squares(2, last=2)
    assert [text(s) for s in merge_rank_variants([beside, *every[3:]]).values()] == [
        text(beside),
        "(Σj x[…,j]^2) > −d·eps",
    ]


def test_the_axes_may_stand_behind_others_and_in_several_arrays() -> None:
    def of(rank: int) -> t.Statement:
        names = NAMES[: rank + 1]
        ranges = tuple(t.Range(v, t.Axis("x", k)) for k, v in enumerate(names))
        y = t.Entry("y", tuple(map(t.Index, names[1:])))
        return t.ForAll(ranges, t.Compare("!=", t.Add((t.Entry("x", tuple(map(t.Index, names))), y)), t.ZERO))

    assert [text(s) for s in merge_rank_variants([of(1), of(2), of(3)]).values()] == ["y[…] + x[i,…] ≠ 0"]


def changed(rank: int, index: tuple[t.Term, ...]) -> t.Statement:
    statement: Any = squares(rank)
    (over,) = statement.holds.left.over
    total = t.Fold("sum", (over,), t.Power(t.Entry("x", index), "2"))
    return t.ForAll(statement.over, t.Compare(">", total, t.ZERO))


I, J, K = map(t.Index, "ijk")
OTHERS = [
    [squares(1), squares(3)],  # a rank is missing between
    [squares(1), squares(2, last=2)],
    [squares(1), squares(2, t.Axis("x", 1))],
    [squares(1, t.Axis("x", 0)), squares(2, t.Axis("x", 0))],  # the size of the axis is part of what is said
    [squares(1, I), squares(2, I)],
    [changed(1, (J, I)), changed(2, (K, J, I))],  # which variable is that of the range matters
    [squares(1), changed(2, (J, I, K))],
]


@pytest.mark.parametrize("statements", OTHERS)
def test_what_is_another_statement_is_said_beside_it(statements: list[t.Statement]) -> None:
    assert merge_rank_variants(statements) == dict(enumerate(statements))


def kept(*index: str) -> t.Statement:
    return t.Compare("!=", t.Truth(t.Compare(">", t.Entry("keep", tuple(map(t.Index, index))), t.ZERO)), t.ZERO)


def counted(relation: Any, over: t.Term, *guards: t.Statement, variable: str = "k") -> t.Statement:
    """That a number of kept entries is above 0, or not 0, wherever others are kept."""
    term = t.Truth(t.Compare(">", t.Entry("keep", (t.Index("i"), t.Index(variable))), t.ZERO))
    total = t.Fold("sum", (t.Range(variable, over),), term)
    ranges = (t.Range("i", t.Axis("keep", 0)), t.Range("j", t.Axis("keep", 1)))
    holds: t.Statement = t.Compare(relation, total, t.ZERO)
    return t.ForAll(ranges, t.Where(guards, holds) if guards else holds)


AXIS = t.Axis("keep", 1)
ALWAYS = [
    (counted(">", AXIS, kept("i", "j")), True),
    (counted("!=", AXIS, kept("i", "j")), True),
    (counted(">", AXIS, kept("j", "i")), False),
    (counted(">", t.Axis("keep", 0), kept("i", "j")), False),
    (counted(">", t.Size("n"), kept("i", "j")), False),
    (counted(">", AXIS), False),
    (counted(">=", AXIS), True),
    (t.Compare(">=", t.Fold("sum", (t.Range("i", t.Axis("x", 0)),), t.Entry("x", (I,))), t.ZERO), False),
    (squares(1), False),
]


@pytest.mark.parametrize(("statement", "always"), ALWAYS)
def test_what_always_holds_is_implied_by_nothing(statement: t.Statement, always: bool) -> None:
    assert implies([], statement) is always


def test_what_always_holds_or_follows_is_not_said_beside_others() -> None:
    always = counted(">", AXIS, kept("i", "j"))
    above, apart = conjuncts(parse("x > 0 and x != 0", ("x",)))
    assert needless([apart, above, always]) == {0, 2}
    assert needless([always]) == set(), "a verdict under hypotheses names one"
    unguarded, guarded = counted("!=", AXIS), counted("!=", AXIS, kept("j", "i"))
    assert needless([unguarded, guarded]) == {1}
