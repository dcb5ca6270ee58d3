"""Transposes, halos and Fourier transforms on a mesh of one device."""

import jax
import jax.numpy as jnp
import jaxdecomp
from _driver import each
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

MESH = jax.make_mesh((1, 1), ("x", "y"))
X = jax.device_put(jnp.arange(64.0).reshape(4, 4, 4), NamedSharding(MESH, P("x", "y")))


def grad(f):
    with MESH:
        return jax.grad(lambda x: jnp.sum(jnp.abs(f(x)) ** 2))(X)


each(
    lambda: grad(jaxdecomp.transposeXtoY),
    lambda: grad(lambda x: jaxdecomp.halo_exchange(x, halo_extents=(1, 1), halo_periods=(True, True))),
    lambda: grad(lambda x: jaxdecomp.fft.pfft3d(x.astype(jnp.complex64))),
)
