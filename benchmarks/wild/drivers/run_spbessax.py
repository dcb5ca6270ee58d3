"""Spherical Bessel functions."""

import jax
import jax.numpy as jnp
from _driver import each
from spbessax.functions import create_j_l

each(lambda: jax.grad(lambda r: jnp.sum(create_j_l(2)(r)))(jnp.array([0.5, 1.0, 3.0])))
