"""A wrong rule in a graph: the node is named, and the graph is refuted where its own derivative or value is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad
from tests.doors import cancelled
from tests.doors.doors import Example, verdict_through

Use = Callable[[Callable[..., Any]], Callable[..., Any]]
RULES = ["bad", "bad_vjp", "bad_forward"]


def times_0(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(0 * rule(x) + x)


def minus_itself(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(rule(x) - rule(x) + x)


def in_a_comparison(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jnp.where(rule(x) > 0, x, 2 * x))


def minus_itself_in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (c + rule(c) - rule(c), None), x, None, length=2)[0])


def used(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(rule(jnp.maximum(x, 0.0)))


def used_in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (rule(c), None), x, None, length=2)[0])


CANCELLED = [times_0, minus_itself, in_a_comparison, minus_itself_in_a_scan]


def example(rule: str, use: Use) -> Example:
    return Example(cancelled, rule, jnp.square, "n -> n", use, ("x: n",))


@pytest.mark.parametrize("use", [*CANCELLED, used, used_in_a_scan])
@pytest.mark.parametrize("rule", RULES)
def test_a_graph_is_refuted_by_a_witness_of_its_own(rule: str, use: Use) -> None:
    one = example(rule, use)
    found = certgrad.certify(certgrad.trace(one.function, *one.shapes))
    named, last = found.findings[0], found.findings[-1]
    assert rule in named
    assert "at test_cancelled.py:" in named
    assert "is refuted" in named
    if use in CANCELLED:
        assert found.verdict == "unproved"
        assert last.startswith("no point was found at which the graph itself is wrong")
    else:
        assert found.verdict == "refuted"
        assert last.startswith("the graph is refuted: ")


@pytest.mark.parametrize(
    ("door", "verdict", "verdict_where_used"),
    [
        ("check", "refuted", "refuted"),
        ("run", "refuted", "refuted"),
        ("run --graphs", "unproved", "refuted"),
        ("composed", "unproved", "refuted"),
        ("certify_step", "unproved", "refuted"),
        ("compile_graph", "not certified", "not certified"),
        ("graph", "unproved", "refuted"),
        ("equal", "proved", "refuted"),
    ],
)
def test_every_door(door: str, verdict: str, verdict_where_used: str) -> None:
    assert verdict_through(door, example("bad_vjp", minus_itself)) == verdict
    assert verdict_through(door, example("bad_vjp", used)) == verdict_where_used
