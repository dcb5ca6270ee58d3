"""Hypotheses with coefficients that no integer of JAX holds."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins


def right(x, g):
    return (2 * x * g,)


def wrong(x, g):
    return (3 * x * g,)


square, wrong_square = twins("n -> n", jnp.square, right, wrong)


def interpolated(rule):
    return lambda x, xp, fp: jnp.sum(jnp.interp(rule(x), xp, fp))


def in_a_logarithm(rule):
    return lambda x: jnp.sum(jnp.log(2e20 * rule(x) - 1))


def floored(rule):
    return lambda x: jnp.sum(rule(x) * jnp.floor(3e10 * x))


def divided(rule):
    return lambda x, y: jnp.sum(rule(x) / (y - 2e-20))


VARIANTS = [
    Variant("square", "n -> n", jnp.square, interpolated, ("x: n", "xp: 4", "fp: 4")),
    Variant("square", "n -> n", jnp.square, in_a_logarithm),
    Variant("square", "n -> n", jnp.square, floored),
    Variant("square", "n -> n", jnp.square, divided, ("x: n", "y: n")),
]
