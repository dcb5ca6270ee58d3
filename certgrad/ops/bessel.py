"""Modified Bessel functions of the first kind, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._shapes import at_least_float32, cast_like


@op("*s -> *s", like="jax.scipy.special.i0", torch="torch.special.i0", source="Abramowitz and Stegun 9.6.27: I₀' = I₁")
def i0(x):
    """Modified Bessel function of order 0, elementwise."""
    return jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x)


@i0.jvp
def _(x, dx):
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x) * dx


@i0.vjp
def _(x, seed):
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x) * seed


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.scipy.special.i1",
    torch="torch.special.i1",
    torch_at={"x = 0": "1/2"},
    convention={"x = 0": "1/2"},
    source="Abramowitz and Stegun 9.6.26: I₁' = I₀ - I₁/x, whose limit at 0 the rules return",
)
def i1(x):
    """Modified Bessel function of order 1, elementwise."""
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)


@i1.jvp
def _(x, dx):
    return cast_like(_slope(x), x) * jnp.exp(jnp.abs(x)) * dx


@i1.vjp
def _(x, seed):
    return cast_like(_slope(x), x) * jnp.exp(jnp.abs(x)) * seed


def _slope(x):
    """Return exp(-|x|) I₁'(x), in float32 at least: I₁ is the modified Bessel function, I₁'(x) = I₀(x) - I₁(x) / x."""
    w = at_least_float32(x)
    zero = w == 0
    return jnp.where(zero, 0.5, lax.bessel_i0e(w) - lax.bessel_i1e(w) / jnp.where(zero, 1, w))


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.scipy.special.i0e",
    torch="torch.special.i0e",
    torch_at={"x = 0": "0"},
    convention={"x = 0": "0"},
    source="exp(-|x|) I₀(x) has a kink at 0, where the rules return the mean of both slopes",
)
def i0e(x):
    """exp(-|x|) times the modified Bessel function of order 0, elementwise."""
    return lax.bessel_i0e(x)


@i0e.jvp
def _(x, dx):
    return _slope_0e(x) * dx


@i0e.vjp
def _(x, seed):
    return _slope_0e(x) * seed


def _slope_0e(x):
    w = at_least_float32(x)
    return cast_like(lax.bessel_i1e(w) - jnp.sign(w) * lax.bessel_i0e(w), x)


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.scipy.special.i1e",
    torch="torch.special.i1e",
    torch_at={"x = 0": "1/2"},
    convention={"x = 0": "1/2"},
    source="The derivative of exp(-|x|) I₁(x), whose limit at 0 the rules return",
)
def i1e(x):
    """exp(-|x|) times the modified Bessel function of order 1, elementwise."""
    return lax.bessel_i1e(x)


@i1e.jvp
def _(x, dx):
    return _slope_1e(x) * dx


@i1e.vjp
def _(x, seed):
    return _slope_1e(x) * seed


def _slope_1e(x):
    w = at_least_float32(x)
    return cast_like(_slope(x) - jnp.sign(w) * lax.bessel_i1e(w), x)
