"""One-pole low-pass filter, y[t] = (1 - a) x[t] + a y[t-1], time on axis 0."""

import jax
import jax.numpy as jnp
from jax import lax


def _filter(x, a, y0):
    def step(y, x_t):
        y = (1.0 - a) * x_t + a * y
        return y, y

    return lax.scan(step, y0, x)[1]


@jax.custom_vjp
def right(x, a, y0):
    return _filter(x, a, y0)


def _fwd(x, a, y0):
    y = _filter(x, a, y0)
    return y, (x, a, y0, y)


def _bwd(res, g):
    x, a, y0, y = res

    def step(carry, g_t):
        lam = g_t + a * carry
        return lam, lam

    first, lam = lax.scan(step, jnp.zeros_like(y0), g, reverse=True)
    y_prev = jnp.concatenate([y0[None], y[:-1]], axis=0)
    return (1.0 - a) * lam, jnp.sum(lam * (y_prev - x)), a * first


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(x, a, y0):
    return _filter(x, a, y0)


def _bwd_same_step(res, g):
    x, a, y0, y = res

    def step(carry, g_t):
        lam = g_t + a * carry
        return lam, lam

    first, lam = lax.scan(step, jnp.zeros_like(y0), g, reverse=True)
    return (1.0 - a) * lam, jnp.sum(lam * (y - x)), a * first


wrong.defvjp(_fwd, _bwd_same_step)
