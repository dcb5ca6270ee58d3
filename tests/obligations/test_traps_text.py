"""Hypotheses that look alike: what a rule needs is listed beside what the forward needs, whatever the print."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.graph import certify, trace
from certgrad.obligations.balls.statements import evaluate
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.rules import check


def with_rule(forward: Callable, detour: Callable) -> Callable:
    """The derivative of log(forward) + s², where the rule computes s as exp(log s); `detour` is s."""

    def f(x: Any) -> Any:
        return jnp.log(forward(x)) + detour(x) ** 2

    def backward(x: Any, g: Any) -> tuple:
        _, logarithm = jax.vjp(lambda y: jnp.log(forward(y)), x)
        _, other = jax.vjp(detour, x)
        return (logarithm(g)[0] + other(2 * g * jnp.exp(jnp.log(detour(x))))[0],)

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), backward)
    rule.__name__ = "f"
    return rule


ALIKE = {
    "ranges": (lambda x: x.sum(), lambda x: x[:-1].sum(), "n+1 -> ", [-1, 5], {"n": 1}),
    "starts": (lambda x: x[1:].sum(), lambda x: x[:-1].sum(), "n+1 -> ", [-9, 2, 3], {"n": 2}),
    "strides": (lambda x: x[::2].sum(), lambda x: x[1::2].sum(), "2*n -> ", [5, -1, 5, -1], {"n": 2}),
    "axes": (
        lambda x: x.sum(0)[0],
        lambda x: x.sum(1)[0],
        "n n -> ",
        [[-1, 0], [3, 1]],
        {"n": 2},
    ),
    "entries": (lambda x: x[0], lambda x: x[1], "n+2 -> ", [1, -1, 1], {"n": 1}),
    "thresholds": (lambda x: x.sum() - 1, lambda x: x.sum() - 2, "n -> ", [1.5], {"n": 1}),
    "sizes with the letters of indices": (
        lambda x: x.sum(),
        lambda x: x[:, :-1].sum(),
        "i j+1 -> ",
        [[-1, 5]],
        {"i": 1, "j": 1},
    ),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", ALIKE)
def test_both_are_listed(name: str) -> None:
    forward, detour, signature, point, sizes = ALIKE[name]
    rule = with_rule(forward, detour)
    x = jnp.asarray(point, float)
    assert np.isfinite(rule(x))
    assert not np.isfinite(jax.grad(rule)(x)).all(), "the trap is no trap"
    found = check(rule, signature)
    assert found.verdict in (*PROVED_AS_WRITTEN, "unproved")
    listed = [h for claim in found.claims if claim.kind == "vjp_is_adjoint" for h in claim.hypotheses]
    exact = {"x": np.vectorize(Fraction, otypes=[object])(np.array(point, float))}
    if found.verdict in PROVED_AS_WRITTEN:
        assert not all(evaluate(h.tree, exact, sizes) for h in listed)
        assert len({h.text for h in listed}) == len(listed)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["ranges", "strides", "thresholds", "entries"])
def test_a_graph_lists_both(name: str) -> None:
    forward, detour, signature, point, sizes = ALIKE[name]
    shape = signature.removesuffix(" -> ")
    found = certify(trace(with_rule(forward, detour), f"x: {shape}"))
    assert found.verdict in (*PROVED_AS_WRITTEN, "unproved")
    if found.verdict in PROVED_AS_WRITTEN:
        exact = {"x": np.vectorize(Fraction, otypes=[object])(np.array(point, float))}
        (node,) = {h.node for h in found.hypotheses}
        names = found.steps[node].instantiation
        there = {mine: sizes.get(size, int(size) if size.isdigit() else 0) for mine, size in names.items()}
        assert not all(evaluate(h.tree, exact, there) for h in found.hypotheses)
        assert len({h.text for h in found.hypotheses}) == len(found.hypotheses)


def test_a_graph_tells_values_apart_that_are_written_alike() -> None:
    """Sums over other axes have one expression; the values are others."""

    def f(x: Any) -> Any:
        return sum(jnp.log(jnp.sum(x, axis=k)).sum() for k in (0, 1))

    found = certify(trace(f, "x: n m"))
    assert found.verdict == "proved under hypotheses"
    assert len({h.text for h in found.hypotheses}) == len(found.hypotheses) == 2
    assert len({tuple(h.of.values()) for h in found.hypotheses}) == 2
