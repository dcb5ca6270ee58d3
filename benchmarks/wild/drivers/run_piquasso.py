"""Permanents and eigenvalues."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from _driver import each  # noqa: E402
from piquasso._math.jax.utils import eig  # noqa: E402
from piquasso.jax_extensions.permanent import perm  # noqa: E402

A = jnp.array([[0.3, 0.2], [0.1, 0.5]], dtype=jnp.complex128)


def permanent():
    ones = jnp.ones(2, dtype=jnp.uint64)
    jax.grad(lambda t: perm(A * t, ones, ones).real)(1.5)


each(permanent, lambda: jax.grad(lambda t: jnp.sum(eig(A * t)[0]).real)(1.5))
