"""Attention layers, composed of contractions, softmax and the op `attention`."""

import jax.numpy as jnp

from certgrad.ops._composed import composed
from certgrad.ops._declare import case
from certgrad.ops.contractions import einsum
from certgrad.ops.scaled_dot_product import attention
from certgrad.ops.softmax_family import softmax

_SIGNATURE = "b n h d, b m h d, b m h e -> b n h e"
_SELF = "b n c, h c d, h c d, h c e, h e c -> b n c"
_CROSS = "b n c, b m f, h c d, h f d, h f e, h e c -> b n c"


@composed(
    case(_SIGNATURE, is_causal=False),
    case(_SIGNATURE, is_causal=True),
    like="jax.nn.dot_product_attention",
    source="Vaswani et al. 2017, as jax.nn lays it out: (batch, time, heads, features)",
)
def dot_product_attention(query, key, value, *, is_causal=False):
    """Scaled dot product attention in three steps: scores, softmax, mean of the values.

    With `is_causal` the i-th query sees the keys up to the i-th only.
    """
    scores = einsum("bnhd,bmhd->bhnm", query, key) / jnp.sqrt(query.shape[-1]).astype(query.dtype)
    if is_causal:
        scores = jnp.where(jnp.tri(query.shape[1], key.shape[1], dtype=bool), scores, -jnp.inf)
    return einsum("bhnm,bmhe->bnhe", softmax(scores, axis=-1), value)


@composed(
    case(_SELF, is_causal=False),
    case(_SELF, is_causal=True),
    torch="torch.nn.functional.multi_head_attention_forward",
    source="Vaswani et al. 2017, with a matrix for each head; `multi_head_attention` is the fused form",
)
def multi_head_self_attention(x, w_q, w_k, w_v, w_o, *, is_causal=False):
    """Self-attention of h heads: the sum over heads of attention(x w_q, x w_k, x w_v) w_o."""
    q, k, v = (einsum("bnc,hcd->bhnd", x, w) for w in (w_q, w_k, w_v))
    return einsum("bhne,hec->bnc", attention(q, k, v, is_causal=is_causal), w_o)


@composed(
    _CROSS,
    source="Vaswani et al. 2017: the decoder's attention to the encoder's output",
)
def multi_head_cross_attention(x, memory, w_q, w_k, w_v, w_o):
    """Attention of h heads from x to memory: the sum over heads of attention(x w_q, memory w_k, memory w_v) w_o."""
    q, k, v = (einsum("bnc,hcd->bhnd", y, w) for y, w in ((x, w_q), (memory, w_k), (memory, w_v)))
    return einsum("bhne,hec->bnc", attention(q, k, v), w_o)
