"""Hypotheses in few words: without divisors, factors of known signs, and what the others say already."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy.special import digamma

import certgrad
from certgrad.report.audited import conditions


def under(function, signature, **declared):
    """The hypotheses of a rule that is JAX's own derivative."""
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *xs: (function(*xs), xs), lambda xs, g: jax.vjp(function, *xs)[1](g))
    report = certgrad.check(rule, signature, conformance=False, **declared)
    assert report.verdict == "proved under hypotheses", report
    return set(conditions(report.certificate))


def mixture(l, t):
    p = jax.nn.sigmoid(l)
    return jnp.log(t * p + (1 - t) * (1 - p))


def between(x, l, h):
    return jnp.log((x - l) / (h - l)) + jnp.log((h - x) / (h - l))


def uniform(x, l, h):
    return jnp.log(jnp.where((x >= l) & (x <= h), 1 / (h - l), 1.0))


CASES = {
    "a divisor that is positive": (mixture, "n, n", {}, {"t·exp(l) > t − 1"}),
    "a divisor of any sign": (
        between,
        "n, n, n",
        {},
        {"h^2 + l·x > h·l + h·x", "h·x + l^2 > h·l + l·x", "l ≠ h", "x ≠ h", "x ≠ l"},
    ),
    "a divisor whose sign the domain says": (between, "n, n, n", {"domain": "l < h"}, {"l < h", "x < h", "x > l"}),
    "a divisor in one region": (
        uniform,
        "n, n, n",
        {},
        {"l ≠ h", "x ≠ h", "x ≠ l", "l ≠ h wherever x ≤ h and x ≥ l"},
    ),
    "a square beside a sign": (lambda x: jnp.sqrt(x * x - 1) * jnp.log(x), "n", {}, {"x > 1"}),
    "poles beside one of them": (lambda x: digamma(x) / x, "n", {}, {"x is not 0, −1, −2, …"}),
    "poles beside another point": (
        lambda x: digamma(x) / (x - 2),
        "n",
        {},
        {"x is not 0, −1, −2, …", "x ≠ 2"},
    ),
    "two bounds": (lambda x: jnp.arctanh(x) + jnp.sqrt(1 - x), "n", {}, {"x < 1", "x > −1"}),
    "weaker bounds of the value": (jnp.arccos, "n", {}, {"x < 1", "x > −1"}),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CASES)
def test_what_is_asked_is_said_in_few_words(name):
    function, signature, declared, expected = CASES[name]
    assert under(function, signature, **declared) == expected


def test_a_wrong_rule_is_not_proved_by_what_is_left_out():
    """Outside of l < x < h and h < x < l the function has no value; inside a factor 2 is a factor 2."""
    rule = jax.custom_vjp(between)
    rule.defvjp(lambda *xs: (between(*xs), xs), lambda xs, g: tuple(2 * c for c in jax.vjp(between, *xs)[1](g)))
    assert certgrad.check(rule, "n, n, n", conformance=False).verdict == "refuted"
