"""Tukey's biweight rho with a trainable cut-off ``c`` (c > 0)."""

import jax
import jax.numpy as jnp


def _rho(r, c):
    u2 = (r / c) ** 2
    return jnp.where(jnp.abs(r) <= c, c * c / 6.0 * (1.0 - (1.0 - u2) ** 3), c * c / 6.0)


def _collapse(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for ax, n in enumerate(shape):
        if n == 1:
            g = g.sum(ax, keepdims=True)
    return g


@jax.custom_vjp
def right(r, c):
    return _rho(r, c)


def _fwd(r, c):
    return _rho(r, c), {"r": r, "c": c}


def _bwd(res, g):
    r, c = res["r"], res["c"]
    inside = jnp.abs(r) <= c
    u2 = (r / c) ** 2
    k = 1.0 - u2
    dr = jnp.where(inside, r * k * k, 0.0)
    dc = jnp.where(inside, c / 3.0 * (1.0 - k**3) - c * u2 * k * k, c / 3.0)
    return _collapse(g * dr, jnp.shape(r)), _collapse(g * dc, jnp.shape(c))


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(r, c):
    return _rho(r, c)


def _bwd_no_plateau(res, g):
    r, c = res["r"], res["c"]
    inside = jnp.abs(r) <= c
    u2 = (r / c) ** 2
    k = 1.0 - u2
    dr = jnp.where(inside, r * k * k, 0.0)
    dc = jnp.where(inside, c / 3.0 * (1.0 - k**3) - c * u2 * k * k, 0.0)
    return _collapse(g * dr, jnp.shape(r)), _collapse(g * dc, jnp.shape(c))


wrong.defvjp(_fwd, _bwd_no_plateau)
