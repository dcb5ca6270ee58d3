"""Sizes at which a function has no value, such as the mean of no entries: nothing is claimed there, and it is said."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def rule(function, backward):
    rule = jax.custom_vjp(lambda x: function(x))
    rule.defvjp(lambda x: (function(x), x), lambda x, seed: (backward(x, seed),))
    return rule


def mean_of_others(x):
    return jnp.mean(x[1:])


def others(x, seed):
    return jnp.zeros_like(x).at[1:].set(seed)


CASES = {
    "from the second": (mean_of_others, lambda x, g: others(x, g / (x.shape[0] - 1)), ["n ≠ 1"]),
    "added": (mean_of_others, lambda x, g: jnp.zeros_like(x).at[1:].add(g / (x.shape[0] - 1)), ["n ≠ 1"]),
    "up to the last": (
        lambda x: jnp.mean(x[:-1]),
        lambda x, g: jnp.zeros_like(x).at[:-1].set(g / (x.shape[0] - 1)),
        ["n ≠ 1"],
    ),
    "a sum has one": (lambda x: jnp.sum(x[1:]), others, []),
    "of another size": (mean_of_others, lambda x, g: others(x, g / x.shape[0]), "refuted"),
    "of other entries": (
        mean_of_others,
        lambda x, g: jnp.zeros_like(x).at[:-1].set(g / (x.shape[0] - 1)),
        "refuted",
    ),
    "wrong at a size where it has one": (
        mean_of_others,
        lambda x, g: others(x, g / (x.shape[0] - 1)) if x.shape[0] != 3 else g * x,
        "refuted",
    ),
    "a sum of one has a value, and the rule is wrong there": (
        lambda x: jnp.sum(x) / x.shape[0],
        lambda x, g: others(x, g / x.shape[0]).at[:1].set(g / x.shape[0] if x.shape[0] > 1 else 0 * g),
        "refuted",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_there_is_no_value_nothing_is_claimed(name):
    function, backward, expected = CASES[name]
    report = certgrad.check(rule(function, backward), "n -> ", conformance=False)
    if expected == "refuted":
        assert report.verdict == "refuted"
    else:
        assert (report.verdict, report.hypotheses) == ("proved under hypotheses" if expected else "proved", expected)
