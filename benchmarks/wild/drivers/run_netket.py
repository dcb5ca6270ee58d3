"""Expectations over samples."""

import jax
import jax.numpy as jnp
import netket as nk
from _driver import each

S = jnp.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def expected():
    log_pdf = lambda w, s: 2 * s @ w  # noqa: E731
    local = lambda w, s: jnp.sum(s * w, axis=-1) ** 2  # noqa: E731
    jax.grad(lambda w: nk.jax.expect(log_pdf, local, w, S)[0])(jnp.array([0.1, 0.2]))


each(expected)
