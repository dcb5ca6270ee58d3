"""Four rules as users write them for layers: affine, softmax, attention, a linear recurrence."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("n d, d h, h -> n h")
@jax.custom_vjp
def affine(x, w, c):
    """tanh(x w + c)."""
    return jnp.tanh(x @ w + c)


def _affine_fwd(x, w, c):
    y = affine(x, w, c)
    return y, (x, w, y)


def _affine_bwd(residuals, g):
    x, w, y = residuals
    t = g * (1 - y**2)
    return t @ w.T, x.T @ t, t.sum(0)


affine.defvjp(_affine_fwd, _affine_bwd)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def softmax(x):
    """Along each row."""
    return jax.nn.softmax(x, -1)


def _softmax_fwd(x):
    y = softmax(x)
    return y, y


def _softmax_bwd(y, g):
    return (y * (g - (g * y).sum(-1, keepdims=True)),)


softmax.defvjp(_softmax_fwd, _softmax_bwd)


@certgrad.declare("n d, m d, m e -> n e")
@jax.custom_vjp
def attention(q, k, v):
    """softmax(q kᵀ) v."""
    return jax.nn.softmax(q @ k.T, -1) @ v


def _attention_fwd(q, k, v):
    p = jax.nn.softmax(q @ k.T, -1)
    return p @ v, (q, k, v, p)


def _attention_bwd(residuals, g):
    q, k, v, p = residuals
    dp = g @ v.T
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    return ds @ k, ds.T @ q, p.T @ g


attention.defvjp(_attention_fwd, _attention_bwd)


@certgrad.declare("t d, t d -> t d")
@jax.custom_vjp
def recurrence(a, x):
    """h[t] = a[t] h[t − 1] + x[t]."""

    def step(h, ax):
        h = ax[0] * h + ax[1]
        return h, h

    return jax.lax.scan(step, jnp.zeros_like(x[0]), (a, x))[1]


def _recurrence_fwd(a, x):
    h = recurrence(a, x)
    return h, (a, h)


def _recurrence_bwd(residuals, g):
    a, h = residuals
    before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])

    def step(c, ag):
        c = c + ag[1]
        return ag[0] * c, c

    _, d = jax.lax.scan(step, jnp.zeros_like(g[0]), (a, g), reverse=True)
    return d * before, d


recurrence.defvjp(_recurrence_fwd, _recurrence_bwd)
