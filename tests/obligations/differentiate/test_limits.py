"""Removable singularities: what is proved off a point holds there, if the function and the rule are continuous."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import certgrad

LOOKS_OUTSIDE = True


def rule(forward, backward):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda *args: (forward(*args), args), lambda args, g: backward(g, *args))
    return function


def off_zero(formula, at_zero):
    """The formula where x is not 0, with a divisor that never is."""

    def chosen(x):
        return jnp.where(x == 0, at_zero, formula(jnp.where(x == 0, 1.0, x)))

    return chosen


QUOTIENTS = {
    "sin t/t": (lambda t: jnp.sin(t) / t, 1.0, lambda t: (t * jnp.cos(t) - jnp.sin(t)) / t**2, 0.0),
    "(1 − cos t)/t²": (
        lambda t: (1 - jnp.cos(t)) / t**2, 0.5, lambda t: (t * jnp.sin(t) - 2 + 2 * jnp.cos(t)) / t**3, 0.0),
    "expm1 t/t": (lambda t: jnp.expm1(t) / t, 1.0, lambda t: (t * jnp.exp(t) - jnp.expm1(t)) / t**2, 0.5),
    "tanh t/t": (lambda t: jnp.tanh(t) / t, 1.0, lambda t: (t * (1 - jnp.tanh(t) ** 2) - jnp.tanh(t)) / t**2, 0.0),
    "atan t/t": (lambda t: jnp.arctan(t) / t, 1.0, lambda t: (t / (1 + t * t) - jnp.arctan(t)) / t**2, 0.0),
    "cos t − t + sinh t/t": (
        lambda t: jnp.cos(t) - t**2 / t + jnp.sinh(t) / t, 2.0,
        lambda t: -jnp.sin(t) - 1 + (t * jnp.cosh(t) - jnp.sinh(t)) / t**2, -1.0),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("formula", "value", "slope", "value_of_slope"), QUOTIENTS.values(), ids=QUOTIENTS)
def test_a_quotient_of_taylor_series(formula, value, slope, value_of_slope):
    def check(there):
        derivative = off_zero(slope, there)
        return certgrad.check(rule(off_zero(formula, value), lambda g, x: (g * derivative(x),)), "*s -> *s")

    right, wrong = check(value_of_slope), check(value_of_slope + 1.0)
    assert (right.verdict, right.hypotheses) == ("proved", [])
    assert wrong.verdict == "refuted"


def test_a_logarithm_inside_of_its_domain():
    def check(there):
        formula = off_zero(lambda t: jnp.log1p(t) / t, 1.0)
        derivative = off_zero(lambda t: (t / (1 + t) - jnp.log1p(t)) / t**2, there)
        return certgrad.check(rule(formula, lambda g, x: (g * derivative(x),)), "n -> n", domain="x > -1")

    assert check(-0.5).hypotheses == ["x > −1"]
    assert check(0.0).verdict == "refuted"


def rotation(at_zero, of_slope):
    """exp(w·x) by sinh(|w|·x)/|w|, of a vector w."""

    def parts(w):
        squared = jnp.sum(w * w)
        norm = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
        return squared > 0, norm

    def forward(w):
        off, norm = parts(w)
        return jnp.where(off, jnp.sinh(norm) / norm, 1.0) * w

    def backward(g, w):
        off, norm = parts(w)
        factor = jnp.where(off, jnp.sinh(norm) / norm, at_zero)
        slope = jnp.where(off, (norm * jnp.cosh(norm) - jnp.sinh(norm)) / norm**3, of_slope)
        return (factor * g + slope * jnp.sum(g * w) * w,)

    return rule(forward, backward)


def test_a_norm_at_which_nothing_breaks():
    assert certgrad.check(rotation(1.0, 0.0), "n -> n").hypotheses == []
    assert certgrad.check(rotation(1.0, 7.0), "n -> n").hypotheses == []  # the factor w is 0 there
    assert certgrad.check(rotation(0.0, 0.0), "n -> n").verdict == "refuted"


def pair(formula):
    """The formula off x = y = 0, and 0 there."""

    def forward(x, y):
        at = (x == 0) & (y == 0)
        return jnp.where(at, 0.0, formula(jnp.where(at, 1.0, x), jnp.where(at, 1.0, y)))

    return forward


STAYS = {
    "a kink": (jnp.abs, jnp.sign),
    "a kink of a product": (
        off_zero(lambda t: t * jnp.maximum(t, 0.0) / t, 0.0), lambda x: jnp.where(x > 0, 1.0, 0.0)),
    "a derivative without a limit": (
        off_zero(lambda t: t**2 * jnp.sin(1 / t), 0.0),
        off_zero(lambda t: 2 * t * jnp.sin(1 / t) - jnp.cos(1 / t), 0.0)),
    "a pole of the derivative": (jnp.cbrt, lambda x: 1 / (3 * jnp.cbrt(x) ** 2)),
    "a jump": (lambda x: jnp.where(x == 0, 2.0, jnp.sin(x)), jnp.cos),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("forward", "slope"), STAYS.values(), ids=STAYS)
def test_what_has_no_derivative_there_stays_excluded(forward, slope):
    report = certgrad.check(rule(forward, lambda g, x: (g * slope(x),)), "*s -> *s")
    assert report.verdict == "refuted" or "x ≠ 0" in report.hypotheses


def test_a_function_of_two_variables_that_is_continuous_and_has_no_derivative():
    """x²·y/(x² + y²) is 0 along both axes, with the slope 0, and t/2 along the diagonal."""

    def slopes(x, y):
        square = (x * x + y * y) ** 2
        return 2 * x * y**3 / square, x * x * (x * x - y * y) / square

    forward = pair(lambda x, y: x * x * y / (x * x + y * y))
    both = [pair(lambda x, y, k=k: slopes(x, y)[k]) for k in (0, 1)]
    report = certgrad.check(rule(forward, lambda g, x, y: tuple(g * f(x, y) for f in both)), " ,  -> ")
    assert report.verdict != "proved"


def drag(slope_at_zero):
    """x + |v|³ for v = (x, y), with the derivative over one denominator."""

    def parts(x, y):
        square = x**2 + y**2
        return square, jnp.where(square > 0, square, 1.0)

    def forward(x, y):
        square, safe = parts(x, y)
        return x + jnp.where(square > 0, square**2 / jnp.sqrt(safe), 0.0)

    def backward(g, x, y):
        square, safe = parts(x, y)
        along = jnp.where(square > 0, square / safe + 3 * x * jnp.sqrt(safe), slope_at_zero)
        return g * along, g * 3 * y * jnp.sqrt(square)

    return rule(forward, backward)


def test_a_quotient_that_is_0_over_0_is_not_0():
    """The numerator is 0 on the boundary alone, and the quotient 1 around it."""
    assert certgrad.check(drag(0.0), " ,  -> ").verdict == "refuted"
    assert certgrad.check(drag(1.0), " ,  -> ").verdict.startswith("proved")


def test_a_unit_vector_is_excluded_where_it_has_no_direction():
    def parts(w):
        squared = jnp.sum(w * w)
        return squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0))

    def forward(w):
        off, norm = parts(w)
        return jnp.where(off, norm, 0.0)

    def backward(g, w):
        off, norm = parts(w)
        return (jnp.where(off, g * w / norm, 0.0),)

    assert certgrad.check(rule(forward, backward), "n -> ").hypotheses == ["(Σi x[i]^2) ≠ 0".replace("x", "w")]


def test_points_around_that_the_domain_leaves_out():
    """At the edge of x ≥ 0 there is no point around the edge at which something is known."""
    quotient = off_zero(lambda t: jnp.sin(t) / t, 1.0)
    slope = off_zero(lambda t: (t * jnp.cos(t) - jnp.sin(t)) / t**2, 0.0)
    report = certgrad.check(rule(quotient, lambda g, x: (g * slope(x),)), "n -> n", domain="x >= 0")
    assert report.verdict.startswith("proved")
