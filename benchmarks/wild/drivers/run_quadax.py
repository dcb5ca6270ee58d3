"""Integrals, differentiated as the documentation does."""

import jax
import jax.numpy as jnp
import quadax
from _driver import each


def grad(f):
    jax.grad(lambda a: f(lambda t, c: jnp.exp(-c * t), [0.0, a], args=(a,))[0])(1.5)


each(lambda: grad(quadax.quadgk), lambda: grad(quadax.quadcc), lambda: grad(quadax.quadts))
