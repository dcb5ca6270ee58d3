"""Soft thresholding with a learned threshold (LISTA layers)."""

import jax
import jax.numpy as jnp


def shrink(x, lam):
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - lam, 0.0)


def _sum_like(g, ref):
    lead = g.ndim - ref.ndim
    g = g.sum(axis=tuple(range(lead)))
    axes = tuple(a for a in range(ref.ndim) if ref.shape[a] == 1)
    return g.sum(axis=axes, keepdims=True)


@jax.custom_vjp
def right(x, lam):
    return shrink(x, lam)


def right_fwd(x, lam):
    x, lam = jnp.asarray(x), jnp.asarray(lam)
    return shrink(x, lam), (x, lam)


def right_bwd(res, g):
    x, lam = res
    active = jnp.where(jnp.abs(x) > lam, 1.0, 0.0).astype(g.dtype)
    gx = g * active
    glam = -g * active * jnp.sign(x)
    return _sum_like(gx, x), _sum_like(glam, lam)


right.defvjp(right_fwd, right_bwd)


@jax.custom_vjp
def wrong(x, lam):
    return shrink(x, lam)


def wrong_bwd(res, g):
    x, lam = res
    active = jnp.where(jnp.abs(x) > lam, 1.0, 0.0).astype(g.dtype)
    gx = g * active
    return _sum_like(gx, x), _sum_like(-gx, lam)


wrong.defvjp(right_fwd, wrong_bwd)
