"""Nonuniform Fourier transforms of both types in one, two and three dimensions."""

import jax
import jax.numpy as jnp
import nufftax
from _driver import each

X = jnp.array([0.1, 1.0, -2.0])
C = jnp.array([1.0 + 0.5j, 0.3 - 1.0j, -0.7 + 0.2j], dtype=jnp.complex64)


def first(dims):
    f = getattr(nufftax, f"nufft{dims}d1")
    modes = (4,) * dims
    jax.grad(lambda x: jnp.sum(jnp.abs(f(*[x] * dims, C, modes if dims > 1 else 4)) ** 2))(X)


def second(dims):
    f = getattr(nufftax, f"nufft{dims}d2")
    jax.grad(lambda x: jnp.sum(jnp.abs(f(*[x] * dims, jnp.ones((4,) * dims, dtype=jnp.complex64))) ** 2))(X)


each(*(lambda d=d, f=f: f(d) for d in (1, 2, 3) for f in (first, second)))
