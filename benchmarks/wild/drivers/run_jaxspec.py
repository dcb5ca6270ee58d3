"""The integrals of the docstrings."""

import jax
import jax.numpy as jnp
from _driver import each
from jaxspec.util.integrate import integrate_interval, integrate_positive


def power(t, z):
    return t ** (z - 1) * jnp.exp(-t)


each(
    lambda: jax.grad(lambda x: integrate_interval(power, n=5)(0.5, 1.0, x))(2.0),
    lambda: jax.grad(integrate_positive(power, n=5))(2.0),
)
