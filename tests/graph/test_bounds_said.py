"""What is said of where a value is: every relation of `_bounds` read back as comparisons that mean it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from certgrad.graph.lemmas import bounds
from certgrad.obligations.balls._scalars import rational
from certgrad.obligations.balls.statements import evaluate

PLACES = [Fraction(k, 2) for k in (-4, -2, -1, 0, 1, 2, 4)]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_a_relation_holds_where_it_says(count: int) -> None:
    for places in itertools.combinations(PLACES, count):
        where = bounds.of_array(np.array([float(p) for p in places]))
        relation = bounds.relation(where)
        assert bounds.parse_relation(relation) == where if relation else True, relation
        read = bounds.statements("x", where)
        for p in PLACES:
            point = {"x": np.array(rational(p), dtype=object)}
            true = all(evaluate(one, point, {}) for one in read)
            assert true == bounds.holds(p, where), (relation, p)


@pytest.mark.parametrize("text", ["positive", "> 2", "in (0, 2]", "> 0 or < 1", "__import__('os')"])
def test_everything_else_is_refused(text: str) -> None:
    assert bounds.parse_relation(text) is None
