"""Layers in one piece: their rules share what the forward computed."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap
from certgrad.ops.scaled_dot_product import cotangents, tangent, weights


def _heads(x, w):
    """Return the rows x (b, n, c) times each head's matrix of w (h, c, d): an array (b, h, n, d)."""
    return jnp.swapaxes(lax.dot_general(x, w, (((2,), (1,)), ((), ()))), 1, 2)


def _weights(rows, ct):
    """Return the transpose of `_heads` in w: from rows (b, n, c) and a cotangent (b, h, n, d), an array (h, c, d)."""
    return jnp.swapaxes(lax.dot_general(rows, ct, (((0, 1), (0, 2)), ((), ()))), 0, 1)


def _combined_heads(heads, w):
    """Return the sum over heads of each head (b, h, n, e) times its matrix of w (h, e, c): an array (b, n, c)."""
    return lax.dot_general(heads, w, (((1, 3), (0, 1)), ((), ())))


def _attended(x, w_q, w_k, w_v, w_o):
    """Return self-attention of h heads, and the residuals of its rules."""
    q, k, v = _heads(x, w_q), _heads(x, w_k), _heads(x, w_v)
    p = weights(q, k, False)
    heads = matmul_stacks(p, v)
    return _combined_heads(heads, w_o), (x, w_q, w_k, w_v, w_o, heads, (q, k, v, p))


def _change(saved, dx, dw_q, dw_k, dw_v, dw_o):
    x, w_q, w_k, w_v, w_o, heads, residuals = saved
    moved = [_heads(dx, w) + _heads(x, dw) for w, dw in ((w_q, dw_q), (w_k, dw_k), (w_v, dw_v))]
    return _combined_heads(tangent(residuals, *moved), w_o) + _combined_heads(heads, dw_o)


def _back(saved, seed):
    """Return the cotangents of x and of the four weights, from the residuals `saved`."""
    x, w_q, w_k, w_v, w_o, heads, residuals = saved
    cts = cotangents(residuals, _heads(seed, swap(w_o)))
    ct_x = sum(_combined_heads(ct, swap(w)) for ct, w in zip(cts, (w_q, w_k, w_v), strict=True))
    ct_o = lax.dot_general(heads, seed, (((0, 2), (0, 1)), ((), ())))
    return ct_x, (*(_weights(x, ct) for ct in cts), ct_o)


@op(
    "b n c, h c d, h c d, h c e, h e c -> b n c",
    torch="torch.nn.functional.multi_head_attention_forward",
    source="Vaswani et al. 2017: self-attention, with a matrix for each head, as in flax",
    magnitudes=Magnitudes(most=1 / 8),
)
def multi_head_attention(x, w_q, w_k, w_v, w_o):
    """Self-attention of h heads: the sum over heads of attention(x w_q, x w_k, x w_v) w_o."""
    return _attended(x, w_q, w_k, w_v, w_o)[0]


@multi_head_attention.fwd
def _(x, w_q, w_k, w_v, w_o):
    return _attended(x, w_q, w_k, w_v, w_o)


@multi_head_attention.jvp
def _(saved, dx, dw_q, dw_k, dw_v, dw_o):
    return _change(saved, dx, dw_q, dw_k, dw_v, dw_o)


@multi_head_attention.vjp
def _(saved, seed):
    ct_x, rest = _back(saved, seed)
    return ct_x, *rest


@op(
    "b n c, h c d, h c d, h c e, h e c -> b n c",
    source="He et al. 2016 for the residual: x + multi_head_attention(x)",
    magnitudes=Magnitudes(most=1 / 8),
)
def residual_attention(x, w_q, w_k, w_v, w_o):
    """x plus its self-attention of h heads."""
    return x + _attended(x, w_q, w_k, w_v, w_o)[0]


@residual_attention.fwd
def _(x, w_q, w_k, w_v, w_o):
    y, saved = _attended(x, w_q, w_k, w_v, w_o)
    return x + y, saved


@residual_attention.jvp
def _(saved, dx, dw_q, dw_k, dw_v, dw_o):
    return dx + _change(saved, dx, dw_q, dw_k, dw_v, dw_o)


@residual_attention.vjp
def _(saved, seed):
    ct_x, rest = _back(saved, seed)
    return seed + ct_x, *rest
