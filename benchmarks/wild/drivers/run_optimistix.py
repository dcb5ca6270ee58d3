"""Roots and fixed points, differentiated implicitly."""

import jax
import jax.numpy as jnp
import optimistix as optx
from _driver import each


def root():
    f = lambda y, a: y**2 - a  # noqa: E731
    jax.grad(lambda a: optx.root_find(f, optx.Newton(1e-5, 1e-5), jnp.array(1.0), a).value)(2.0)


def least():
    f = lambda y, a: (y - a) ** 2  # noqa: E731
    jax.grad(lambda a: optx.minimise(f, optx.BFGS(1e-3, 1e-3), jnp.array(1.0), a).value)(2.0)


each(root, least)
