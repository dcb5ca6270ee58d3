"""Diagonal complex state-space layer (S4D / LRU), one channel.

    h[t] = lam * h[t-1] + b * u[t],      y[t] = Re(sum_n c[n] h[t, n])

lam, b, c: (N,) complex; u: (T,) real.
"""

import jax
import jax.numpy as jnp
from jax import lax


def _states(lam, b, u):
    def step(h, u_t):
        h = lam * h + b * u_t
        return h, h

    return lax.scan(step, jnp.zeros_like(lam), u)[1]


def _ssm(lam, b, c, u):
    h = _states(lam, b, u)
    return (h @ c).real, (lam, b, c, u, h)


def _reverse(decay, drive):
    def step(carry, d):
        carry = d + decay * carry
        return carry, carry

    return lax.scan(step, jnp.zeros_like(decay), drive, reverse=True)[1]


@jax.custom_vjp
def right(lam, b, c, u):
    return _ssm(lam, b, c, u)[0]


def _bwd(res, g):
    lam, b, c, u, h = res
    gh = _reverse(lam, g[:, None] * c)
    h_prev = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]], axis=0)
    glam = jnp.sum(gh * h_prev, axis=0)
    gb = jnp.sum(gh * u[:, None], axis=0)
    gc = jnp.sum(g[:, None] * h, axis=0)
    gu = (gh @ b).real
    return glam, gb, gc, gu


right.defvjp(_ssm, _bwd)


@jax.custom_vjp
def wrong(lam, b, c, u):
    return _ssm(lam, b, c, u)[0]


def _bwd_torch(res, g):
    lam, b, c, u, h = res
    gh = _reverse(jnp.conj(lam), g[:, None] * jnp.conj(c))
    h_prev = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]], axis=0)
    glam = jnp.sum(gh * jnp.conj(h_prev), axis=0)
    gb = jnp.sum(gh * u[:, None], axis=0)
    gc = jnp.sum(g[:, None] * jnp.conj(h), axis=0)
    gu = (gh @ jnp.conj(b)).real
    return glam, gb, gc, gu


wrong.defvjp(_ssm, _bwd_torch)
