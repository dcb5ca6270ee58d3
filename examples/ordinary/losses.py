"""Losses with derivatives of their own."""

from functools import partial

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("n, n -> ")
@jax.custom_vjp
def squared_error(x, y):
    """½ Σ (x − y)²."""
    return jnp.sum((x - y) ** 2) / 2


squared_error.defvjp(lambda x, y: (squared_error(x, y), x - y), lambda r, g: (g * r, -g * r))


@certgrad.declare("n, n, n -> ")
@jax.custom_vjp
def weighted_mean_squared_error(x, y, w):
    """The mean of w · (x − y)²."""
    return jnp.mean(w * (x - y) ** 2)


def _weighted_bwd(residuals, g):
    r, w = residuals
    slope = 2 * g * w * r / r.shape[0]
    return slope, -slope, g * r**2 / r.shape[0]


weighted_mean_squared_error.defvjp(lambda x, y, w: (weighted_mean_squared_error(x, y, w), (x - y, w)), _weighted_bwd)


@certgrad.declare("n, n -> n", differentiable=["z"])
@jax.custom_vjp
def binary_cross_entropy(z, y):
    """log(1 + exp z) − y·z, for logits z."""
    return jnp.log1p(jnp.exp(z)) - y * z


binary_cross_entropy.defvjp(
    lambda z, y: (binary_cross_entropy(z, y), (z, y)), lambda r, g: (g * (jax.nn.sigmoid(r[0]) - r[1]), None)
)


@certgrad.declare("n, n -> n")
@jax.custom_vjp
def log_cosh(x, y):
    """log cosh(x − y)."""
    return jnp.log(jnp.cosh(x - y))


def _log_cosh_fwd(x, y):
    return log_cosh(x, y), jnp.tanh(x - y)


log_cosh.defvjp(_log_cosh_fwd, lambda t, g: (g * t, -g * t))


@certgrad.declare("n, n -> n", static={"delta": certgrad.real("delta > 0")})
@partial(jax.custom_vjp, nondiff_argnums=(2,))
def pseudo_huber(x, y, delta):
    """δ² (√(1 + ((x − y)/δ)²) − 1)."""
    return delta**2 * (jnp.sqrt(1 + ((x - y) / delta) ** 2) - 1)


def _pseudo_huber_bwd(delta, r, g):
    slope = g * r / jnp.sqrt(1 + (r / delta) ** 2)
    return slope, -slope


pseudo_huber.defvjp(lambda x, y, delta: (pseudo_huber(x, y, delta), x - y), _pseudo_huber_bwd)


@certgrad.declare("n, n -> n")
@jax.custom_vjp
def poisson(log_rate, count):
    """exp(r) − k·r."""
    return jnp.exp(log_rate) - count * log_rate


poisson.defvjp(lambda r, k: (poisson(r, k), (r, k)), lambda rest, g: (g * (jnp.exp(rest[0]) - rest[1]), -g * rest[0]))


@certgrad.declare("n, n, n -> n", domain="variance > 0")
@jax.custom_vjp
def gaussian(mean, variance, x):
    """½ (log v + (x − m)² / v)."""
    return (jnp.log(variance) + (x - mean) ** 2 / variance) / 2


def _gaussian_bwd(residuals, g):
    mean, variance, x = residuals
    r = (x - mean) / variance
    return -g * r, g * (1 / variance - r**2) / 2, g * r


gaussian.defvjp(lambda m, v, x: (gaussian(m, v, x), (m, v, x)), _gaussian_bwd)


@certgrad.declare("n, n -> n", differentiable=["z"])
@jax.custom_vjp
def hinge(z, y):
    """max(0, 1 − y·z)."""
    return jnp.maximum(0.0, 1 - y * z)


hinge.defvjp(lambda z, y: (hinge(z, y), (z, y)), lambda r, g: (jnp.where(1 - r[1] * r[0] > 0, -g * r[1], 0.0), None))


@certgrad.declare("n d, n:int -> n", domain=["y >= 0"])
@jax.custom_vjp
def cross_entropy(z, y):
    """log Σ exp z − z[y], for labels y."""
    return jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0]


def _cross_entropy_bwd(residuals, g):
    z, y = residuals
    return g[:, None] * (jax.nn.softmax(z, axis=1) - jax.nn.one_hot(y, z.shape[1])), None


cross_entropy.defvjp(lambda z, y: (cross_entropy(z, y), (z, y)), _cross_entropy_bwd)


@certgrad.declare("n d, n d -> n", differentiable=["z"])
@jax.custom_vjp
def cross_entropy_with_probabilities(z, p):
    """Σ p · (log Σ exp z − z), for targets that need not sum to 1."""
    return jnp.sum(p * (jax.nn.logsumexp(z, axis=1, keepdims=True) - z), axis=1)


def _probabilities_bwd(residuals, g):
    z, p = residuals
    return g[:, None] * (jax.nn.softmax(z, axis=1) * jnp.sum(p, axis=1, keepdims=True) - p), None


cross_entropy_with_probabilities.defvjp(
    lambda z, p: (cross_entropy_with_probabilities(z, p), (z, p)), _probabilities_bwd
)


@certgrad.declare("n d -> n")
@jax.custom_vjp
def z_loss(z):
    """(log Σ exp z)²."""
    return jax.nn.logsumexp(z, axis=1) ** 2


z_loss.defvjp(
    lambda z: (z_loss(z), z),
    lambda z, g: ((2 * g * jax.nn.logsumexp(z, axis=1))[:, None] * jax.nn.softmax(z, axis=1),),
)


@certgrad.declare("n d, n d -> n")
@jax.custom_vjp
def squared_distance(x, y):
    """Σ (x − y)², row by row."""
    return jnp.sum((x - y) ** 2, axis=1)


def _distance_bwd(r, g):
    slope = 2 * g[:, None] * r
    return slope, -slope


squared_distance.defvjp(lambda x, y: (squared_distance(x, y), x - y), _distance_bwd)
