"""Softmax and its relatives, means, norms, cumulative sums."""

from functools import partial

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("n d -> n")
@jax.custom_vjp
def logsumexp(x):
    """log Σ exp x, along the last axis."""
    return jax.nn.logsumexp(x, axis=1)


logsumexp.defvjp(lambda x: (logsumexp(x), x), lambda x, g: (g[:, None] * jax.nn.softmax(x, axis=1),))


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def softmax(x):
    """exp x / Σ exp x."""
    return jax.nn.softmax(x, axis=1)


def _softmax_fwd(x):
    y = jax.nn.softmax(x, axis=1)
    return y, y


softmax.defvjp(_softmax_fwd, lambda y, g: (y * (g - jnp.sum(g * y, axis=1, keepdims=True)),))


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def log_softmax(x):
    """x − log Σ exp x."""
    return jax.nn.log_softmax(x, axis=1)


def _log_softmax_fwd(x):
    y = jax.nn.log_softmax(x, axis=1)
    return y, y


log_softmax.defvjp(_log_softmax_fwd, lambda y, g: (g - jnp.exp(y) * jnp.sum(g, axis=1, keepdims=True),))


@certgrad.declare("d -> d", static={"t": certgrad.real("t > 0")})
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def softmax_at_temperature(x, t):
    """exp(x/t) / Σ exp(x/t)."""
    e = jnp.exp(x / t)
    return e / jnp.sum(e)


def _temperature_fwd(x, t):
    y = softmax_at_temperature(x, t)
    return y, y


softmax_at_temperature.defvjp(_temperature_fwd, lambda t, y, g: (y * (g - jnp.sum(g * y)) / t,))


@certgrad.declare("n d -> n")
@jax.custom_vjp
def mean(x):
    """Along the last axis."""
    return jnp.mean(x, axis=1)


mean.defvjp(lambda x: (mean(x), x), lambda x, g: (jnp.broadcast_to(g[:, None] / x.shape[1], x.shape),))


@certgrad.declare("n d -> n")
@jax.custom_vjp
def variance(x):
    """The mean of (x − mean)²."""
    return jnp.mean((x - jnp.mean(x, axis=1, keepdims=True)) ** 2, axis=1)


variance.defvjp(
    lambda x: (variance(x), x - jnp.mean(x, axis=1, keepdims=True)),
    lambda centred, g: (2 * g[:, None] * centred / centred.shape[1],),
)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def centred(x):
    """x − mean."""
    return x - jnp.mean(x, axis=1, keepdims=True)


centred.defvjp(lambda x: (centred(x), None), lambda _, g: (g - jnp.mean(g, axis=1, keepdims=True),))


@certgrad.declare("n, n -> ")
@jax.custom_vjp
def dot(x, y):
    """Σ x·y."""
    return jnp.sum(x * y)


dot.defvjp(lambda x, y: (dot(x, y), (x, y)), lambda r, g: (g * r[1], g * r[0]))


@certgrad.declare("n d -> n")
@jax.custom_vjp
def smooth_norm(x):
    """√(Σ x² + 1)."""
    return jnp.sqrt(jnp.sum(x**2, axis=1) + 1)


def _smooth_norm_fwd(x):
    y = smooth_norm(x)
    return y, (x, y)


smooth_norm.defvjp(_smooth_norm_fwd, lambda r, g: (r[0] * (g / r[1])[:, None],))


@certgrad.declare("n d -> n", domain="x > 0")
@jax.custom_vjp
def geometric_mean(x):
    """exp of the mean logarithm."""
    return jnp.exp(jnp.mean(jnp.log(x), axis=1))


def _geometric_fwd(x):
    y = geometric_mean(x)
    return y, (x, y)


geometric_mean.defvjp(_geometric_fwd, lambda r, g: ((g * r[1])[:, None] / (r[0] * r[0].shape[1]),))


@certgrad.declare("n -> n")
@jax.custom_vjp
def cumulative_sum(x):
    """Its transpose runs from the other end."""
    return jnp.cumsum(x)


cumulative_sum.defvjp(lambda x: (jnp.cumsum(x), None), lambda _, g: (jax.lax.cumsum(g, reverse=True),))


@certgrad.declare("n d, d -> n")
@jax.custom_vjp
def weighted_sum_of_squares(x, w):
    """Σ w·x², row by row."""
    return jnp.sum(w * x**2, axis=1)


weighted_sum_of_squares.defvjp(
    lambda x, w: (weighted_sum_of_squares(x, w), (x, w)),
    lambda r, g: (2 * g[:, None] * r[1] * r[0], g @ r[0] ** 2),
)
