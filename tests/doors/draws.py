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


def hot(key, shape, dtype):
    return jax.random.exponential(key, shape, dtype) / 3


def coin(key, shape, dtype):
    return jax.random.bernoulli(key, 0.5, shape).astype(dtype)


def wide(key, shape, dtype):
    return jax.random.uniform(key, shape, dtype, 0.0, 2.0)


exponential, scaled, kept, uniform = map(times, (jax.random.exponential, hot, coin, wide))

by_exponential, wrong_by_exponential = twins(
    SIGNATURE, exponential, again(lambda u: -jnp.log1p(-u), zero), again(lambda u: -jnp.log1p(u), zero)
)
by_rate, wrong_by_rate = twins(
    SIGNATURE, scaled, again(lambda u: jnp.log1p(-u) / -3, zero), again(lambda u: jnp.log1p(-u) / 3, zero)
)
by_coin, wrong_by_coin = twins(
    SIGNATURE,
    kept,
    again(lambda u: (u < 0.5).astype(u.dtype), zero),
    again(lambda u: (u >= 0.5).astype(u.dtype), zero),
)
by_width, wrong_by_width = twins(SIGNATURE, uniform, again(lambda u: 2 * u, zero), again(lambda u: 1 + u, zero))


def of_a_key(rule):
    return lambda x: jnp.sum(jnp.sin(rule(x, jax.random.key(7))))


VARIANTS = [
    Variant("by_exponential", SIGNATURE, exponential, of_a_key),
    Variant("by_rate", SIGNATURE, scaled, of_a_key),
    Variant("by_coin", SIGNATURE, kept, of_a_key),
    Variant("by_width", SIGNATURE, uniform, of_a_key),
]
