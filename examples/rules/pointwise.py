"""Activations and guarded functions."""

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("*s -> *s")
@jax.custom_jvp
def swish(x):
    """x · sigmoid(x)."""
    return x * jax.nn.sigmoid(x)


@swish.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    s = jax.nn.sigmoid(x)
    return x * s, dx * (s + x * s * (1 - s))


@certgrad.declare("*s -> *s")
@jax.custom_jvp
def wrong_swish(x):
    """The derivative of the sigmoid is forgotten."""
    return x * jax.nn.sigmoid(x)


@wrong_swish.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return wrong_swish(x), dx * jax.nn.sigmoid(x)


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def gelu(x):
    """The approximation of x·Φ(x) by tanh."""
    return x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3))) / 2


def _gelu_bwd(x, g):
    t = jnp.tanh(0.7978845608 * (x + 0.044715 * x**3))
    slope = 0.7978845608 * (1 + 3 * 0.044715 * x**2)
    return (g * (1 + t + x * (1 - t**2) * slope) / 2,)


gelu.defvjp(lambda x: (gelu(x), x), _gelu_bwd)


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def safe_sqrt(x):
    """√x for x > 0, else 0."""
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


def _safe_sqrt_bwd(y, g):
    return (jnp.where(y > 0, g / (2 * jnp.where(y > 0, y, 1.0)), 0.0),)


safe_sqrt.defvjp(lambda x: (safe_sqrt(x), safe_sqrt(x)), _safe_sqrt_bwd)


@certgrad.declare("*s -> *s", domain="x > 0")
@jax.custom_vjp
def safe_log(x):
    """log x, from the value that is at least 1e-30."""
    return jnp.log(jnp.maximum(x, 1e-30))


safe_log.defvjp(lambda x: (safe_log(x), x), lambda x, g: (jnp.where(x > 1e-30, g / jnp.maximum(x, 1e-30), 0.0),))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def wrong_abs(x):
    """Right only for positive x."""
    return jnp.abs(x)


wrong_abs.defvjp(lambda x: (wrong_abs(x), None), lambda _, g: (g,))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def wrong_primal(x):
    """The fwd returns another value than the function."""
    return jnp.sin(x)


wrong_primal.defvjp(lambda x: (jnp.sin(x) + 1, x), lambda x, g: (g * jnp.cos(x),))


@jax.custom_gradient
def square(x):
    """With `jax.custom_gradient`; its shapes are inferred."""
    return x**2, lambda g: 2 * x * g


@certgrad.declare("n d, n d:bool -> n d")
@jax.custom_vjp
def dropout(x, keep):
    """x / 0.9 where it is kept."""
    return jnp.where(keep, x / 0.9, 0.0)


dropout.defvjp(lambda x, keep: (dropout(x, keep), keep), lambda keep, g: (jnp.where(keep, g / 0.9, 0.0), None))
