"""Expressions of indices alone, compiled: the values that the reader gives."""

from itertools import product

import pytest

from certgrad.language import tree as t
from certgrad.language.reader import Reader, Scope
from certgrad.obligations.balls.statements import BALLS
from certgrad.specification.places import of_indices

I, J, ONE, THREE = t.Index("i"), t.Index("j"), t.Integer(1), t.Integer(3)
TERMS = [I + J * THREE - ONE, -(I // THREE) * J, (I - J * THREE) % THREE, t.If(t.Compare("<", I, J), I * I, J - I)]
STATEMENTS = [
    t.Compare("<=", I // THREE, J),
    t.Both((t.Compare("=", (I * THREE + J) % THREE, ONE), t.Not(t.Compare("<", J, I)))),
    t.Either((t.Compare("!=", I, J), t.Compare(">", I, ONE))),
]


@pytest.mark.parametrize("x", [*TERMS, *STATEMENTS])
def test_a_compiled_expression_has_the_value_that_is_read(x: t.Node) -> None:
    compiled, read = of_indices(x), Reader(BALLS).read(x)
    assert compiled is not None
    for i, j in product(range(-4, 5), repeat=2):
        assert compiled({"i": i, "j": j}) == read(Scope({}, {}, indices={"i": i, "j": j}))


def test_what_speaks_of_more_is_left() -> None:
    for x in (I // J, I + t.Size("n"), t.SortedEntry("x", (I,), "integer") + I, t.Add(()), t.Both(())):
        assert of_indices(x) is None
    long: t.Node = I
    for _ in range(100):
        long = long + I
    assert of_indices(long) is None
