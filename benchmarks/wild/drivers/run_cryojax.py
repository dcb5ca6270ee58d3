"""Gaussians spread on grids of two and three dimensions."""

import jax
import jax.numpy as jnp
from _driver import each
from cryojax.ndimage._spreading.spread import _spread_2d, _spread_3d

I = jnp.array([1.2, 2.6])


def spread(f, dims, erf):
    def total(i, amplitude, variance, size):
        return jnp.sum(f(*[i] * dims, amplitude, variance, size, *[4] * dims, 2, erf) ** 2)

    jax.grad(total, (0, 1, 2, 3))(I, jnp.ones(2), jnp.ones(2), jnp.asarray(1.0))


each(
    lambda: spread(_spread_2d, 2, False),
    lambda: spread(_spread_2d, 2, True),
    lambda: spread(_spread_3d, 3, False),
)
