"""Elastic energy of a spring network; edges is an (E, 2) integer array."""

import jax
import jax.numpy as jnp


def _stretch(pos, edges):
    pos = jnp.asarray(pos)
    i, j = edges[:, 0], edges[:, 1]
    d = pos.at[i].get(mode="clip") - pos.at[j].get(mode="clip")
    return d, jnp.sqrt(jnp.sum(d * d, axis=-1))


@jax.custom_vjp
def right(pos, edges, stiffness, rest):
    _, length = _stretch(pos, edges)
    return 0.5 * jnp.sum(stiffness * (length - rest) ** 2)


def _fwd(pos, edges, stiffness, rest):
    d, length = _stretch(pos, edges)
    energy = 0.5 * jnp.sum(stiffness * (length - rest) ** 2)
    return energy, (pos, edges, stiffness, rest, d, length)


def _bwd(res, g):
    pos, edges, k, rest, d, length = res
    ext = length - rest
    # k (1 - rest / length); a spring of zero rest length has no kink at zero
    ratio = jnp.where(length > 0, rest / jnp.where(length > 0, length, 1.0), 0.0)
    f = g * (k * (1.0 - ratio))[:, None] * d
    gpos = jnp.zeros_like(pos)
    gpos = gpos.at[edges[:, 0]].add(f, mode="clip")
    gpos = gpos.at[edges[:, 1]].add(-f, mode="clip")
    return gpos, None, 0.5 * g * ext**2, -g * k * ext


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(pos, edges, stiffness, rest):
    _, length = _stretch(pos, edges)
    return 0.5 * jnp.sum(stiffness * (length - rest) ** 2)


def _bwd_rest_sign(res, g):
    pos, edges, k, rest, d, length = res
    ext = length - rest
    ratio = jnp.where(length > 0, rest / jnp.where(length > 0, length, 1.0), 0.0)
    f = g * (k * (1.0 - ratio))[:, None] * d
    gpos = jnp.zeros_like(pos)
    gpos = gpos.at[edges[:, 0]].add(f, mode="clip")
    gpos = gpos.at[edges[:, 1]].add(-f, mode="clip")
    return gpos, None, 0.5 * g * ext**2, g * k * ext


wrong.defvjp(_fwd, _bwd_rest_sign)
