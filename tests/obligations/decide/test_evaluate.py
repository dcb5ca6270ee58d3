"""Terms at numbers: what several indices have in common is computed once, and comes to the same."""

from __future__ import annotations

from collections import Counter

import jax.numpy as jnp
import pytest
from flint import arb

from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification
from certgrad.graph.points.satisfiable import holding
from certgrad.obligations.balls.statements import Balls
from certgrad.obligations.decide.evaluate import Evaluation, evaluate
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import template

I, J = template(0), template(1)

pytestmark = pytest.mark.usefixtures("own_terms")


def test_a_sum_is_computed_once_for_all_indices_and_comes_to_the_same() -> None:
    x, y = access("x", (of_var(I),)), access("y", (of_var(J),))
    term = sum_over(y * y * y, [(J, number(5))]) ** 2 * x  # Σy³ speaks of no index that is left
    read: Counter[str] = Counter()

    def value(tensor: str, index: tuple[int, ...]) -> arb:
        read[tensor] += 1
        return arb(index[0] + 1)

    at = Evaluation({}, value)
    together = [at.poly(term, {I: i}) for i in range(7)]
    assert read["y"] <= 5 * 3
    assert together == [evaluate(term, {}, value, {I: i}) for i in range(7)] == [225**2 * (i + 1) for i in range(7)]


def test_a_maximum_in_a_hypothesis_is_computed_once_for_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = trace(lambda x, y: 1 / (jnp.max(x) + y), "x: 30", "y: 6 7")
    induction = certification(graph).induction
    read: Counter[str] = Counter()
    real = Balls.entry

    def counted(self, value):
        read["entries"] += 1
        return real(self, value)

    monkeypatch.setattr(Balls, "entry", counted)
    holds = holding(graph, induction.asked)
    assert induction.asked
    assert holds([jnp.arange(30.0), jnp.ones((6, 7))])
    assert sum(read.values()) < 30 * 6 * 7
    assert not holds([jnp.arange(30.0), jnp.full((6, 7), -29.0)])
