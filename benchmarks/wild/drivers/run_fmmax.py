"""Eigenvalues of a complex matrix."""

import jax
import jax.numpy as jnp
from _driver import each
from fmmax.eig import eig

A = jnp.array([[1.0, 0.2], [0.3, 2.0]], dtype=jnp.complex64)

each(lambda: jax.grad(lambda t: jnp.sum(eig(A * t)[0]).real)(1.5))
