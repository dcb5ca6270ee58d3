"""Sums over both sides of a number: they are all there is where it is not 0, and only there."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import check


def counted(x):
    """How many entries are not 0, times the sum."""
    return jnp.sum(jnp.where(x > 0, 1.0, 0.0) + jnp.where(x < 0, 1.0, 0.0)) * jnp.sum(x)


def rule(forward, value, slope):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    return f


ALL = rule(counted, lambda x: x.shape[0] * jnp.sum(x), lambda x: x.shape[0] * jnp.ones_like(x))


def test_where_no_entry_is_zero():
    assert check(ALL, "n -> ", domain="x != 0").verdict in ("proved", "proved under hypotheses")


@pytest.mark.parametrize("domain", ["x >= 0", "x > -1", "abs(x) < 1"])
def test_where_an_entry_may_be_zero(domain):
    """The value differs at x = 0, which the domain allows."""
    assert check(ALL, "n -> ", domain=domain).verdict in ("unproved", "refuted")


LOGS = rule(
    lambda x: jnp.sum(jnp.log(jnp.abs(x))) ** 2,
    lambda x: jnp.sum(jnp.log(jnp.abs(x))) ** 2,
    lambda x: 2 * jnp.sum(jnp.log(jnp.abs(x))) / x,
)


def test_the_reciprocal_of_a_sign():
    assert check(LOGS, "n -> ").verdict == "proved under hypotheses"
    of_squares = rule(
        lambda x: jnp.sum(x / jnp.abs(x)) * jnp.sum(x),
        lambda x: jnp.sum(jnp.abs(x) / x) * jnp.sum(x),
        lambda x: jnp.sum(jnp.sign(x)) * jnp.ones_like(x),
    )
    assert check(of_squares, "n -> ").verdict == "proved under hypotheses"


def test_a_sign_is_not_its_square():
    wrong = rule(
        lambda x: jnp.sum(x / jnp.abs(x)) * jnp.sum(x),
        lambda x: jnp.sum(x**2 / jnp.abs(x) ** 2) * jnp.sum(x),
        lambda x: jnp.sum(jnp.sign(x) ** 2) * jnp.ones_like(x),
    )
    assert check(wrong, "n -> ").verdict == "refuted"
