"""Spreading and interpolation, in one, two and three dimensions."""

import inspect

import jax
import jax.numpy as jnp
from _driver import each
from nufftax.core import kernel, spread

X = jnp.array([0.1, 1.0, -2.0])
C = jnp.array([1.0, 0.3, -0.7])
KERNEL = kernel.compute_kernel_params(1e-2)


def spreading(dims):
    f = getattr(spread, f"spread_{dims}d")
    jax.grad(lambda x, c: jnp.sum(f(*[x] * dims, c, *[6] * dims, KERNEL) ** 2), (0, 1))(X, C)


def interpolation(dims):
    f = getattr(spread, f"interp_{dims}d")
    grid = jnp.ones((6,) * dims)
    sizes = [6] * dims if "nf" in inspect.signature(f).parameters else []
    jax.grad(lambda x, g: jnp.sum(f(*[x] * dims, g, *sizes, KERNEL) ** 2), (0, 1))(X, grid)


each(*(lambda d=d, f=f: f(d) for d in (1, 2, 3) for f in (spreading, interpolation)))
