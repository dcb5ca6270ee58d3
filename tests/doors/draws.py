"""The same draw written twice: the function calls `jax.random`, the backward computes it of uniform numbers."""

import jax
import jax.numpy as jnp

from tests.doors.examples import Variant, twins

SIGNATURE = "n, :key -> n"


def times(draw):
    return lambda x, key: x * draw(key, x.shape, x.dtype)


def again(compute, low, factor=1.0):
    """A backward that draws numbers from `low` to 1."""
    return lambda x, key, g: (factor * g * compute(jax.random.uniform(key, x.shape, x.dtype, low(x.dtype), 1.0)), None)


def zero(dtype):
    return jnp.zeros((), dtype)


def tiny(dtype):
    return jnp.finfo(dtype).tiny


def eps(dtype):
    return jnp.finfo(dtype).eps


exponential = times(jax.random.exponential)
gumbel = times(jax.random.gumbel)
logistic = times(jax.random.logistic)
cauchy = times(jax.random.cauchy)

by_exponential, wrong_by_exponential = twins(
    SIGNATURE, exponential, again(lambda u: -jnp.log1p(-u), zero), again(lambda u: -jnp.log1p(u), zero)
)
by_gumbel, wrong_by_gumbel = twins(
    SIGNATURE, gumbel, again(lambda u: -jnp.log(-jnp.log(u)), tiny), again(lambda u: jnp.log(-jnp.log(u)), tiny)
)
by_logistic, wrong_by_logistic = twins(
    SIGNATURE,
    logistic,
    again(lambda u: jnp.log(u) - jnp.log1p(-u), tiny),
    again(lambda u: jnp.log(u) + jnp.log1p(-u), tiny),
)
by_cauchy, wrong_by_cauchy = twins(
    SIGNATURE,
    cauchy,
    again(lambda u: jnp.tan(jnp.pi * (u - 0.5)), eps),
    again(lambda u: jnp.tan(jnp.pi * (u - 0.5)), eps, 2.0),
)


def of_a_key(rule):
    return lambda x: jnp.sum(jnp.sin(rule(x, jax.random.key(7))))


VARIANTS = [
    Variant("by_exponential", SIGNATURE, exponential, of_a_key),
    Variant("by_gumbel", SIGNATURE, gumbel, of_a_key),
    Variant("by_logistic", SIGNATURE, logistic, of_a_key),
    Variant("by_cauchy", SIGNATURE, cauchy, of_a_key),
]
