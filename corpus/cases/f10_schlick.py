"""Schlick's Fresnel reflectance.  ``f0`` is the reflectance at normal incidence."""

import jax
import jax.numpy as jnp


def _grazing(cos_theta):
    return jnp.clip(1.0 - cos_theta, 0.0, 1.0)


@jax.custom_jvp
def right(f0, cos_theta):
    return f0 + (1.0 - f0) * _grazing(cos_theta) ** 5


right.defjvps(
    lambda df0, ans, f0, c: (1.0 - _grazing(c) ** 5) * df0,
    lambda dc, ans, f0, c: jnp.where(c > 0.0, -5.0 * (1.0 - f0) * _grazing(c) ** 4, 0.0) * dc,
)


@jax.custom_jvp
def wrong(f0, cos_theta):
    return f0 + (1.0 - f0) * _grazing(cos_theta) ** 5


wrong.defjvps(
    lambda df0, ans, f0, c: jnp.broadcast_to(df0, ans.shape),
    lambda dc, ans, f0, c: jnp.where(c > 0.0, -5.0 * (1.0 - f0) * _grazing(c) ** 4, 0.0) * dc,
)
