"""A wrong rule in functions in which what is wrong has no part."""

import jax
import jax.numpy as jnp

import certgrad
from tests.doors.examples import Variant, twins


def forward_mode(factor):
    rule = jax.custom_jvp(lambda x: x * x)
    rule.defjvp(lambda p, t: (p[0] * p[0], factor * p[0] * t[0]))
    return certgrad.declare("n -> n")(rule)


def valued(factor):
    """A rule whose forward returns a multiple of the function's value."""
    rule = jax.custom_vjp(lambda x: x * x)
    rule.defvjp(lambda x: (factor * x * x, x), lambda x, g: (2 * x * g,))
    return certgrad.declare("n -> n")(rule)


pushed, wrong_pushed = forward_mode(2), forward_mode(3)
pulled, wrong_pulled = twins("n -> n", lambda x: x * x, lambda x, g: (2 * x * g,), lambda x, g: (3 * x * g,))
forward, wrong_forward = valued(1), valued(2)


def times_0(rule):
    return lambda x: jnp.sum(0 * rule(x) + x)


def minus_itself(rule):
    return lambda x: jnp.sum(rule(x) - rule(x) + x)


def in_a_comparison(rule):
    return lambda x: jnp.sum(jnp.where(rule(x) > 1, x, 2 * x))


def minus_itself_in_a_scan(rule):
    return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (c + rule(c) - rule(c), None), x, None, length=2)[0])


def used(rule):
    return lambda x: jnp.sum(rule(jnp.maximum(x, 0.0)))


def used_in_a_scan(rule):
    return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (rule(c), None), x, None, length=2)[0])


CANCELLED = [times_0, minus_itself, in_a_comparison, minus_itself_in_a_scan]
USES = [*CANCELLED, used, used_in_a_scan]
VARIANTS = [
    Variant("pulled", "n -> n", jnp.square, times_0),
    Variant("pulled", "n -> n", jnp.square, minus_itself),
    Variant("pulled", "n -> n", jnp.square, in_a_comparison),
    Variant("pushed", "n -> n", jnp.square, minus_itself_in_a_scan),
    Variant("forward", "n -> n", jnp.square, minus_itself),
]
