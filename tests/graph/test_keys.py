"""Random keys: what is drawn is a constant of the key. Beside each right program one that draws from another key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from certgrad import certify, compile_graph, trace

pytestmark = pytest.mark.usefixtures("proofs_alone")

TYPED, RAW = random.key(3), random.PRNGKey(3)


def dropout(x, key):
    return jnp.sum(jnp.where(random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0) ** 2)


def sampled(mean, scale, key):
    return jnp.mean((mean + jnp.exp(scale) * random.normal(key, mean.shape)) ** 2)


def split_in_a_loop(x, key):
    def step(carry, _):
        x, key = carry
        key, now = random.split(key)
        return (jnp.tanh(x + random.normal(now, x.shape)), key), None

    return jnp.sum(jax.lax.scan(step, (x, key), None, length=3)[0][0])


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "function, specs",
    [
        (dropout, ("n d", ":key")),
        (dropout, ("n d", "key: u32[2]")),
        (dropout, (np.ones((3, 2), np.float32), TYPED)),
        (sampled, ("n", "n", "rng: :key")),
        (sampled, ("bf16[n]", "bf16[n]", ":key")),
        (split_in_a_loop, ("n", ":key")),
        (lambda x: jnp.sum(x * random.normal(TYPED, x.shape)), ("n",)),
        (lambda x: jnp.sum(jnp.tanh(x) * random.uniform(RAW, x.shape)), ("n",)),
        (lambda x, keys: jnp.sum(x * jax.vmap(random.uniform)(keys)), ("n", "n:key")),
    ],
)
def test_what_is_drawn_is_a_constant(function, specs) -> None:
    certificate = certify(trace(function, *specs))
    assert certificate.verdict == "proved", certificate.findings
    assert any("What jax.random draws" in text for text in certificate.assumptions) or "n:key" in specs


def test_nothing_is_assumed_of_it() -> None:
    """A uniform number may be 0, and a normal one anything."""
    found = certify(trace(lambda x, key: jnp.sum(x * jnp.log(random.uniform(key, x.shape))), "n", ":key"))
    assert [h.text.split(": ", 1)[1] for h in found.hypotheses] == ["every element of `uniform(key, 0, 1)` > 0"]
    found = certify(trace(lambda x, key: jnp.sum(x / random.normal(key, x.shape)), "n", ":key"))
    assert len(found.hypotheses) == 1
    above = certify(trace(lambda x, key: jnp.sum(x * jnp.sqrt(1 + random.uniform(key, x.shape))), "n", ":key"))
    assert above.verdict == "proved"  # it is not below 0


def scaled(draw, again):
    """x times what is drawn, by a rule that draws again."""
    rule = jax.custom_vjp(lambda x, key: x * draw(key, x.shape))
    rule.defvjp(lambda x, key: (rule(x, key), key), lambda key, g: (g * again(key, g.shape), None))
    return lambda x, key: jnp.sum(rule(x, key) ** 2)


def mask(key, shape):
    return random.bernoulli(key, 0.5, shape) / 0.5


RIGHT_AND_WRONG = [
    (mask, lambda key, shape: mask(random.fold_in(key, 1), shape)),
    (random.normal, lambda key, shape: random.normal(random.split(key)[0], shape)),
    (random.normal, lambda key, shape: 1.001 * random.normal(key, shape)),
    (mask, lambda key, shape: random.bernoulli(key, 0.6, shape) / 0.5),
    (random.uniform, lambda key, shape: random.uniform(key, shape, maxval=2.0)),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("draw, other", RIGHT_AND_WRONG)
def test_a_rule_that_draws_again(draw, other) -> None:
    assert certify(trace(scaled(draw, draw), "n", ":key")).verdict == "proved"
    assert certify(trace(scaled(draw, other), "n", ":key")).verdict in ("unproved", "refuted")
    assert certify(trace(scaled(other, other), "n", ":key")).verdict == "proved"


def test_another_key_that_is_closed_over() -> None:
    other = random.key(4)
    wrong = scaled(lambda _, shape: random.normal(TYPED, shape), lambda _, shape: random.normal(other, shape))
    assert certify(trace(wrong, "n", ":key")).verdict == "refuted"


def test_bounds_that_move_have_a_derivative() -> None:
    graph = trace(lambda low, key: jnp.sum(random.uniform(key, (3,), minval=low, maxval=2.0)), "", ":key")
    assert all(node.kind != "draw" for node in graph.nodes)


def test_a_probability_that_moves_is_compared_with_a_number_of_the_key() -> None:
    """Where the two differ, what is drawn stays the same: a weight on it has a derivative, the probability has none."""

    def spikes(u, w, key):
        return jnp.sum(w * random.bernoulli(key, jax.nn.sigmoid(u)))

    found = certify(trace(spikes, "n", "n", ":key"))
    assert found.verdict == "proved under hypotheses"
    assert any("≠ `logistic(u)`" in h.text for h in found.hypotheses)

    @jax.custom_jvp
    def through(u, key):
        return random.bernoulli(key, jax.nn.sigmoid(u)).astype(u.dtype)

    through.defjvp(lambda p, t: (through(*p), t[0]))
    assert certify(trace(lambda u, key: jnp.sum(through(u, key)), "n", ":key")).verdict in ("unproved", "refuted")


def test_a_function_that_only_has_the_name() -> None:
    def _normal(x):
        return jnp.log(x)

    graph = trace(lambda x, c: jnp.sum(x * jax.jit(_normal)(c)), "n", "c: n:int")
    assert all(node.kind != "draw" for node in graph.nodes)


@pytest.mark.slow
def test_execution_draws_what_jax_draws() -> None:
    run = compile_graph(trace(split_in_a_loop, "n", ":key"))
    x = jnp.arange(3.0) / 2
    loss, (found, nothing) = run.value_and_grad(x, TYPED)
    np.testing.assert_allclose(loss, split_in_a_loop(x, TYPED), rtol=1e-6)
    np.testing.assert_allclose(found, jax.grad(split_in_a_loop)(x, TYPED), rtol=1e-5)
    assert nothing is None
