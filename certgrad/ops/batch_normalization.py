"""Normalisations of channels, by statistics of a batch, of a group, of one image, or given ones."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops.reshaping import reshape

_CHANNELS = case("*b c *s, c, c -> *b c *s", axis=axis_of("c"))


def _others(x, axis):
    """Return all axes of `x` but `axis`."""
    return (*range(axis), *range(axis + 1, x.ndim))


def _expanded_channels(channels, x, axis):
    """Return an array of one number a channel with the rank of `x`, whose channels are along `axis`."""
    return lax.expand_dims(channels, _others(x, axis))


def _standard(x, axes, eps):
    """Return (x - mean) / sqrt(var + eps) over the axes, and 1 / sqrt(var + eps); the variance in two passes."""
    centred = x - jnp.mean(x, axis=axes, keepdims=True)
    rstd = lax.rsqrt(jnp.mean(centred * centred, axis=axes, keepdims=True) + eps)
    return centred * rstd, rstd


def _standard_derivative(normal, rstd, change, axes):
    """Return the derivative along `change` of the first result of `_standard`; this linear map is its own transpose."""
    along = normal * jnp.mean(normal * change, axis=axes, keepdims=True)
    return rstd * (change - jnp.mean(change, axis=axes, keepdims=True) - along)


@op(
    _CHANNELS,
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.batch_norm",
    source="Ioffe and Szegedy 2015, in training: mean and population variance of the batch; two-pass variance",
)
def batch_norm(x, gamma, beta, *, axis=-1, eps=1e-5):
    """Batch normalisation in training: each channel by its mean and variance over all other axes, then scaled."""
    normal, _ = _standard(x, _others(x, axis), eps)
    return normal * _expanded_channels(gamma, x, axis) + _expanded_channels(beta, x, axis)


@batch_norm.fwd
def _(x, gamma, beta, *, axis, eps):
    normal, rstd = _standard(x, _others(x, axis), eps)
    return normal * _expanded_channels(gamma, x, axis) + _expanded_channels(beta, x, axis), (normal, rstd, gamma)


@batch_norm.jvp
def _(residuals, dx, dgamma, dbeta, *, axis):
    normal, rstd, gamma = residuals
    dnormal = _standard_derivative(normal, rstd, dx, _others(dx, axis))
    return (
        dnormal * _expanded_channels(gamma, dx, axis)
        + normal * _expanded_channels(dgamma, dx, axis)
        + _expanded_channels(dbeta, dx, axis)
    )


@batch_norm.vjp
def _(residuals, seed, *, axis):
    normal, rstd, gamma = residuals
    others = _others(seed, axis)
    ct_x = _standard_derivative(normal, rstd, seed * _expanded_channels(gamma, seed, axis), others)
    return ct_x, jnp.sum(seed * normal, axis=others), jnp.sum(seed, axis=others)


@op(
    case("*b c *s, c, c, c, c -> *b c *s", axis=axis_of("c")),
    domain="var + eps > 0",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.batch_norm",
    source="Ioffe and Szegedy 2015, at inference: mean and variance are arguments",
)
def batch_norm_inference(x, mean, var, gamma, beta, *, axis=-1, eps=1e-5):
    """Batch normalisation at inference: (x - mean) / sqrt(var + eps) * gamma + beta for each channel."""
    scale = _expanded_channels(gamma * lax.rsqrt(var + eps), x, axis)
    return (x - _expanded_channels(mean, x, axis)) * scale + _expanded_channels(beta, x, axis)


@batch_norm_inference.jvp
def _(x, mean, var, gamma, beta, dx, dmean, dvar, dgamma, dbeta, *, axis, eps):
    rstd = lax.rsqrt(var + eps)
    dscale = dgamma * rstd - gamma * rstd / (2 * (var + eps)) * dvar
    moved = (dx - _expanded_channels(dmean, x, axis)) * _expanded_channels(gamma * rstd, x, axis)
    return (
        moved
        + (x - _expanded_channels(mean, x, axis)) * _expanded_channels(dscale, x, axis)
        + _expanded_channels(dbeta, x, axis)
    )


@batch_norm_inference.vjp
def _(x, mean, var, gamma, beta, seed, *, axis, eps):
    rstd = lax.rsqrt(var + eps)
    others = _others(x, axis)
    total = jnp.sum(seed, axis=others)
    along = jnp.sum(seed * (x - _expanded_channels(mean, x, axis)), axis=others)
    ct_var = -along * gamma * rstd / (2 * (var + eps))
    return seed * _expanded_channels(gamma * rstd, x, axis), -total * gamma * rstd, ct_var, along * rstd, total


@op(
    "*b g m n, g m, g m -> *b g m n",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.group_norm",
    source="Wu and He 2018; two-pass variance",
)
def group_norm(x, gamma, beta, *, eps=1e-5):
    """Group normalisation of (batch, channels, ..): each of `num_groups` groups by its own mean and variance."""
    return _standard(x, (-2, -1), eps)[0] * jnp.expand_dims(gamma, -1) + jnp.expand_dims(beta, -1)


@group_norm.fwd
def _(x, gamma, beta, *, eps):
    normal, rstd = _standard(x, (-2, -1), eps)
    return normal * jnp.expand_dims(gamma, -1) + jnp.expand_dims(beta, -1), (normal, rstd, gamma)


@group_norm.jvp
def _(residuals, dx, dgamma, dbeta):
    normal, rstd, gamma = residuals
    dnormal = _standard_derivative(normal, rstd, dx, (-2, -1))
    return dnormal * jnp.expand_dims(gamma, -1) + normal * jnp.expand_dims(dgamma, -1) + jnp.expand_dims(dbeta, -1)


@group_norm.vjp
def _(residuals, seed):
    normal, rstd, gamma = residuals
    others = (*range(seed.ndim - 3), seed.ndim - 1)
    ct_x = _standard_derivative(normal, rstd, seed * jnp.expand_dims(gamma, -1), (-2, -1))
    return ct_x, jnp.sum(seed * normal, axis=others), jnp.sum(seed, axis=others)


@group_norm.several
def _(x, gamma, beta, *, num_groups, eps=1e-5):
    x, gamma, beta = map(jnp.asarray, (x, gamma, beta))
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ValueError(f"group_norm: the channels of x {x.shape}, its second axis, do not divide into {num_groups}.")
    each = (num_groups, x.shape[1] // num_groups)
    y = group_norm.call_case(reshape(x, (x.shape[0], *each, -1)), reshape(gamma, each), reshape(beta, each), eps=eps)
    return reshape(y, x.shape)


@op(
    "*b c n, c, c -> *b c n",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.instance_norm",
    source="Ulyanov et al. 2016; two-pass variance",
)
def instance_norm(x, gamma, beta, *, eps=1e-5):
    """Instance normalisation of (batch, channels, ..): each channel of each image by its mean and variance."""
    return _standard(x, (-1,), eps)[0] * jnp.expand_dims(gamma, -1) + jnp.expand_dims(beta, -1)


@instance_norm.fwd
def _(x, gamma, beta, *, eps):
    normal, rstd = _standard(x, (-1,), eps)
    return normal * jnp.expand_dims(gamma, -1) + jnp.expand_dims(beta, -1), (normal, rstd, gamma)


@instance_norm.jvp
def _(residuals, dx, dgamma, dbeta):
    normal, rstd, gamma = residuals
    dnormal = _standard_derivative(normal, rstd, dx, (-1,))
    return dnormal * jnp.expand_dims(gamma, -1) + normal * jnp.expand_dims(dgamma, -1) + jnp.expand_dims(dbeta, -1)


@instance_norm.vjp
def _(residuals, seed):
    normal, rstd, gamma = residuals
    others = _others(seed, seed.ndim - 2)
    ct_x = _standard_derivative(normal, rstd, seed * jnp.expand_dims(gamma, -1), (-1,))
    return ct_x, jnp.sum(seed * normal, axis=others), jnp.sum(seed, axis=others)


@instance_norm.several
def _(x, gamma, beta, *, eps=1e-5):
    x = jnp.asarray(x)
    if x.ndim == 3:
        return instance_norm.call_case(x, gamma, beta, eps=eps)
    return reshape(instance_norm.call_case(reshape(x, (*x.shape[:2], -1)), gamma, beta, eps=eps), x.shape)
