"""Euclidean projection onto {p >= 0, sum p = s} (Duchi et al. 2008), last axis."""

import jax
import jax.numpy as jnp


def _project_one(v, s):
    u = jnp.sort(v)[::-1]
    css = jnp.cumsum(u) - s
    k = jnp.arange(1, v.shape[0] + 1)
    rho = jnp.sum(u * k > css)
    theta = css[rho - 1] / rho
    return jnp.maximum(v - theta, 0.0)


def _project(v, s):
    rows = v.reshape(-1, v.shape[-1])
    return jax.vmap(_project_one, in_axes=(0, None))(rows, s).reshape(v.shape)


@jax.custom_vjp
def right(v, s):
    return _project(v, s)


def _fwd(v, s):
    p = _project(v, s)
    return p, p > 0


def _bwd(support, g):
    g = jnp.where(support, g, 0.0)
    size = jnp.sum(support, axis=-1, keepdims=True)
    mean = jnp.sum(g, axis=-1, keepdims=True) / size
    return jnp.where(support, g - mean, 0.0), jnp.sum(mean)


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(v, s):
    return _project(v, s)


def _bwd_wrong(support, g):
    g = jnp.where(support, g, 0.0)
    size = jnp.sum(support, axis=-1, keepdims=True)
    centred = g - jnp.mean(g, axis=-1, keepdims=True)
    return jnp.where(support, centred, 0.0), jnp.sum(jnp.sum(g, -1, keepdims=True) / size)


wrong.defvjp(_fwd, _bwd_wrong)
