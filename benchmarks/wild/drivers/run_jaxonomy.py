"""A fixed point that is differentiated implicitly, as the docstring shows."""

import jax
import jax.numpy as jnp
from _driver import each
from jaxonomy.optimization.implicit import implicit_solver


def solve(theta):
    v = jnp.asarray(0.5)
    for _ in range(8):
        v = v - (v + jnp.tanh(theta * v) - 1.0) / (1.0 + theta / jnp.cosh(theta * v) ** 2)
    return v


def residual(v, theta):
    return v + jnp.tanh(theta * v) - 1.0


each(lambda: jax.grad(implicit_solver(solve, residual))(0.3))
