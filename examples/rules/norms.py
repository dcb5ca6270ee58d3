"""Normalisations, norms and reductions."""

import jax
import jax.numpy as jnp

import certgrad


def _standardised(x):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return centred * scale, scale


@certgrad.declare("n d, {scale: d, shift: d} -> n d")
@jax.custom_vjp
def layer_norm(x, params):
    """(x − mean) / std · scale + shift, along the last axis."""
    return _standardised(x)[0] * params["scale"] + params["shift"]


def _layer_norm_fwd(x, params):
    y, scale = _standardised(x)
    return y * params["scale"] + params["shift"], (y, scale, params)


def _layer_norm_bwd(residuals, g):
    y, scale, params = residuals
    h = g * params["scale"]
    mean = jnp.mean(h, axis=-1, keepdims=True)
    along = jnp.mean(h * y, axis=-1, keepdims=True)
    return scale * (h - mean - y * along), {"scale": jnp.sum(g * y, axis=0), "shift": jnp.sum(g, axis=0)}


layer_norm.defvjp(_layer_norm_fwd, _layer_norm_bwd)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def wrong_layer_norm(x):
    """The term through the mean is missing."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5)


def _wrong_layer_norm_bwd(residuals, g):
    y, scale = residuals
    return (scale * (g - y * jnp.mean(g * y, axis=-1, keepdims=True)),)


wrong_layer_norm.defvjp(lambda x: (wrong_layer_norm(x), _standardised(x)), _wrong_layer_norm_bwd)


@certgrad.declare("n d, d -> n d")
@jax.custom_vjp
def rms_norm(x, w):
    """x / rms(x) · w."""
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6) * w


def _rms_fwd(x, w):
    r = jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)
    return x * r * w, (x, r, w)


def _rms_bwd(residuals, g):
    x, r, w = residuals
    h = g * w
    return r * h - x * r**3 * jnp.sum(h * x, axis=-1, keepdims=True) / x.shape[-1], jnp.sum(g * x * r, axis=0)


rms_norm.defvjp(_rms_fwd, _rms_bwd)


@certgrad.declare("n d, d -> n d", differentiable=["w"])
@jax.custom_vjp
def wrong_rms_scale(x, w):
    """The scale gets the mean over the rows where it is due their sum."""
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6) * w


def _wrong_rms_bwd(residuals, g):
    x, r, _ = residuals
    return None, jnp.mean(g * x * r, axis=0)


wrong_rms_scale.defvjp(_rms_fwd, _wrong_rms_bwd)


@certgrad.declare("n d -> n")
@jax.custom_vjp
def logsumexp(x):
    """log Σ exp, shifted by the maximum."""
    m = jnp.max(x, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(x - m), axis=1)) + m[:, 0]


logsumexp.defvjp(lambda x: (logsumexp(x), x), lambda x, g: (jax.nn.softmax(x, axis=1) * g[:, None],))


@certgrad.declare("n d -> n")
@jax.custom_vjp
def wrong_logsumexp(x):
    """The cotangent of the output is treated as 1."""
    return jax.nn.logsumexp(x, axis=1)


wrong_logsumexp.defvjp(lambda x: (wrong_logsumexp(x), x), lambda x, g: (jax.nn.softmax(x, axis=1),))


@certgrad.declare("n d -> n")
@jax.custom_vjp
def safe_norm(x):
    """‖x‖, and 0 with gradient 0 at x = 0."""
    square = jnp.sum(x * x, axis=1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def _safe_norm_bwd(residuals, g):
    x, norm = residuals
    positive = norm > 0
    return (jnp.where(positive[:, None], x / jnp.where(positive, norm, 1.0)[:, None], 0.0) * g[:, None],)


safe_norm.defvjp(lambda x: (safe_norm(x), (x, safe_norm(x))), _safe_norm_bwd)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def cumulative_sum(x):
    """Its adjoint sums from the other end."""
    return jnp.cumsum(x, axis=1)


cumulative_sum.defvjp(lambda x: (cumulative_sum(x), None), lambda _, g: (jax.lax.cumsum(g, axis=1, reverse=True),))
