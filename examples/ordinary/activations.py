"""Activations, entry by entry."""

from functools import partial

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def softplus(x):
    """log(1 + exp x)."""
    return jnp.log1p(jnp.exp(x))


softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (g / (1 + jnp.exp(-x)),))


@certgrad.declare("*s -> *s")
@jax.custom_jvp
def sigmoid(x):
    """1 / (1 + exp(−x))."""
    return 1 / (1 + jnp.exp(-x))


@sigmoid.defjvp
def _sigmoid_jvp(primals, tangents):
    y = sigmoid(*primals)
    return y, tangents[0] * y * (1 - y)


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def tanh(x):
    """The derivative from the output."""
    return jnp.tanh(x)


def _tanh_fwd(x):
    y = jnp.tanh(x)
    return y, y


tanh.defvjp(_tanh_fwd, lambda y, g: (g * (1 - y) * (1 + y),))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def silu(x):
    """x · sigmoid(x)."""
    return x * jax.nn.sigmoid(x)


def _silu_bwd(x, g):
    s = jax.nn.sigmoid(x)
    return (g * s * (1 + x * (1 - s)),)


silu.defvjp(lambda x: (silu(x), x), _silu_bwd)


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def bell(x):
    """exp(−x² / 2)."""
    return jnp.exp(-(x**2) / 2)


def _bell_fwd(x):
    y = bell(x)
    return y, (x, y)


bell.defvjp(_bell_fwd, lambda r, g: (-g * r[0] * r[1],))


@certgrad.declare("*s -> *s")
@jax.custom_jvp
def mish(x):
    """x · tanh(softplus x)."""
    return x * jnp.tanh(jnp.log(1 + jnp.exp(x)))


@mish.defjvp
def _mish_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    t = jnp.tanh(jnp.log(1 + jnp.exp(x)))
    return mish(x), dx * (t + x * (1 - t**2) / (1 + jnp.exp(-x)))


@certgrad.declare("*s -> *s", static={"alpha": certgrad.real("alpha > 0")})
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def leaky_relu(x, alpha):
    """x where x > 0, else α·x."""
    return jnp.where(x > 0, x, alpha * x)


leaky_relu.defvjp(lambda x, alpha: (leaky_relu(x, alpha), x > 0), lambda alpha, up, g: (jnp.where(up, g, alpha * g),))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def elu(x):
    """x where x > 0, else exp x − 1: smooth at 0."""
    return jnp.where(x > 0, x, jnp.expm1(jnp.where(x > 0, 0.0, x)))


elu.defvjp(lambda x: (elu(x), x), lambda x, g: (g * jnp.where(x > 0, 1.0, jnp.exp(jnp.where(x > 0, 0.0, x))),))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def hard_tanh(x):
    """x, cut off at −1 and 1."""
    return jnp.clip(x, -1.0, 1.0)


hard_tanh.defvjp(lambda x: (hard_tanh(x), x), lambda x, g: (g * ((x > -1) & (x < 1)),))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def squareplus(x):
    """(x + √(x² + 4)) / 2."""
    return (x + jnp.sqrt(x**2 + 4)) / 2


squareplus.defvjp(lambda x: (squareplus(x), x), lambda x, g: (g * (1 + x / jnp.sqrt(x**2 + 4)) / 2,))


@certgrad.declare("*s -> *s", static={"a": certgrad.real("a > 0")})
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def snake(x, a):
    """x + sin²(a·x) / a."""
    return x + jnp.sin(a * x) ** 2 / a


snake.defvjp(lambda x, a: (snake(x, a), x), lambda a, x, g: (g * (1 + jnp.sin(2 * a * x)),))


@certgrad.declare("n, n -> n")
@jax.custom_vjp
def swiglu(x, gate):
    """x · gate · sigmoid(gate)."""
    return x * gate * jax.nn.sigmoid(gate)


def _swiglu_bwd(residuals, g):
    x, gate = residuals
    s = jax.nn.sigmoid(gate)
    return g * gate * s, g * x * s * (1 + gate * (1 - s))


swiglu.defvjp(lambda x, gate: (swiglu(x, gate), (x, gate)), _swiglu_bwd)
