"""A wrong rule in a graph: the node is named, and the graph is refuted where its own derivative or value is wrong."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import certgrad
from tests.doors import cancelled
from tests.doors.examples import Example, Function, Variant


@pytest.mark.one_in(6)
@pytest.mark.parametrize("use", cancelled.USES)
@pytest.mark.parametrize("rule", ["pushed", "pulled", "forward"])
def test_a_graph_is_refuted_by_a_witness_of_its_own(rule: str, use: Function) -> None:
    one = Example(cancelled, Variant(rule, "n -> n", jnp.square, use), True)
    found = certgrad.certify(certgrad.trace(one.function, *one.shapes))
    named, last = found.findings[0], found.findings[-1]
    assert "at cancelled.py:" in named
    assert "is refuted" in named
    if use in cancelled.CANCELLED:
        assert found.verdict == "unproved"
        assert last.startswith("no point was found at which the graph itself is wrong")
    else:
        assert found.verdict == "refuted"
        assert last.startswith("the graph is refuted: ")
