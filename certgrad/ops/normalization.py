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


@op(
    "*b n, n -> *b n",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.rms_norm",
    source="Zhang and Sennrich 2019",
)
def rms_norm(x, gamma, *, eps=1e-5):
    """Root mean square normalisation over the last axis: x / sqrt(mean(x²) + eps) * gamma."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * gamma


@rms_norm.fwd
def _(x, gamma, *, eps):
    rstd = lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)
    normal = x * rstd
    return normal * gamma, (normal, rstd, gamma)


@rms_norm.jvp
def _(residuals, dx, dgamma):
    normal, rstd, gamma = residuals
    dnormal = rstd * (dx - normal * jnp.mean(normal * dx, axis=-1, keepdims=True))
    return dnormal * gamma + normal * dgamma


@rms_norm.vjp
def _(residuals, seed):
    normal, rstd, gamma = residuals
    ct = seed * gamma
    ct_x = rstd * (ct - normal * jnp.mean(normal * ct, axis=-1, keepdims=True))
    return ct_x, jnp.sum(seed * normal, axis=_leading(seed))
