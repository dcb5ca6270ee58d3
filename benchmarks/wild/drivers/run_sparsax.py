"""Sparse solves and determinants."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import sparsax  # noqa: E402
from _driver import each  # noqa: E402

I, J = jnp.array([0, 1, 2, 0]), jnp.array([0, 1, 2, 1])
A, B = jnp.array([2.0, 3.0, 4.0, 0.5]), jnp.ones(3)

each(
    lambda: jax.grad(lambda a, b: jnp.sum(sparsax.solve(I, J, a, b)), (0, 1))(A, B),
    lambda: jax.grad(lambda a, b: jnp.sum(sparsax.lu_solve(I, J, a, b)), (0, 1))(A, B),
    lambda: jax.grad(lambda a: sparsax.logdet(I, J, a, 3))(A),
)
