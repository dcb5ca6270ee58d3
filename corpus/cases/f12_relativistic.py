"""Relativistic kinetic energy of point particles, velocities in units of ``c``."""

from functools import partial

import jax
import jax.numpy as jnp


def _gamma(v, c):
    beta2 = jnp.sum(v * v, axis=-1) / (c * c)
    return beta2, 1.0 / jnp.sqrt(1.0 - beta2)


def _energy(v, m, c):
    if m.shape != v.shape[:-1]:
        raise ValueError("one mass for each velocity vector")
    beta2, gam = _gamma(v, c)
    # gamma - 1 = beta^2 gamma^2 / (gamma + 1), no cancellation for slow particles
    return m * c * c * beta2 * gam * gam / (gam + 1.0)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def right(v, m, c=1.0):
    return _energy(v, m, c)


def _fwd(v, m, c):
    return _energy(v, m, c), (v, m)


def _right_bwd(c, res, g):
    v, m = res
    beta2, gam = _gamma(v, c)
    gv = (g * m * gam**3)[..., None] * v
    gm = g * c * c * beta2 * gam * gam / (gam + 1.0)
    return gv, gm


right.defvjp(_fwd, _right_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def wrong(v, m, c=1.0):
    return _energy(v, m, c)


def _wrong_bwd(c, res, g):
    v, m = res
    beta2, gam = _gamma(v, c)
    speed = c * jnp.sqrt(beta2)
    dspeed = g * m * gam**3 * speed
    unit = v / speed[..., None]
    gm = g * c * c * beta2 * gam * gam / (gam + 1.0)
    return dspeed[..., None] * unit, gm


wrong.defvjp(_fwd, _wrong_bwd)
