"""Losses with fused derivatives."""

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("n d, n:int -> n", domain="y >= 0")
@jax.custom_vjp
def softmax_cross_entropy(z, y):
    """−log softmax(z)[y], with integer labels."""
    picked = jnp.take_along_axis(z, y[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(z, axis=1) - picked


def _cross_entropy_fwd(z, y):
    return softmax_cross_entropy(z, y), (z, y)


def _cross_entropy_bwd(residuals, g):
    z, y = residuals
    return (jax.nn.softmax(z, axis=1) - jax.nn.one_hot(y, z.shape[1])) * g[:, None], None


softmax_cross_entropy.defvjp(_cross_entropy_fwd, _cross_entropy_bwd)


@certgrad.declare("n d, n d -> n", differentiable=["z"])
@jax.custom_vjp
def soft_cross_entropy(z, t):
    """−Σ t·log softmax(z), for targets of any sum."""
    return -jnp.sum(t * jax.nn.log_softmax(z, axis=1), axis=1)


def _soft_bwd(residuals, g):
    z, t = residuals
    total = jnp.sum(t, axis=1, keepdims=True)
    return (jax.nn.softmax(z, axis=1) * total - t) * g[:, None], None


soft_cross_entropy.defvjp(lambda z, t: (soft_cross_entropy(z, t), (z, t)), _soft_bwd)


@certgrad.declare("n d, n d -> n", differentiable=["z"])
@jax.custom_vjp
def wrong_soft_cross_entropy(z, t):
    """Right only for targets that sum to 1."""
    return -jnp.sum(t * jax.nn.log_softmax(z, axis=1), axis=1)


def _wrong_soft_bwd(residuals, g):
    z, t = residuals
    return (jax.nn.softmax(z, axis=1) - t) * g[:, None], None


wrong_soft_cross_entropy.defvjp(lambda z, t: (wrong_soft_cross_entropy(z, t), (z, t)), _wrong_soft_bwd)


@certgrad.declare("*s, *s -> *s")
@jax.custom_vjp
def huber(x, y):
    """Quadratic near 0, linear beyond 1."""
    r = x - y
    return jnp.where(jnp.abs(r) <= 1, r**2 / 2, jnp.abs(r) - 0.5)


def _huber_bwd(r, g):
    slope = g * jnp.clip(r, -1, 1)
    return slope, -slope


huber.defvjp(lambda x, y: (huber(x, y), x - y), _huber_bwd)


@certgrad.declare("n d, n d -> ")
@jax.custom_vjp
def mean_squared_error(x, y):
    """The mean of (x − y)²; the gradients are made in the fwd."""
    return jnp.mean((x - y) ** 2)


def _mse_fwd(x, y):
    slope = 2 * (x - y) / (x.shape[0] * x.shape[1])
    return mean_squared_error(x, y), slope


mean_squared_error.defvjp(_mse_fwd, lambda slope, g: (g * slope, -g * slope))


@certgrad.declare("n d, n d -> ")
@jax.custom_vjp
def wrong_mean_squared_error(x, y):
    """The divisor of the mean is missing."""
    return jnp.mean((x - y) ** 2)


wrong_mean_squared_error.defvjp(
    lambda x, y: (wrong_mean_squared_error(x, y), x - y), lambda r, g: (2 * g * r, -2 * g * r)
)


@certgrad.declare("n d, n d -> n")
@jax.custom_vjp
def kl_divergence(z, w):
    """KL(softmax(z) ‖ softmax(w))."""
    p = jax.nn.softmax(z, axis=1)
    return jnp.sum(p * (jax.nn.log_softmax(z, axis=1) - jax.nn.log_softmax(w, axis=1)), axis=1)


def _kl_fwd(z, w):
    p, q = jax.nn.softmax(z, axis=1), jax.nn.softmax(w, axis=1)
    difference = jax.nn.log_softmax(z, axis=1) - jax.nn.log_softmax(w, axis=1)
    out = jnp.sum(p * difference, axis=1)
    return out, (p, q, difference, out)


def _kl_bwd(residuals, g):
    p, q, difference, out = residuals
    return g[:, None] * p * (difference - out[:, None]), g[:, None] * (q - p)


kl_divergence.defvjp(_kl_fwd, _kl_bwd)


@certgrad.declare("n d, n d -> n")
@jax.custom_vjp
def cosine_similarity(x, y):
    """x · y / (‖x‖ ‖y‖), row by row."""
    return jnp.sum(x * y, 1) / (jnp.sqrt(jnp.sum(x * x, 1)) * jnp.sqrt(jnp.sum(y * y, 1)))


def _cosine_fwd(x, y):
    return cosine_similarity(x, y), (x, y)


def _cosine_bwd(residuals, g):
    x, y = residuals
    a, b = jnp.sqrt(jnp.sum(x * x, 1, keepdims=True)), jnp.sqrt(jnp.sum(y * y, 1, keepdims=True))
    c = jnp.sum(x * y, 1, keepdims=True) / (a * b)
    return g[:, None] * (y / (a * b) - c * x / a**2), g[:, None] * (x / (a * b) - c * y / b**2)


cosine_similarity.defvjp(_cosine_fwd, _cosine_bwd)


@certgrad.declare("n d, n d -> n")
@jax.custom_vjp
def wrong_squared_distance(x, y):
    """The factor 2 is missing for x, the sign is wrong for y."""
    return jnp.sum((x - y) ** 2, axis=1)


wrong_squared_distance.defvjp(
    lambda x, y: (wrong_squared_distance(x, y), x - y), lambda r, g: (r * g[:, None], 2 * r * g[:, None])
)
