"""Special functions, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


def _pi():
    return 4 * jnp.arctan(1.0)


@op("*s -> *s", like="jax.scipy.special.erf", torch="torch.erf", source="erf'(x) = 2/√π exp(-x²)")
def erf(x):
    """Error function 2/√π ∫₀ˣ exp(-t²) dt, elementwise."""
    return lax.erf(x)


@erf.jvp
def _(x, dx):
    return 2 / jnp.sqrt(_pi()) * jnp.exp(-x * x) * dx


@erf.vjp
def _(x, seed):
    return 2 / jnp.sqrt(_pi()) * jnp.exp(-x * x) * seed


@op("*s -> *s", like="jax.scipy.special.erfc", torch="torch.erfc", source="erfc'(x) = -2/√π exp(-x²)")
def erfc(x):
    """Complementary error function 1 - erf(x), precise for large x, elementwise."""
    return lax.erfc(x)


@erfc.jvp
def _(x, dx):
    return -2 / jnp.sqrt(_pi()) * jnp.exp(-x * x) * dx


@erfc.vjp
def _(x, seed):
    return -2 / jnp.sqrt(_pi()) * jnp.exp(-x * x) * seed


@op(
    "*s -> *s",
    domain=("x > -1", "x < 1"),
    like="jax.scipy.special.erfinv",
    torch="torch.erfinv",
    aliases=("erfinv",),
    torch_at={"x = -1": "inf", "x = 1": "inf"},
    convention={"x = -1": "inf", "x = 1": "inf"},
    source="erf_inv'(x) = √π/2 exp(erf_inv(x)²)",
)
def erf_inv(x):
    """Inverse of the error function, elementwise."""
    return lax.erf_inv(x)


@erf_inv.fwd
def _(x):
    y = lax.erf_inv(x)
    return y, y


@erf_inv.jvp
def _(y, dx):
    return jnp.sqrt(_pi()) / 2 * jnp.exp(y * y) * dx


@erf_inv.vjp
def _(y, seed):
    return jnp.sqrt(_pi()) / 2 * jnp.exp(y * y) * seed


@op(
    "*s -> *s",
    domain="x not in nonpositive_integers",
    like="jax.scipy.special.gammaln",
    torch="torch.lgamma",
    aliases=("gammaln",),
    source="lgamma' = digamma",
)
def lgamma(x):
    """Logarithm of the absolute value of the gamma function, elementwise."""
    return lax.lgamma(x)


@lgamma.jvp
def _(x, dx):
    return lax.digamma(x) * dx


@lgamma.vjp
def _(x, seed):
    return lax.digamma(x) * seed


@op(
    "*s -> *s",
    domain="x not in nonpositive_integers",
    like="jax.scipy.special.digamma",
    torch="torch.digamma",
    source="digamma' = polygamma(1, ·)",
)
def digamma(x):
    """Derivative of lgamma, elementwise."""
    return lax.digamma(x)


@digamma.jvp
def _(x, dx):
    return lax.polygamma(jnp.ones_like(x), x) * dx


@digamma.vjp
def _(x, seed):
    return lax.polygamma(jnp.ones_like(x), x) * seed
