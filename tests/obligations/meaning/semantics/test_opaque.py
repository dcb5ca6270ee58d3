"""Values that the calculus cannot follow: equal where the same is done to the same, and never differentiated."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad


def bits(x):
    """A function of the bits of x: nothing over the reals."""
    return lax.bitcast_convert_type(x, jnp.int64 if x.dtype == jnp.float64 else jnp.int32).astype(x.dtype)


def rule(forward, jvp):
    function = jax.custom_jvp(forward)
    function.defjvp(jvp)
    return function


def verdicts(report):
    return {claim.kind: claim.verdict for claim in report.claims}


def test_the_value_and_the_transpose_are_proved_the_derivative_is_not():
    ste = rule(lambda x: bits(x) * 2, lambda p, t: (bits(p[0]) * 2, t[0] * 3))
    assert verdicts(certgrad.check(ste, "n")) == {
        "jvp_is_derivative": "unproved",
        "vjp_is_adjoint": "proved",
        "rule_runs_forward": "proved",
    }
    report = certgrad.check(ste, "n", surrogate="straight through")
    assert report.verdict == "surrogate"
    assert any("bitcast_convert_type" in text for claim in report.claims for text in claim.idealisations)


def test_no_derivative_is_claimed_even_if_the_rule_says_zero():
    zero = rule(lambda x: bits(x) * 2, lambda p, t: (bits(p[0]) * 2, t[0] * 0))
    assert verdicts(certgrad.check(zero, "n"))["jvp_is_derivative"] == "unproved"
    forward = jax.custom_vjp(lambda x: bits(x) * 2)
    forward.defvjp(lambda x: (bits(x) * 2, None), lambda _, g: (0 * g,))
    assert verdicts(certgrad.check(forward, "n"))["vjp_is_adjoint"] == "unproved"


def test_another_operand_is_another_value():
    for other in (lambda x: bits(-x), lambda x: bits(x) + 1, lambda x: bits(jnp.roll(x, 1))):
        wrong = rule(lambda x: bits(x) * 2, lambda p, t, other=other: (other(p[0]) * 2, t[0] * 3))
        assert verdicts(certgrad.check(wrong, "n", surrogate="any"))["rule_runs_forward"] != "proved"


def test_arithmetic_before_bits_is_refused():
    # In floats 3·x/3 need not be x, so that what its bits give is not a function of x over the reals.
    for value, other in (
        (lambda x: bits(3 * x / 3), bits),
        (lambda x: x * bits(jnp.sqrt(jnp.full_like(x, 4.0)) / 3 * 3), lambda x: x * bits(jnp.full_like(x, 2.0))),
    ):
        wrong = rule(value, lambda p, t, other=other: (other(p[0]), t[0]))
        assert verdicts(certgrad.check(wrong, "n", surrogate="any"))["rule_runs_forward"] == "unproved"


def test_moving_entries_before_bits_is_no_arithmetic():
    alike = rule(lambda x: bits(x.T.T), lambda p, t: (bits(p[0]), t[0]))
    assert verdicts(certgrad.check(alike, "n d", surrogate="any"))["rule_runs_forward"] == "proved"


def test_the_same_arithmetic_before_bits_gives_the_same():
    alike = rule(lambda x: bits(1 + x) * 2, lambda p, t: (bits(1 + p[0]) * 2, t[0]))
    claims = certgrad.check(alike, "n", surrogate="any").claims
    (value,) = (c for c in claims if c.kind == "rule_runs_forward")
    assert [h.text for h in value.hypotheses] == ["what both programs compute alike is finite"]


def test_what_does_not_move_may_be_any_value():
    scaled = jax.custom_vjp(lambda x, k: x * lax.population_count(k))
    scaled.defvjp(lambda x, k: (x * lax.population_count(k), k), lambda k, g: (g * lax.population_count(k), None))
    assert certgrad.check(scaled, "n, n:int").verdict == "proved"


def dropped(x, key, kept):
    return jnp.where(kept(key, x.shape), x / 0.75, 0.0)


SAMPLES = {
    "bernoulli": (lambda key, shape: jax.random.bernoulli(key, 0.75, shape), "proved"),
    "not above": (lambda key, shape: ~(jax.random.uniform(key, shape) >= 0.75), "proved"),
    "another probability": (lambda key, shape: jax.random.bernoulli(key, 0.5, shape), "refuted"),
    "the others": (lambda key, shape: jax.random.uniform(key, shape) >= 0.75, "refuted"),
    "another key": (lambda key, shape: jax.random.uniform(jax.random.fold_in(key, 1), shape) < 0.75, "refuted"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_condition_on_what_is_drawn_is_followed(name):
    kept, verdict = SAMPLES[name]
    below = lambda key, shape: jax.random.uniform(key, shape) < 0.75
    rule = jax.custom_vjp(lambda x, key: dropped(x, key, below))
    rule.defvjp(lambda x, key: (dropped(x, key, below), key), lambda key, g: (dropped(g, key, kept), None))
    assert certgrad.check(rule, "n d, :key").verdict == verdict
