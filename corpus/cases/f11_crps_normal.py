"""CRPS of a Gaussian forecast (Gneiting et al. 2005, eq. 5)."""

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.scipy.stats import norm

INV_SQRT_PI = 0.5641895835477563


def _crps(y, mu, sigma):
    z = (y - mu) / sigma
    return sigma * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - INV_SQRT_PI)


right = jax.custom_jvp(_crps)


def _right_jvp(primals, tangents):
    y, mu, sigma = primals
    z = (y - mu) / sigma
    ans = _crps(y, mu, sigma)
    slope = 2.0 * norm.cdf(z) - 1.0
    partials = (slope, -slope, 2.0 * norm.pdf(z) - INV_SQRT_PI)
    dot = jnp.zeros_like(ans)
    for p, t in zip(partials, tangents, strict=True):
        if type(t) is not SymbolicZero:
            dot = dot + p * t
    return ans, dot


right.defjvp(_right_jvp, symbolic_zeros=True)

wrong = jax.custom_jvp(_crps)


def _wrong_jvp(primals, tangents):
    y, mu, sigma = primals
    z = (y - mu) / sigma
    ans = _crps(y, mu, sigma)
    slope = 2.0 * norm.cdf(z) - 1.0
    partials = (slope, -slope, z * slope + 2.0 * norm.pdf(z) - INV_SQRT_PI)
    dot = jnp.zeros_like(ans)
    for p, t in zip(partials, tangents, strict=True):
        if type(t) is not SymbolicZero:
            dot = dot + p * t
    return ans, dot


wrong.defjvp(_wrong_jvp, symbolic_zeros=True)
