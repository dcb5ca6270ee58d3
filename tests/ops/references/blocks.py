"""References of attention, convolutions and cells."""

from math import prod

import jax
import jax.numpy as jnp
from jax import lax

from ._reference import Reference

SATURATED = {1e4: "scores of 1e8 are known to a few units: which weights vanish, and what cancels, is rounding"}
WINDOWS = {
    f"{letter}{axis}": size for axis in "hw" for letter, size in zip("mnkpqh", (62, 64, 3, 1, 2, 2), strict=True)
}
HEADS = {"b": 4, "n": 64, "c": 64, "h": 4, "d": 16, "e": 16}
SMALL = {"b": 8, "g": 1, "c": 16, "o": 16, "mh": 30, "mw": 30, "kh": 3, "kw": 3}


def attention(q, k, v, *, is_causal=False):
    seen = jnp.tri(q.shape[-2], k.shape[-2], dtype=bool) if is_causal else True
    return masked_attention(q, k, v, seen)


def flash_attention(q, k, v, *, tile, is_causal):
    return attention(q, k, v, is_causal=is_causal)


def masked_attention(q, k, v, mask):
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ v


def rotary_embedding(x, cos, sin):
    d = x.shape[-1] // 2
    return x * jnp.concatenate([cos, cos], -1) + jnp.concatenate([-x[..., d:], x[..., :d]], -1) * jnp.concatenate(
        [sin, sin], -1
    )


def conv(x, kernel, *, stride, dilation, groups):
    return lax.conv_general_dilated(x, kernel, stride, "VALID", rhs_dilation=dilation, feature_group_count=groups)


def conv_transpose(x, kernel, *, stride, dilation, groups):
    batch, channels = x.shape[0], groups * kernel.shape[1]
    given = zip(x.shape[2:], kernel.shape[2:], stride, dilation, strict=True)
    sizes = [s * (m - 1) + d * (k - 1) + 1 for m, k, s, d in given]
    like = jnp.zeros((batch, channels, *sizes), x.dtype)
    return jax.linear_transpose(lambda y: conv(y, kernel, stride=stride, dilation=dilation, groups=groups), like)(x)[0]


def pooled(x, init, combine, window, before, size, stride):
    rank = x.ndim - len(window)
    sizes = zip(x.shape[rank:], window, before, size, stride, strict=True)
    padding = [(0, 0)] * rank + [(p, s * (m - 1) + k - n - p) for n, k, p, m, s in sizes]
    ones = (1,) * rank
    return lax.reduce_window(x, init, combine, (*ones, *window), (*ones, *stride), padding)


def max_pool(x, **how):
    return pooled(x, -jnp.inf, lax.max, **how)


def avg_pool(x, *, window, **how):
    return pooled(x, 0.0, lax.add, window, **how) / prod(window)


def adaptive_avg_pool2d(x, *, output_size):
    m, k = output_size
    return jnp.mean(x.reshape(*x.shape[:-2], m, x.shape[-2] // m, k, x.shape[-1] // k), (-3, -1))


def elman(x, h, w_x, w_h, b):
    def step(h, row):
        y = jnp.tanh(w_x @ row + w_h @ h + b)
        return y, y

    return lax.scan(step, h, x)[1]


def gru_cell(r, z, n, inner, h):
    r, z = jax.nn.sigmoid(r), jax.nn.sigmoid(z)
    return (1 - z) * jnp.tanh(n + r * inner) + z * h


def lstm_cell(i, f, g, o, c):
    new = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(new), new


def selective_scan(a, b, h):
    def step(h, row):
        y = row[0] * h + row[1]
        return y, y

    return lax.scan(step, h, (a, b))[1]


def with_a_kept_key(rng, shapes, keywords):
    q, k, v, mask = shapes
    kept = rng.uniform(size=mask) > 0.4
    kept[..., 0] = True
    return [*(rng.normal(size=shape) for shape in (q, k, v)), kept]


def multi_head_attention(x, w_q, w_k, w_v, w_o):
    q, k, v = (jnp.einsum("bnc,hcd->bhnd", x, w) for w in (w_q, w_k, w_v))
    return jnp.einsum("bhne,hec->bnc", attention(q, k, v), w_o)


REFERENCES = {
    "multi_head_attention": Reference(multi_head_attention, ulps=(16.0, 32.0), sizes=HEADS),
    "residual_attention": Reference(lambda x, *w: x + multi_head_attention(x, *w), ulps=(16.0, 32.0), sizes=HEADS),
    "adaptive_avg_pool2d": Reference(adaptive_avg_pool2d, sizes={"m": 8, "p": 8, "l": 8, "q": 8}),
    "attention": Reference(attention, scales=SATURATED),
    "avg_pool1d": Reference(avg_pool, sizes=WINDOWS),
    "avg_pool2d": Reference(avg_pool, sizes=WINDOWS),
    "conv1d": Reference(conv, sizes=SMALL),
    "conv2d": Reference(conv, sizes=SMALL),
    "conv3d": Reference(conv, sizes=SMALL | {"b": 2, "mh": 14, "mw": 14, "mt": 14, "kt": 3}),
    "conv_transpose1d": Reference(conv_transpose, sizes=SMALL),
    "conv_transpose2d": Reference(conv_transpose, sizes=SMALL),
    "flash_attention": Reference(
        flash_attention, scales=SATURATED, sizes={"n": 512, "t": 8, "s": 64, "d": 64, "e": 64}
    ),
    "elman": Reference(elman),
    "elman_cell": Reference(lambda x, h, w_x, w_h, b: jnp.tanh(x @ w_x.T + h @ w_h.T + b)),
    "global_avg_pool2d": Reference(lambda x: jnp.mean(x, (-2, -1))),
    "gru_cell": Reference(gru_cell),
    "lstm_cell": Reference(lstm_cell),
    "masked_attention": Reference(masked_attention, with_a_kept_key),
    "max_pool1d": Reference(max_pool, sizes=WINDOWS),
    "max_pool2d": Reference(max_pool, sizes=WINDOWS),
    "rotary_embedding": Reference(rotary_embedding),
    "selective_scan": Reference(selective_scan, sizes={"t": 64}),
}
