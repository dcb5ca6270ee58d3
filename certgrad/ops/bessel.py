"""Modified Bessel functions of the first kind, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


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
    return _slope(x) * jnp.exp(jnp.abs(x)) * dx


@i1.vjp
def _(x, seed):
    return _slope(x) * jnp.exp(jnp.abs(x)) * seed


def _slope(x):
    """exp(-|x|) I₁'(x)."""
    zero = x == 0
    return jnp.where(zero, 0.5, lax.bessel_i0e(x) - lax.bessel_i1e(x) / jnp.where(zero, 1, x))


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
    return (lax.bessel_i1e(x) - jnp.sign(x) * lax.bessel_i0e(x)) * dx


@i0e.vjp
def _(x, seed):
    return (lax.bessel_i1e(x) - jnp.sign(x) * lax.bessel_i0e(x)) * seed


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
    return (_slope(x) - jnp.sign(x) * lax.bessel_i1e(x)) * dx


@i1e.vjp
def _(x, seed):
    return (_slope(x) - jnp.sign(x) * lax.bessel_i1e(x)) * seed
