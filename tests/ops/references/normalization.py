"""References of the normalizations."""

import jax.numpy as jnp
from jax import lax

from ._reference import Reference

CANCELLED = {1e4: "of the cotangents' terms eps / variance is left, 1e-13 of them: the rest cancels"}
GROUPS = {"g": 8, "m": 8, "n": 64}


def layer_norm(x, gamma, beta, *, eps=1e-5):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + eps) * gamma + beta


def standard(x, axes, eps):
    return (x - jnp.mean(x, axes, keepdims=True)) * lax.rsqrt(jnp.var(x, axes, keepdims=True) + eps)


def wide(channels, x, axis):
    return lax.expand_dims(channels, [i for i in range(x.ndim) if i != axis])


def batch_norm(x, gamma, beta, *, axis, eps):
    others = tuple(i for i in range(x.ndim) if i != axis)
    return standard(x, others, eps) * wide(gamma, x, axis) + wide(beta, x, axis)


def batch_norm_inference(x, mean, var, gamma, beta, *, axis, eps):
    mean, var, gamma, beta = (wide(y, x, axis) for y in (mean, var, gamma, beta))
    return (x - mean) / jnp.sqrt(var + eps) * gamma + beta


def local_response_norm(x, *, size, alpha, beta, k):
    before = size // 2
    padded = jnp.pad(x * x, [*[(0, 0)] * (x.ndim - 2), (before, size - 1 - before), (0, 0)])
    total = sum(padded[..., i : i + x.shape[-2], :] for i in range(size))
    return x / (k + alpha / size * total) ** beta


REFERENCES = {
    "batch_norm": Reference(batch_norm, scales=CANCELLED),
    "batch_norm_inference": Reference(batch_norm_inference),
    "group_norm": Reference(
        lambda x, g, b, *, eps: standard(x, (-2, -1), eps) * g[..., None] + b[..., None], sizes=GROUPS
    ),
    "instance_norm": Reference(
        lambda x, g, b, *, eps: standard(x, -1, eps) * g[:, None] + b[:, None], scales=CANCELLED
    ),
    "l2_normalize": Reference(
        lambda x, *, axis, eps: x / jnp.maximum(jnp.linalg.norm(x, axis=axis, keepdims=True), eps)
    ),
    "local_response_norm": Reference(local_response_norm, sizes={"k": 5}),
    "weight_norm": Reference(lambda v, g: v / jnp.linalg.norm(v, axis=-1, keepdims=True) * g[..., None]),
    "layer_norm": Reference(layer_norm),
    "rms_norm": Reference(lambda x, g, *, eps=1e-5: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * g),
}
