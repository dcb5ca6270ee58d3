"""Project each row onto the L2 ball of the given radius (one radius for all rows)."""

import jax
import jax.numpy as jnp


def _project(x, radius):
    norm = jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True))
    outside = norm > radius
    scale = jnp.where(outside, radius / jnp.where(outside, norm, 1.0), 1.0)
    return x * scale, (x, scale, norm, outside)


@jax.custom_vjp
def right(x, radius):
    return _project(x, radius)[0]


def _bwd(res, g):
    x, scale, norm, outside = res
    unit = x / jnp.where(outside, norm, 1.0)
    along = jnp.sum(g * unit, axis=-1, keepdims=True)
    gx = jnp.where(outside, scale * (g - along * unit), g)
    gr = jnp.sum(jnp.where(outside, along, 0.0))
    return gx, gr


right.defvjp(_project, _bwd)


@jax.custom_vjp
def wrong(x, radius):
    return _project(x, radius)[0]


def _bwd_rescale(res, g):
    x, scale, norm, outside = res
    unit = x / jnp.where(outside, norm, 1.0)
    along = jnp.sum(g * unit, axis=-1, keepdims=True)
    gx = g * scale
    gr = jnp.sum(jnp.where(outside, along, 0.0))
    return gx, gr


wrong.defvjp(_project, _bwd_rescale)
