"""Rules that take random keys: what they draw is some constant of the key."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def dropped(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x / 0.5, 0.0)


def dropout(again):
    """A dropout whose backward makes the mask anew, from the key or from another."""
    rule = jax.custom_vjp(lambda x, key: dropped(x, key))
    rule.defvjp(lambda x, key: (dropped(x, key), key), lambda key, g: (dropped(g, again(key)), None))
    return rule


@pytest.mark.slow
def test_what_is_drawn_again_from_the_same_key():
    report = certgrad.check(dropout(lambda key: key), "n d, :key -> n d")
    assert report.verdict == "proved", report
    assert any("which draw other numbers" in text for text in report.claims[0].measured)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("other", [lambda key: jax.random.split(key)[0], lambda key: jax.random.fold_in(key, 0)])
def test_what_is_drawn_from_another_key(other):
    assert certgrad.check(dropout(other), "n, :key -> n").verdict == "refuted"


def test_a_key_that_is_returned():
    rule = jax.custom_vjp(lambda key: key)
    rule.defvjp(lambda key: (key, None), lambda _, g: (g,))
    report = certgrad.check(rule, ":key")
    assert report.verdict == "unproved"


@pytest.mark.slow
@pytest.mark.parametrize("key", [jax.random.key(0), jax.random.PRNGKey(0)], ids=["typed", "raw"])
@pytest.mark.parametrize("same", [True, False])
def test_a_key_that_it_closes_over(key, same):
    other = key if same else jax.random.split(key)[0]
    rule = jax.custom_vjp(lambda x: x * jax.random.normal(key, x.shape))
    rule.defvjp(
        lambda x: (x * jax.random.normal(key, x.shape), None),
        lambda _, g: (g * jax.random.normal(other, g.shape),),
    )
    assert (certgrad.check(rule, "n -> n", conformance=False).verdict == "proved") is same


def rounded_up(x, key):
    return lax.nextafter(x, 9.0 * jnp.ones_like(x)) + jax.random.normal(key, x.shape, x.dtype)


def test_a_raw_key_is_drawn_in_its_own_dtype():
    """`jax.random` takes no other integers, so that without it no value would be seen to be finite."""
    rule = jax.custom_vjp(rounded_up)
    rule.defvjp(lambda x, key: (rounded_up(x, key), None), lambda _, g: (g, None))
    report = certgrad.check(rule, "n, 2:uint32 -> n", surrogate="rounding is passed through")
    assert [(c.kind, c.verdict) for c in report.claims] == [
        ("vjp_is_adjoint", "surrogate"),
        ("rule_runs_forward", "proved under hypotheses"),
    ]
