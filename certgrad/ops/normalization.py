"""Normalisations over the last axis."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


def _leading(x):
    return tuple(range(x.ndim - 1))


@op(
    "*b n, n, n -> *b n",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.layer_norm",
    source="Ba, Kiros and Hinton 2016; two-pass variance; eps as PyTorch's",
)
def layer_norm(x, gamma, beta, *, eps=1e-5):
    """Layer normalisation over the last axis: (x - mean) / sqrt(var + eps) * gamma + beta."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * lax.rsqrt(variance + eps) * gamma + beta


@layer_norm.fwd
def _(x, gamma, beta, *, eps):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    rstd = lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + eps)
    normal = centred * rstd
    return normal * gamma + beta, (normal, rstd, gamma)


@layer_norm.jvp
def _(residuals, dx, dgamma, dbeta):
    normal, rstd, gamma = residuals
    along = normal * jnp.mean(normal * dx, axis=-1, keepdims=True)
    dnormal = rstd * (dx - jnp.mean(dx, axis=-1, keepdims=True) - along)
    return dnormal * gamma + normal * dgamma + dbeta


@layer_norm.vjp
def _(residuals, seed):
    normal, rstd, gamma = residuals
    ct = seed * gamma
    along = normal * jnp.mean(normal * ct, axis=-1, keepdims=True)
    ct_x = rstd * (ct - jnp.mean(ct, axis=-1, keepdims=True) - along)
    return ct_x, jnp.sum(seed * normal, axis=_leading(seed)), jnp.sum(seed, axis=_leading(seed))
