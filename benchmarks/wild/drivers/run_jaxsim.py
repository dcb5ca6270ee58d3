"""Safe norms."""

import jax
import jax.numpy as jnp
from _driver import each
from jaxsim.math import safe_norm

X = jnp.array([[0.3, 0.4], [0.5, 0.6]])

each(
    lambda: jax.grad(lambda x: safe_norm(x[0]))(X),
    lambda: jax.grad(lambda x: jnp.sum(safe_norm(x, axis=-1)))(X),
)
