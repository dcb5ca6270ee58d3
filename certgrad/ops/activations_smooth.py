"""Smooth activations, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op


@op(
    "*s -> *s",
    like="jax.nn.sigmoid",
    torch="torch.sigmoid",
    aliases=("logistic",),
    source="s' = s * (1 - s) for s = sigmoid(x)",
)
def sigmoid(x):
    """Logistic function 1 / (1 + exp(-x))."""
    return lax.logistic(x)


@sigmoid.fwd
def _(x):
    y = lax.logistic(x)
    return y, y


@sigmoid.jvp
def _(y, dx):
    return y * (1 - y) * dx


@sigmoid.vjp
def _(y, seed):
    return y * (1 - y) * seed


def _softplus(x):
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@op(
    "*s -> *s",
    like="jax.nn.softplus",
    torch="torch.nn.functional.softplus",
    source="Dugas et al. 2001; its derivative is the sigmoid",
)
def softplus(x):
    """log(1 + exp(x)), without overflow for large x."""
    return _softplus(x)


@softplus.jvp
def _(x, dx):
    return lax.logistic(x) * dx


@softplus.vjp
def _(x, seed):
    return lax.logistic(x) * seed


@op(
    "*s -> *s",
    like="jax.nn.log_sigmoid",
    torch="torch.nn.functional.logsigmoid",
    source="The derivative is sigmoid(-x)",
)
def log_sigmoid(x):
    """Logarithm of the logistic function, without underflow for x far below 0."""
    return -_softplus(-x)


@log_sigmoid.jvp
def _(x, dx):
    return lax.logistic(-x) * dx


@log_sigmoid.vjp
def _(x, seed):
    return lax.logistic(-x) * seed


@op(
    "*s -> *s",
    like="jax.nn.silu",
    torch="torch.nn.functional.silu",
    aliases=("swish",),
    source="Elfwing et al. 2018; with s = sigmoid(x), the derivative is s + x * s * (1 - s)",
)
def silu(x):
    """x * sigmoid(x)."""
    return x * lax.logistic(x)


@silu.fwd
def _(x):
    s = lax.logistic(x)
    return x * s, (x, s)


@silu.jvp
def _(residuals, dx):
    x, s = residuals
    return s * (1 + x * (1 - s)) * dx


@silu.vjp
def _(residuals, seed):
    x, s = residuals
    return s * (1 + x * (1 - s)) * seed


@op("*s -> *s", like="jax.nn.mish", torch="torch.nn.functional.mish", source="Misra 2019")
def mish(x):
    """x * tanh(softplus(x))."""
    return x * jnp.tanh(_softplus(x))


@mish.fwd
def _(x):
    t = jnp.tanh(_softplus(x))
    return x * t, (x, t)


@mish.jvp
def _(residuals, dx):
    x, t = residuals
    return (t + (1 - t * t) * x * lax.logistic(x)) * dx


@mish.vjp
def _(residuals, seed):
    x, t = residuals
    return (t + (1 - t * t) * x * lax.logistic(x)) * seed


@op(
    "*s -> *s",
    like="jax.nn.soft_sign",
    torch="torch.nn.functional.softsign",
    aliases=("soft_sign",),
    source="Bergstra et al. 2009; the derivative is 1 / (1 + |x|)²",
)
def softsign(x):
    """x / (1 + |x|), continuously differentiable also at 0."""
    return x / (1 + jnp.abs(x))


@softsign.jvp
def _(x, dx):
    bottom = 1 + jnp.abs(x)
    return dx / bottom / bottom


@softsign.vjp
def _(x, seed):
    bottom = 1 + jnp.abs(x)
    return seed / bottom / bottom


@op("*s -> *s", params={"b": "b > 0"}, like="jax.nn.squareplus", source="Barron 2021")
def squareplus(x, *, b=4.0):
    """(x + sqrt(x² + b)) / 2, a softplus without exponentials."""
    root = jnp.sqrt(x * x + b)
    # Both branches are the same number, but below 0 the second one cancels: a proof sees no seam.
    return jnp.where(x < 0, b / (root - x), x + root) / 2


def _squareplus_slope(x, b):
    root = jnp.sqrt(x * x + b)
    return jnp.where(x < 0, b / (root * (root - x)), 1 + x / root) / 2


@squareplus.jvp
def _(x, dx, *, b):
    return _squareplus_slope(x, b) * dx


@squareplus.vjp
def _(x, seed, *, b):
    return _squareplus_slope(x, b) * seed


@op("*s -> *s", params={"cap": "cap > 0"}, source="Gemma 2, 2024")
def softcap(x, *, cap):
    """cap * tanh(x / cap): nearly x while small, never beyond cap."""
    return cap * jnp.tanh(x / cap)


@softcap.fwd
def _(x, *, cap):
    t = jnp.tanh(x / cap)
    return cap * t, t


@softcap.jvp
def _(t, dx):
    return (1 - t * t) * dx


@softcap.vjp
def _(t, seed):
    return (1 - t * t) * seed


@op(
    case("*a 2*n *c -> *a n *c", axis=axis_of("n")),
    like="jax.nn.glu",
    torch="torch.nn.functional.glu",
    source="Dauphin et al. 2016",
)
def glu(x, *, axis=-1):
    """The first half along the axis times the sigmoid of the second half."""
    a, b = jnp.split(x, 2, axis=axis)
    return a * lax.logistic(b)


@glu.fwd
def _(x, *, axis):
    a, b = jnp.split(x, 2, axis=axis)
    s = lax.logistic(b)
    return a * s, (a, s)


@glu.jvp
def _(residuals, dx, *, axis):
    a, s = residuals
    da, db = jnp.split(dx, 2, axis=axis)
    return s * da + a * (s * (1 - s)) * db


@glu.vjp
def _(residuals, seed, *, axis):
    a, s = residuals
    return jnp.concatenate([s * seed, a * (s * (1 - s)) * seed], axis=axis)
