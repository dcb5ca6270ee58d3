"""Attention."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


@op(
    "*b n d, *b m d, *b m e -> *b n e",
    torch="torch.nn.functional.scaled_dot_product_attention",
    source="Vaswani et al. 2017",
)
def attention(q, k, v):
    """Scaled dot product attention softmax(q kᵀ / √d) v; heads are leading axes."""
    return jnp.matmul(_weights(q, k), v)


def _swap(x):
    return jnp.swapaxes(x, -1, -2)


def _root(q):
    return jnp.sqrt(q.shape[-1]).astype(q.dtype)


def _weights(q, k):
    scores = jnp.matmul(q, _swap(k)) / _root(q)
    z = jnp.exp(scores - lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True)))
    return z / jnp.sum(z, axis=-1, keepdims=True)


@attention.fwd
def _(q, k, v):
    p = _weights(q, k)
    return jnp.matmul(p, v), (q, k, v, p)


@attention.jvp
def _(residuals, dq, dk, dv):
    q, k, v, p = residuals
    dscores = (jnp.matmul(dq, _swap(k)) + jnp.matmul(q, _swap(dk))) / _root(q)
    dp = p * (dscores - jnp.sum(p * dscores, axis=-1, keepdims=True))
    return jnp.matmul(dp, v) + jnp.matmul(p, dv)


@attention.vjp
def _(residuals, seed):
    q, k, v, p = residuals
    ct_p = jnp.matmul(seed, _swap(v))
    ct_scores = p * (ct_p - jnp.sum(p * ct_p, axis=-1, keepdims=True)) / _root(q)
    return jnp.matmul(ct_scores, k), jnp.matmul(_swap(ct_scores), q), jnp.matmul(_swap(p), seed)
