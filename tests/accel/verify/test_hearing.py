"""What a graph's code asks beside its program: an edit that certifying would hear of is not verified."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad.accel import verify_graph
from certgrad.graph import certify, trace

CALLS: list[int] = []


def loss_of(factor: Any, scale: Any) -> Any:
    """The same function but for a number of its own, and one of the rule at its node."""

    def square(x):
        return x * x

    def bwd(x, g):
        return (factor(x) * x * g,)

    ruled = jax.custom_vjp(square)
    ruled.defvjp(lambda x: (square(x), x), bwd)

    def loss(x, w):
        return jnp.sum(scale(x) * ruled(jnp.tanh(x @ w)))

    return loss


def two(x: Any) -> float:
    return 2.0


def one(x: Any) -> float:
    return 1.0


def counted(x: Any) -> float:
    CALLS.append(1)
    return 1.0


EDITS = {
    "the same": (two, one, "verified", ""),
    "a size of the function": (two, lambda x: 1.0 if x.shape[0] != 9 else 3.0, "failed", "where n = 9, the function"),
    "a multiple": (two, lambda x: 1.0 if x.shape[0] % 128 else 3.0, "failed", "where n = 128*j for some j"),
    "a table": (two, lambda x: {9: 3.0}.get(x.shape[0], 1.0), "failed", "looked up in a dictionary"),
    "state": (two, counted, "failed", "changes CALLS"),
    "a size of the rule": (
        lambda x: 2.0 if x.shape[0] != 9 else 1.0,
        one,
        "not checked",
        "n = 9 (in the rule of",
    ),
    "the rule, right at all": (lambda x: 2.0 if x.shape[0] != 9 else x * 0 + 2, one, "not checked", "where n = 9"),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("edit", EDITS)
def test_edits(edit: str) -> None:
    certificate = certify(trace(loss_of(two, one), "x: n d", "w: d k"))
    assert certificate.verdict == "proved"
    factor, scale, outcome, said = EDITS[edit]
    result = verify_graph(certificate, loss_of(factor, scale), "x: n d", "w: d k")
    assert result.outcome == outcome, result.problems
    assert said in " ".join(result.problems)


def test_sizes_that_the_certificate_excludes_or_certifies() -> None:
    def special(x):
        return jnp.sum(jnp.tanh(x) if x.shape[0] != 9 else jnp.sin(x) / jnp.cos(x) * 0 + jnp.tanh(x))

    certificate = certify(trace(special, "x: n d"))
    result = verify_graph(certificate, special, "x: n d")
    assert result.outcome == "not checked"
    assert "Where n = 9, the function is another program" in result.problems[0]
