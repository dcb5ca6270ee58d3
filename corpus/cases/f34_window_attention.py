"""Sliding-window causal attention that recomputes the probabilities in backward."""

from functools import partial

import jax
import jax.numpy as jnp


def _scores(q, k, keep):
    s = jnp.einsum("...id,...jd->...ij", q, k) * (q.shape[-1] ** -0.5)
    return jnp.where(keep, s, -jnp.inf)


def _band(t, window):
    i = jnp.arange(t)[:, None]
    j = jnp.arange(t)[None, :]
    return (j <= i) & (j > i - window)


def _attention(q, k, v, window):
    if window < 1:
        raise ValueError("window must be positive")
    if not (q.shape == k.shape and q.shape[:-1] == v.shape[:-1]):
        raise ValueError("shapes of q, k, v do not agree")
    s = _scores(q, k, _band(q.shape[-2], window))
    lse = jax.nn.logsumexp(s, axis=-1)
    out = jnp.einsum("...ij,...je->...ie", jnp.exp(s - lse[..., None]), v)
    return out, lse


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def right(q, k, v, window):
    """q, k: (..., T, d), v: (..., T, e); row i sees the last ``window`` keys."""
    return _attention(q, k, v, window)[0]


def _fwd(q, k, v, window):
    out, lse = _attention(q, k, v, window)
    return out, (q, k, v, out, lse)


def _grads(p, q, k, v, out, g):
    dp = jnp.einsum("...ie,...je->...ij", g, v)
    delta = jnp.sum(g * out, axis=-1, keepdims=True)
    ds = p * (dp - delta) * (q.shape[-1] ** -0.5)
    dq = jnp.einsum("...ij,...jd->...id", ds, k)
    dk = jnp.einsum("...ij,...id->...jd", ds, q)
    dv = jnp.einsum("...ij,...ie->...je", p, g)
    return dq, dk, dv


def _bwd(window, res, g):
    q, k, v, out, lse = res
    s = _scores(q, k, _band(q.shape[-2], window))
    return _grads(jnp.exp(s - lse[..., None]), q, k, v, out, g)


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def wrong(q, k, v, window):
    return _attention(q, k, v, window)[0]


def _wrong_bwd(window, res, g):
    q, k, v, out, lse = res
    t = q.shape[-2]
    offset = jnp.arange(t)[:, None] - jnp.arange(t)[None, :]
    keep = (offset >= 0) & (offset <= window)
    s = _scores(q, k, keep)
    return _grads(jnp.exp(s - lse[..., None]), q, k, v, out, g)


wrong.defvjp(_fwd, _wrong_bwd)
