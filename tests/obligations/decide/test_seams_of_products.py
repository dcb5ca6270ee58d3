"""Seams of a product whose factors are not all 0 there: softplus with a slope β is log(exp(β·x) + 1)/β."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def softplus(tangent_of_slope):
    """Its rule calls the function itself."""

    @jax.custom_jvp
    def function(x, beta):
        return jnp.logaddexp(beta * x, 0.0) / beta

    @function.defjvp
    def jvp(primals, tangents):
        (x, beta), (dx, dbeta) = primals, tangents
        y = function(x, beta)
        return y, jax.nn.sigmoid(beta * x) * dx + tangent_of_slope(x, beta, y) * dbeta

    return function


CASES = {
    "right": (lambda x, beta, y: (x * jax.nn.sigmoid(beta * x) - y) / beta, "proved under hypotheses"),
    "by the value": (lambda x, beta, y: (x * (1 - jnp.exp(-beta * y)) - y) / beta, "proved under hypotheses"),
    "the sign": (lambda x, beta, y: (x * jax.nn.sigmoid(beta * x) + y) / beta, "refuted"),
    "a factor": (lambda x, beta, y: x * jax.nn.sigmoid(beta * x) - y, "refuted"),
    "the other side": (lambda x, beta, y: (x * jax.nn.sigmoid(-beta * x) - y) / beta, "refuted"),
    "a step": (lambda x, beta, y: (x * jnp.where(beta * x > 0, 1.0, 0.0) - y) / beta, "refuted"),
}


@pytest.mark.parametrize("name", CASES)
def test_softplus_with_a_slope(name):
    tangent, verdict = CASES[name]
    report = certgrad.check(softplus(tangent), "n, ", conformance=False)
    assert report.verdict == verdict
    assert report.hypotheses == ["beta ≠ 0"]


def test_on_the_seam_only_what_can_be_0_is():
    """At x·y = 0 one of them is 0: x there is not 0, and y is not either."""

    def rule(value):
        function = jax.custom_vjp(lambda x, y: x * y * jnp.maximum(x * y, 0.0))
        function.defvjp(
            lambda x, y: (x * y * jnp.maximum(x * y, 0.0), (x, y)),
            lambda r, g: (g * value(r[0], r[1]), g * value(r[1], r[0])),
        )
        return function

    right = rule(lambda x, y: 2 * x * y * y * jnp.where(x * y > 0, 1.0, 0.0))
    # where x·y = 0, this one is x: no other place shows it
    wrong = rule(lambda x, y: 2 * x * y * y * jnp.where(x * y > 0, 1.0, 0.0) + jnp.where(x * y == 0, x, 0.0))
    assert certgrad.check(right, "n, n", conformance=False).verdict == "proved"
    assert certgrad.check(wrong, "n, n", conformance=False).verdict not in ("proved", "proved under hypotheses")
