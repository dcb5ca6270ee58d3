"""Laws between functions, through the front door: right rules that need them, and wrong ones that would be proved if a
condition of a law were forgotten."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy.special import digamma, gammaln, polygamma

import certgrad

where = jnp.where


def valued(f, value, slope):
    """A function whose rule returns another formula of its value, and its slope."""

    @jax.custom_vjp
    def rule(x):
        return f(x)

    rule.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    return rule


def sloped(f, slope):
    return valued(f, f, slope)


def of_two(f, value, slopes):
    @jax.custom_vjp
    def rule(x, y):
        return f(x, y)

    def bwd(saved, g):
        a, b = slopes(*saved)
        return g * a, g * b

    rule.defvjp(lambda x, y: (value(x, y), (x, y)), bwd)
    return rule


def angle(y, x):
    return jnp.arcsin(y / jnp.sqrt(x * x + y * y))


def angle_slopes(y, x):
    return x / (x * x + y * y), -y / (x * x + y * y)


def ppo(passes):
    """min(r·A, clip(r)·A), r = eˣ."""

    def f(x, a):
        r = jnp.exp(x)
        return jnp.minimum(r * a, jnp.clip(r, 0.8, 1.2) * a)

    def slopes(x, a):
        r = jnp.exp(x)
        return where(passes(r, a), r * a, 0.0), where(passes(r, a), r, jnp.clip(r, 0.8, 1.2))

    return of_two(f, f, slopes)


def clipped(low, high):
    """A clipped ratio, whose slope compares logarithms."""
    return sloped(
        lambda x: jnp.clip(jnp.exp(x), 0.7, 1.4),
        lambda x: where((x > jnp.log(low)) & (x < jnp.log(high)), jnp.exp(x), 0.0),
    )


def guarded(outside):
    """x² above 1: the slope asks for the sign of log x where there is one."""
    return sloped(
        lambda x: where(x > 1, x * x - 2 * x, -1.0),
        lambda x: where(where(x > 0, jnp.log(where(x > 0, x, 1.0)) > 0, outside), 2 * x - 2, 0.0),
    )


def lower(slope):
    """min(x, clip(x, −1, 1)): a tie wherever nothing is clipped."""
    return sloped(lambda x: jnp.minimum(x, jnp.clip(x, -1.0, 1.0)), slope)


RIGHT = {
    "sin 2x": (sloped(lambda x: x + jnp.sin(x) ** 2, lambda x: 1 + jnp.sin(2 * x)), {}, set()),
    "cos 3x": (
        sloped(lambda x: 4 * jnp.cos(x) ** 3 - 3 * jnp.cos(x), lambda x: -3 * jnp.sin(3 * x)),
        {},
        set(),
    ),
    "tan 2x": (
        valued(
            lambda x: jnp.tan(2 * x),
            lambda x: 2 * jnp.tan(x) / (1 - jnp.tan(x) ** 2),
            lambda x: 2 / jnp.cos(2 * x) ** 2,
        ),
        {},
        {"cos(2·x) ≠ 0", "cos(x) ≠ 0", "2·cos(x)^2 ≠ 1"},
    ),
    "asinh": (
        valued(lambda x: jnp.log(x + jnp.sqrt(x * x + 1)), jnp.arcsinh, lambda x: 1 / jnp.sqrt(x * x + 1)),
        {},
        set(),
    ),
    "atanh": (
        valued(jnp.arctanh, lambda x: (jnp.log1p(x) - jnp.log1p(-x)) / 2, lambda x: 1 / (1 - x * x)),
        {},
        {"x > −1", "x < 1"},
    ),
    "acosh": (
        valued(jnp.arccosh, lambda x: jnp.log(x + jnp.sqrt(x * x - 1)), lambda x: 1 / jnp.sqrt(x * x - 1)),
        {},
        {"x > 1"},
    ),
    "atan2 for x > 0": (of_two(angle, jnp.arctan2, angle_slopes), {"domain": "y > 0"}, {"y > 0"}),
    "asin of a double angle": (
        valued(lambda x: jnp.arcsin(2 * x / (1 + x * x)), lambda x: 2 * jnp.arctan(x), lambda x: 2 / (1 + x * x)),
        {"domain": ["x > -1", "x < 1"]},
        {"x > −1", "x < 1"},
    ),
    "lgamma": (
        valued(lambda x: gammaln(x + 1) - jnp.log(x), gammaln, digamma),
        {},
        {"x > 0"},
    ),
    "trigamma": (
        sloped(lambda x: digamma(x + 2), lambda x: polygamma(1, x) - 1 / x**2 - 1 / (x + 1) ** 2),
        {},
        {"2 + x is not 0, −1, −2, …", "x is not 0, −1, −2, …"},
    ),
    "an exponential and a logarithm": (clipped(0.7, 1.4), {}, {"10·exp(x) ≠ 7", "5·exp(x) ≠ 7"}),
    "a logarithm in a guarded lane": (guarded(False), {}, set()),
    "ppo": (
        ppo(lambda r, a: ((a > 0) & (r < 1.2)) | ((a < 0) & (r > 0.8))),
        {},
        {"5·exp(x) ≠ 4", "5·exp(x) ≠ 6", "y ≠ 0"},
    ),
    "a tie on an open set": (lower(lambda x: where(x < 1, 1.0, 0.0)), {}, {"x ≠ 1", "x ≠ −1"}),
    "a comparison that ties on an open set": (
        sloped(
            lambda x: where(jnp.clip(x, -1.0, 1.0) - x > 0, x * x, 3 * x),
            lambda x: where(x < -1, 2 * x, 3.0),
        ),
        {},
        {"x ≠ 1", "x ≠ −1"},
    ),
    "√ of a quotient": (
        of_two(
            lambda x, y: jnp.sqrt(x * x / (1 + y * y)),
            lambda x, y: x / jnp.sqrt(1 + y * y),
            lambda x, y: ((1 + y * y) ** -0.5, -x * y * (1 + y * y) ** -1.5),
        ),
        {"domain": "x > 0"},
        {"x > 0"},
    ),
    "∛ of a multiple": (
        valued(lambda x: jnp.cbrt(8 * x), lambda x: 2 * jnp.cbrt(x), lambda x: 2 / (3 * jnp.cbrt(x) ** 2)),
        {},
        {"x ≠ 0"},
    ),
    "∛ by a logarithm": (
        sloped(jnp.cbrt, lambda x: jnp.exp(-2 * jnp.log(x) / 3) / 3),
        {"domain": "x > 0"},
        {"x > 0"},
    ),
}

WRONG = {
    "sin 2x without the 2": (sloped(lambda x: jnp.sin(x) ** 2, lambda x: jnp.sin(x) * jnp.sin(2 * x)), {}),
    "a phase of π": (valued(jnp.sin, lambda x: -jnp.sin(x + 3 * jnp.pi / 2), jnp.cos), {}),
    "atan2 on both sides": (of_two(angle, jnp.arctan2, angle_slopes), {}),
    "atan2 above the axis": (
        of_two(lambda y, x: jnp.arctan(y / x), jnp.arctan2, angle_slopes),
        {"domain": "x > 0"},  # the first argument, y: x can be negative
    ),
    "asin of a double angle beyond ±1": (
        valued(lambda x: jnp.arcsin(2 * x / (1 + x * x)), lambda x: 2 * jnp.arctan(x), lambda x: 2 / (1 + x * x)),
        {},
    ),
    "acosh by the other root": (
        valued(jnp.arccosh, lambda x: jnp.log(x - jnp.sqrt(x * x - 1)), lambda x: 1 / jnp.sqrt(x * x - 1)),
        {},
    ),
    "lgamma by the next factor": (valued(lambda x: gammaln(x + 1), lambda x: gammaln(x) + jnp.log(x + 1), digamma), {}),
    "digamma guarded at 0": (
        sloped(lambda x: gammaln(x + 1), lambda x: where(x > 0, digamma(where(x > 0, x, 1.0)) + 1 / x, 0.0)),
        {"domain": "x > -1"},
    ),
    "an exponential and another logarithm": (clipped(0.7, 1.5), {}),
    "a logarithm in a lane with the wrong guard": (guarded(True), {}),
    "ppo inside the band only": (ppo(lambda r, a: (r > 0.8) & (r < 1.2)), {}),
    "ppo with signs exchanged": (ppo(lambda r, a: ((a < 0) & (r < 1.2)) | ((a > 0) & (r > 0.8))), {}),
    "ppo that forgets the sign": (ppo(lambda r, a: r < 1.2), {}),
    "∛ of a multiple, with a square root's factor": (
        sloped(lambda x: jnp.cbrt(8 * x), lambda x: jnp.sqrt(8.0) / (3 * jnp.cbrt(x) ** 2)),
        {},
    ),
    "∛ as the power of a size": (valued(jnp.cbrt, lambda x: (x * x) ** (1 / 6), lambda x: jnp.cbrt(x) / (3 * x)), {}),
    "√ of a quotient, whose sign is open": (
        of_two(
            lambda x, y: jnp.sqrt(x * x / (1 + y * y)),
            lambda x, y: x / jnp.sqrt(1 + y * y),
            lambda x, y: ((1 + y * y) ** -0.5, -x * y * (1 + y * y) ** -1.5),
        ),
        {},
    ),
}

OPEN = {
    "a tie on an open set, not counted": lower(lambda x: where(x < -1, 1.0, 0.0)),
    "a tie on an open set, halved": lower(lambda x: where(x < -1, 1.0, where(x < 1, 0.5, 0.0))),
}
"""Wrong, and not refuted: along one direction a tie does not tell whether there is a kink."""


def signature(rule) -> str:
    return "n -> n" if rule.__wrapped__.__code__.co_argcount == 1 else "n, n -> n"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_is_proved(name) -> None:
    rule, options, hypotheses = RIGHT[name]
    report = certgrad.check(rule, signature(rule), conformance=False, **options)
    assert report.verdict in ("proved", "proved under hypotheses"), str(report)
    assert set(report.hypotheses) == hypotheses, str(report)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_refuted(name) -> None:
    rule, options = WRONG[name]
    report = certgrad.check(rule, signature(rule), conformance=False, **options)
    assert report.verdict == "refuted", str(report)
