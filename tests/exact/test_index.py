"""Which integers are differences of places along a line; programs in which reads are sums mean what they did."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from certgrad.exact._index import NoTheoremError, gap, laid_out
from certgrad.exact._places import Places
from certgrad.language import tree as t
from certgrad.specification.evaluate import Evaluation, deep
from certgrad.specification.reading import meaning
from tests.exact.test_places import RIGHT
from tests.specification.numerics import BALLS, ball

N = t.Size("n")
I, J, P = map(t.Index, "ijp")
LABEL = t.SortedEntry("k", (), "integer")
SCOPE = {"i": N, "j": N, "p": t.Mul((t.Integer(2), N)), "h": t.Integer(3)}
ONE = t.Integer(1)


@pytest.mark.parametrize(
    "form, relation, span",
    [
        ({I: 1, J: -1}, "<", 0),
        ({I: 1, J: -1, ONE: -1}, "=", 2),
        ({I: 1, N: -1, ONE: 4}, "<", 5),
        ({I: 1, t.Index("h"): -1}, "=", 3),
        ({P: 1, I: -1, N: -1}, "=", 0),
        ({P: 1, N: -1}, "<", 0),
        ({P: 1, N: -1, t.Index("h"): 1}, "<", 3),
        ({LABEL: 1, N: 1}, "<", 0),
        ({LABEL: 1, I: -1, N: 1}, "=", 0),
        ({LABEL: 1, ONE: 1}, "=", 2),
        ({I: 1, J: 1, N: -1, ONE: 1}, "=", 2),
    ],
)
def test_by_how_much_places_have_to_be_told_apart(form: Any, relation: Any, span: int) -> None:
    assert gap(form, relation, SCOPE).span == span


@pytest.mark.parametrize(
    "form", [{I: 2, N: -1}, {I: 1, J: 1}, {P: 1, J: 1, N: -1}, {LABEL: 1, N: -2}, {LABEL: 2, N: -1}]
)
def test_what_is_no_difference_of_places(form: Any) -> None:
    with pytest.raises(NoTheoremError):
        gap(form, "<", SCOPE)


def test_sizes_are_laid_behind_one_another() -> None:
    both = frozenset({"n", "m"})
    apart = ((1, "p", both), (-1, "n", frozenset()), (-1, "j", frozenset({"m"})))
    assert laid_out([apart], ["m", "n"]) == {"m": "n", "n": ""}
    assert laid_out([((1, "i", frozenset({"n"})), (-1, "m", frozenset()))], ["m", "n"]) == {"m": "", "n": ""}
    assert laid_out([apart, ((1, "i", frozenset({"n"})), (-1, "j", frozenset({"m"})))], ["m", "n"]) is None


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_read_elsewhere_is_a_sum(name: str) -> None:
    function, signature = RIGHT[name]
    scope = export.SymbolicScope()
    shapes = [export.symbolic_shape(one.strip().replace(" ", ", "), scope=scope) for one in signature.split(",")]
    with jax.enable_x64(True):
        traced = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes))
    program = meaning(traced)
    sizes = {"n": 3, "m": 4}
    found = []
    for one in (program, Places(program).changed()):
        at = Evaluation(one, sizes, lambda name, index: BALLS.number(len(name) + 3 * sum(index) ** 2 - 7), BALLS)
        with deep():
            shape = at.shape(one.outputs[0])
            found.append([float(ball(at.output(0, index)).mid()) for index in np.ndindex(shape)])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
