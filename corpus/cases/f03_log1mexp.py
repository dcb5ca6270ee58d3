"""log(1 - exp(-x)) for x > 0, after Maechler (2012)."""

import jax
import jax.numpy as jnp

LN2 = 0.6931471805599453


def _log1mexp(x):
    small = x < LN2
    return jnp.where(small, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@jax.custom_jvp
def right(x):
    return _log1mexp(x)


@right.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return right(x), dx / jnp.expm1(x)


@jax.custom_jvp
def wrong(x):
    return _log1mexp(x)


@wrong.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return wrong(x), dx * jnp.exp(-x) / jnp.expm1(-x)
