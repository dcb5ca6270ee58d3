"""Attention."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap


@op(
    case("*b n d, *b m d, *b m e -> *b n e", is_causal=False),
    case("*b n d, *b m d, *b m e -> *b n e", is_causal=True),
    torch="torch.nn.functional.scaled_dot_product_attention",
    source="Vaswani et al. 2017",
    magnitudes=Magnitudes(most=1 / 4),
)
def attention(q, k, v, *, is_causal=False):
    """Scaled dot product attention softmax(q kᵀ / √d) v; heads are leading axes.

    With `is_causal` the i-th query sees the keys up to the i-th only.
    """
    return matmul_stacks(weights(q, k, is_causal), v)


def root(q):
    return jnp.sqrt(q.shape[-1]).astype(q.dtype)


def scores_of(q, k):
    """q kᵀ / √d. The queries are divided: a quotient after the product would be fused into each of its uses, rounded in
    several ways, and large scores would exceed their own maximum."""
    return matmul_stacks(q / root(q), swap(k))


def weights(q, k, is_causal):
    scores = scores_of(q, k)
    if is_causal:
        scores = jnp.where(jnp.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -jnp.inf)
    return _softmax(scores)


def _softmax(scores):
    z = jnp.exp(scores - lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True)))
    return z / jnp.sum(z, axis=-1, keepdims=True)


@attention.fwd
def _(q, k, v, *, is_causal):
    p = weights(q, k, is_causal)
    return matmul_stacks(p, v), (q, k, v, p)


@attention.jvp
def _(residuals, dq, dk, dv):
    return tangent(residuals, dq, dk, dv)


def tangent(residuals, dq, dk, dv):
    q, k, v, p = residuals
    dscores = (matmul_stacks(dq, swap(k)) + matmul_stacks(q, swap(dk))) / root(q)
    dp = p * (dscores - jnp.sum(p * dscores, axis=-1, keepdims=True))
    return matmul_stacks(dp, v) + matmul_stacks(p, dv)


@attention.vjp
def _(residuals, seed):
    return cotangents(residuals, seed)


def cotangents(residuals, seed):
    q, k, v, p = residuals
    ct_p = matmul_stacks(seed, swap(v))
    ct_scores = p * (ct_p - jnp.sum(p * ct_p, axis=-1, keepdims=True)) / root(q)
    return matmul_stacks(ct_scores, k), matmul_stacks(swap(ct_scores), q), matmul_stacks(swap(p), seed)


@op(
    "*b n d, *b m d, *b m e, *b n m:bool -> *b n e",
    torch="torch.nn.functional.scaled_dot_product_attention",
    source="Vaswani et al. 2017; each query must see a key",
    magnitudes=Magnitudes(most=1 / 4),
)
def masked_attention(q, k, v, mask):
    """Scaled dot product attention in which each query sees the keys where its row of the mask is set."""
    return matmul_stacks(_masked_attention_weights(q, k, mask), v)


def _masked_attention_weights(q, k, mask):
    return _softmax(jnp.where(mask, scores_of(q, k), -jnp.inf))


@masked_attention.fwd
def _(q, k, v, mask):
    p = _masked_attention_weights(q, k, mask)
    return matmul_stacks(p, v), (q, k, v, p)


@masked_attention.jvp
def _(residuals, dq, dk, dv):
    return tangent(residuals, dq, dk, dv)


@masked_attention.vjp
def _(residuals, seed):
    return cotangents(residuals, seed)
