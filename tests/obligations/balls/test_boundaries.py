"""Points on the boundaries of what programs compare, at which a search for a witness looks."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.balls import Input, Rule, find_witness


def rule(function, slopes):
    """A rule of x and y with these slopes."""
    made = jax.custom_vjp(function)
    made.defvjp(lambda x, y: (function(x, y), (x, y)), lambda saved, g: tuple(g * d for d in slopes(*saved)))
    return made


def outside(x, y, radius):
    """By how much x² + y² is above a square, at least 0."""
    return jnp.maximum(x * x + y * y - radius * radius, 0)


def slopes_outside(x, y, radius):
    return 4 * x * outside(x, y, radius), 4 * y * outside(x, y, radius)


@pytest.mark.parametrize("radius", [2.5, 5.0])
def test_rule_that_jumps_on_a_circle_alone_is_refuted_there(radius):
    def jumping(x, y):
        dx, dy = slopes_outside(x, y, radius)
        return dx + jnp.where(x * x + y * y == radius * radius, 1.0, 0.0), dy

    report = certgrad.check(rule(lambda x, y: outside(x, y, radius) ** 2, jumping), "n, n -> n")
    assert report.verdict == "refuted"
    witness = next(c.witness for c in report.claims for c in c.cases if c.witness is not None)
    x, y = (float(eval(witness.inputs[name][0])) for name in ("x", "y"))
    assert x * x + y * y == radius * radius


def test_rule_without_the_jump_is_proved():
    right = rule(lambda x, y: outside(x, y, 5.0) ** 2, lambda x, y: slopes_outside(x, y, 5.0))
    assert certgrad.check(right, "n, n -> n").verdict.startswith("proved")


def test_rule_that_is_wrong_where_the_function_has_a_kink_is_not_refuted_there():
    right = rule(
        lambda x, y: outside(x, y, 5.0),
        lambda x, y: tuple(2 * z * (x * x + y * y > 25) for z in (x, y)),
    )
    assert certgrad.check(right, "n, n -> n").verdict == "proved under hypotheses"


def test_unproved_rule_that_is_nan_where_a_smooth_function_vanishes_is_refuted_there():
    programs = Rule(
        forward=lambda xs: [xs[0] ** 3],
        jvp=None,
        vjp=lambda xs, seeds: [3 * seeds[0] * xs[0] ** 3 / xs[0]],
    )
    found = find_witness("vjp_is_adjoint", programs, [Input("x", ())], name="cubed")
    assert found is not None
    assert found.undefined
    assert found.inputs == {"x": 0}


def test_rule_that_is_nan_where_the_function_has_no_derivative_is_no_witness():
    programs = Rule(
        forward=lambda xs: [jnp.abs(xs[0])],
        jvp=None,
        vjp=lambda xs, seeds: [seeds[0] * jnp.abs(xs[0]) / xs[0]],
    )
    assert find_witness("vjp_is_adjoint", programs, [Input("x", ())], name="absolute") is None
