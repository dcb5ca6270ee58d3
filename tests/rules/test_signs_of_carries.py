"""Signs of what a loop carries, by induction on its steps: a sum of positive terms is positive after each step."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def scanned(step, first=0.0):
    def function(x, k):
        return jax.lax.scan(step, jnp.full((), first), (x, k))[1]

    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *a: (function(*a), a), lambda saved, g: jax.vjp(function, *saved)[1](g))
    return rule


def adds(c, x):
    return c + jnp.exp(x[1]), x[0] / (c + jnp.exp(x[1]))


def decays(c, x):
    return 0.5 * c + x[1] ** 2, x[0] / (1 + c)


def grows(c, x):
    return c * jnp.exp(x[1]), x[0] / c


NEVER_0 = {
    "a sum": (adds, 0.0),
    "squares that decay": (decays, 0.0),
    "a product": (grows, 1.0),
    "below 0": (grows, -1.0),
}
CAN_BE_0 = {
    "a sum from below 0": (adds, -1.0),
    "less each time": (lambda c, x: (c - jnp.exp(x[1]), x[0] / (1 + c)), 0.0),
    "turned each time": (lambda c, x: (jnp.exp(x[1]) - c, x[0] / (1 + c)), 0.0),
    "any number": (lambda c, x: (c + x[1], x[0] / (1 + c)), 0.0),
    "the other sign": (lambda c, x: (c + jnp.exp(x[1]), x[0] / (c - 1)), 0.0),
}
AT_FIRST = {
    "before the first step": (lambda c, x: (c + jnp.exp(x[1]), x[0] / c), 0.0),
    "0/0 in the first step": (lambda c, x: (c / c, x[0] / (c / c)), 0.0),
    "a product of 0": (grows, 0.0),
}


@pytest.mark.parametrize("name", NEVER_0)
def test_what_is_never_0_is_not_asked_for(name):
    report = certgrad.check(scanned(*NEVER_0[name]), "t, t -> t")
    assert (report.verdict, report.hypotheses) == ("proved", []), str(report)


@pytest.mark.parametrize("name", CAN_BE_0)
def test_what_can_be_0_is_a_hypothesis(name):
    report = certgrad.check(scanned(*CAN_BE_0[name]), "t, t -> t")
    assert report.verdict != "proved"
    assert report.verdict == "unproved" or any("≠" in text for text in report.hypotheses)


@pytest.mark.parametrize("name", AT_FIRST)
def test_what_is_0_at_first_is_not_proved(name):
    assert certgrad.check(scanned(*AT_FIRST[name]), "t, t -> t").verdict in ("unproved", "refuted")


def test_what_a_domain_says_of_the_steps_takes_the_place_of_it():
    function, first = CAN_BE_0["any number"]
    assert certgrad.check(scanned(function, first), "t, t -> t", domain="k >= 0").hypotheses == ["k ≥ 0"]
