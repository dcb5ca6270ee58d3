"""A function that autograd differentiates, wrapped for JAX."""

import agjax
import autograd.numpy as npa
import jax
import jax.numpy as jnp
from _driver import each
from agjax.experimental import wrap_for_jax

X = jnp.linspace(0.1, 0.9, 4)


def function(x):
    return npa.sin(x) * x


each(
    lambda: jax.grad(lambda x: jnp.sum(agjax.wrap_for_jax(function)(x)))(X),
    lambda: jax.grad(lambda x: jnp.sum(wrap_for_jax(function, result_shape_dtypes=X)(x)))(X),
)
