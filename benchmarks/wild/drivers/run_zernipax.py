"""Zernike polynomials, differentiated in the radius."""

import jax
import jax.numpy as jnp
from _driver import each
from zernipax import zernike

R = jnp.linspace(0.1, 0.9, 3)
L, M = jnp.array([2, 3]), jnp.array([0, 1])


def radial(f):
    jax.jvp(lambda r: f(r, L, M, 0), (R,), (jnp.ones(3),))


each(lambda: radial(zernike.zernike_radial_unique), lambda: radial(zernike.zernike_radial_cpu))
