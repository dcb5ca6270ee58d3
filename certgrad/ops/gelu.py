"""The Gaussian error linear unit and its tanh approximation, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


@op(
    "*s -> *s",
    like="jax.nn.gelu",
    torch="torch.nn.functional.gelu",
    source="Hendrycks and Gimpel 2016; jax.nn.gelu with approximate=False, PyTorch's default",
)
def gelu_erf(x):
    """x * Φ(x), with Φ the normal distribution function, through erfc."""
    return 0.5 * x * lax.erfc(-x / jnp.sqrt(2.0))


@gelu_erf.jvp
def _(x, dx):
    return _slope(x) * dx


@gelu_erf.vjp
def _(x, seed):
    return _slope(x) * seed


def _slope(x):
    """Return Φ(x) + x φ(x), the derivative of x Φ(x): Φ and φ are the normal distribution and its density."""
    pi = 4 * jnp.arctan(1.0)
    density = jnp.exp(-x * x / 2) / (jnp.sqrt(2.0) * jnp.sqrt(pi))
    return 0.5 * lax.erfc(-x / jnp.sqrt(2.0)) + x * density


_ROOT_2_OVER_PI = 0.7978845608028654


@op(
    "*s -> *s",
    like="jax.nn.gelu",
    torch="torch.nn.functional.gelu",
    source="Hendrycks and Gimpel 2016; jax.nn.gelu's default, approximate='tanh' in PyTorch",
)
def gelu_tanh(x):
    """x / 2 * (1 + tanh(√(2/π) (x + 0.044715 x³))), with √(2/π) as a decimal."""
    return 0.5 * x * (1 + _tanh(x))


def _tanh(x):
    return jnp.tanh(_ROOT_2_OVER_PI * (x + 0.044715 * (x * x * x)))


@gelu_tanh.fwd
def _(x):
    t = _tanh(x)
    return 0.5 * x * (1 + t), (x, t)


@gelu_tanh.jvp
def _(residuals, dx):
    return _slope_tanh(*residuals) * dx


@gelu_tanh.vjp
def _(residuals, seed):
    return _slope_tanh(*residuals) * seed


def _slope_tanh(x, t):
    # 1 - t² is multiplied in first: where x² would overflow it is 0.
    d = 1 - t * t
    inner = _ROOT_2_OVER_PI * (d + 3 * (0.044715 * (d * x * x)))
    return 0.5 * (1 + t) + 0.5 * x * inner
