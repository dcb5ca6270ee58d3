"""Activations that gate one half of an axis by the other, and the sigmoid form of gelu."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op

_HALVES = case("*a 2*n *c -> *a n *c", axis=axis_of("n"))


@op("*s -> *s", source="Hendrycks and Gimpel 2016: gelu with the logistic function for Φ")
def quick_gelu(x):
    """x * sigmoid(1.702 * x)."""
    return x * lax.logistic(1.702 * x)


@quick_gelu.fwd
def _(x):
    s = lax.logistic(1.702 * x)
    return x * s, (x, s)


def _quick_slope(x, s):
    """Return the derivative at x, for s = logistic(1.702 x). The product 1.702 * x alone may overflow."""
    return s + (1.702 * s * (1 - s)) * x


@quick_gelu.jvp
def _(residuals, dx):
    x, s = residuals
    return _quick_slope(x, s) * dx


@quick_gelu.vjp
def _(residuals, seed):
    x, s = residuals
    return _quick_slope(x, s) * seed


@op("*s -> *s", torch="torch.nn.functional.tanhshrink", source="1 - tanh' = tanh²")
def tanh_shrink(x):
    """x - tanh(x)."""
    return x - jnp.tanh(x)


@tanh_shrink.fwd
def _(x):
    t = jnp.tanh(x)
    return x - t, t


@tanh_shrink.jvp
def _(t, dx):
    return t * t * dx


@tanh_shrink.vjp
def _(t, seed):
    return t * t * seed


@op(_HALVES, source="Shazeer 2020: the first half is the gate")
def swiglu(x, *, axis=-1):
    """silu of the first half along the axis, times the second half."""
    a, b = jnp.split(x, 2, axis=axis)
    return a * lax.logistic(a) * b


@swiglu.fwd
def _(x, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    s = lax.logistic(a)
    return a * s * b, (a, b, s)


@swiglu.jvp
def _(residuals, dx, *, axis):
    a, b, s = residuals
    da, db = jnp.split(dx, 2, axis=axis)
    return s * (1 + a * (1 - s)) * b * da + a * s * db


@swiglu.vjp
def _(residuals, seed, *, axis):
    a, b, s = residuals
    return jnp.concatenate([s * (1 + a * (1 - s)) * b * seed, a * s * seed], axis=axis)


@op(_HALVES, source="Shazeer 2020: the first half is the gate; where that is 0 the rules return 0")
def reglu(x, *, axis=-1):
    """relu of the first half along the axis, times the second half."""
    a, b = jnp.split(x, 2, axis=axis)
    return jnp.maximum(a, 0) * b


@reglu.jvp
def _(x, dx, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    da, db = jnp.split(dx, 2, axis=axis)
    return jnp.where(a > 0, b * da + a * db, 0)


@reglu.vjp
def _(x, seed, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    return jnp.concatenate([jnp.where(a > 0, b * seed, 0), jnp.maximum(a, 0) * seed], axis=axis)


@op(_HALVES, source="Shazeer 2020: the first half is the gate, with Φ through erfc")
def geglu(x, *, axis=-1):
    """gelu of the first half along the axis, times the second half."""
    a, b = jnp.split(x, 2, axis=axis)
    return a * _normal(a) * b


def _normal(x):
    return 0.5 * lax.erfc(-x / jnp.sqrt(2.0))


def _slope(x):
    """Return Φ(x) + x φ(x), the derivative of x Φ(x): Φ and φ are the normal distribution and its density."""
    pi = 4 * jnp.arctan(1.0)
    return _normal(x) + x * (jnp.exp(-x * x / 2) / (jnp.sqrt(2.0) * jnp.sqrt(pi)))


@geglu.jvp
def _(x, dx, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    da, db = jnp.split(dx, 2, axis=axis)
    return _slope(a) * b * da + a * _normal(a) * db


@geglu.vjp
def _(x, seed, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    return jnp.concatenate([_slope(a) * b * seed, a * _normal(a) * seed], axis=axis)
