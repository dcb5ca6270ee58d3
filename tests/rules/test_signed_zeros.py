"""Where the sign of a zero tells values apart: the angle of (−1, −0) is −π, and 0·x is −0 for a negative x."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad


def square(factor):
    """x², whose rule multiplies by a number that is 1 where zeros have no sign."""
    rule = jax.custom_vjp(lambda x: x * x)
    rule.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g * factor(x),))
    return rule


FACTORS = {
    "a product": lambda x: jnp.arctan2(0 * x, -1.0) / jnp.arctan2(0.0, -1.0),
    "what is left of nothing": lambda x: jnp.arctan2(-(x - x), -1.0) / jnp.arctan2(0.0, -1.0),
    "a logarithm": lambda x: jnp.log(lax.complex(-jnp.ones_like(x), 0 * x)).imag / jnp.arctan2(0.0, -1.0),
    "an angle": lambda x: jnp.angle(lax.complex(-jnp.ones_like(x), 0 * x)) / jnp.arctan2(0.0, -1.0),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS.keys())
def test_an_angle_that_the_sign_of_a_zero_decides_has_no_value(factor):
    rule, x = square(factor), jnp.array([-3.0])
    assert jax.grad(lambda x: rule(x)[0])(x) == pytest.approx(6)
    assert not certgrad.check(rule, "n -> n").proved


def test_an_angle_in_the_right_half_plane_has_one():
    report = certgrad.check(square(lambda x: 1 + jnp.arctan2(0 * x, 1.0)), "n -> n")
    assert report.verdict == "proved", report


def test_beside_the_cut_an_angle_has_its_value():
    rule = jax.custom_vjp(jnp.arctan2)
    rule.defvjp(
        lambda y, x: (jnp.arctan2(y, x), (y, x)),
        lambda r, g: (g * r[1] / (r[0] ** 2 + r[1] ** 2), -g * r[0] / (r[0] ** 2 + r[1] ** 2)),
    )
    report = certgrad.check(rule, "n, n -> n")
    assert report.hypotheses == ["x1 ≠ 0 or x2 > 0"], report


def test_an_angle_that_the_sign_of_a_zero_decides_refutes_nothing():
    """At (0, −1) both sides are −π, or both π: which, a number 0 does not tell."""
    same = certgrad.equal(lambda y, x: jnp.arctan2(-y, x), lambda y, x: -jnp.arctan2(y, x), "n, n")
    assert same.verdict != "refuted"
    assert certgrad.equal(lambda y, x: jnp.arctan2(-y, x), jnp.arctan2, "n, n").verdict == "refuted"
