"""What a rule multiplies by the number 0 needs no meaning: the partial derivative in an argument that does not move."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

IDLE = "what is multiplied by 0 is finite"


def without_meaning(a, x):
    """A value that the calculus knows nothing of: it looks at the bits of a float."""
    return lax.bitcast_convert_type(a * x, jnp.int64 if a.dtype == jnp.float64 else jnp.int32).astype(x.dtype)


def product(in_a, in_x=lambda a, x: a * jnp.cos(x)):
    """a·sin x, with the partial derivatives that are given."""

    @jax.custom_jvp
    def rule(a, x):
        return a * jnp.sin(x)

    def tangent(primals, tangents):
        da, dx = tangents
        return rule(*primals), in_a(*primals) * da + in_x(*primals) * dx

    rule.defjvp(tangent)
    return rule


def hypotheses(report):
    return {h.text for c in report.claims for h in c.hypotheses}


def test_a_partial_derivative_in_what_does_not_move_needs_no_meaning():
    report = certgrad.check(product(without_meaning), "n, n -> n", differentiable=["x"])
    assert report.proved, report
    assert IDLE in hypotheses(report)


def test_where_it_moves_nothing_is_proved():
    assert certgrad.check(product(without_meaning), "n, n -> n").verdict == "unproved"


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "in_x",
    [
        lambda a, x: -a * jnp.cos(x),
        lambda a, x: a * jnp.cos(x) * 1.001,
        lambda a, x: jnp.cos(x),
        lambda a, x: a * jnp.sin(x),
        lambda a, x: a * jnp.cos(x) + without_meaning(a, x) * 1e-9,
    ],
    ids=["sign", "factor", "forgotten", "function", "without meaning"],
)
def test_a_wrong_rule_is_not_proved(in_x):
    assert not certgrad.check(product(without_meaning, in_x), "n, n -> n", differentiable=["x"]).proved


def test_what_is_never_finite_proves_nothing():
    """0·NaN is NaN."""
    rule = product(lambda a, x: without_meaning(a, x) + jnp.log(-1 - x * x))
    assert not certgrad.check(rule, "n, n -> n", differentiable=["x"]).proved


def test_what_is_infinite_somewhere_is_a_hypothesis():
    rule = product(lambda a, x: without_meaning(a, x) / x)
    assert jnp.isnan(jax.jvp(lambda x: rule(jnp.ones(1), x), (jnp.zeros(1),), (jnp.ones(1),))[1])
    report = certgrad.check(rule, "n, n -> n", differentiable=["x"])
    assert report.proved, report
    assert IDLE in hypotheses(report)


def test_a_value_with_meaning_is_multiplied_as_ever():
    """Its condition is said of it, and not that it is finite."""
    report = certgrad.check(product(lambda a, x: jnp.sin(x) + 0 / x), "n, n -> n", differentiable=["x"], domain="x > 0")
    assert report.proved
    assert IDLE not in hypotheses(report)
