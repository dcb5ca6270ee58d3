"""Functions made of the gamma function, and the normal distribution function, elementwise."""

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._shapes import at_least_float32, cast_like, sum_to


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.scipy.special.gamma",
    source="Γ' = Γ * digamma",
)
def gamma(x):
    """Gamma function of x > 0, elementwise."""
    return cast_like(jnp.exp(lax.lgamma(at_least_float32(x))), x)


@gamma.fwd
def _(x):
    y = gamma.forward(x)
    return y, (x, y)


@gamma.jvp
def _(residuals, dx):
    x, y = residuals
    return y * lax.digamma(x) * dx


@gamma.vjp
def _(residuals, seed):
    x, y = residuals
    return y * lax.digamma(x) * seed


@op(
    "*s, *s -> *s",
    domain=("a not in nonpositive_integers", "b not in nonpositive_integers", "a + b not in nonpositive_integers"),
    broadcast=True,
    like="jax.scipy.special.betaln",
    source="The derivative in a is digamma(a) - digamma(a + b)",
)
def betaln(a, b):
    """Logarithm of the absolute value of the beta function, of arrays that broadcast."""
    return lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)


@betaln.jvp
def _(a, b, da, db):
    total = lax.digamma(a + b)
    return (lax.digamma(a) - total) * da + (lax.digamma(b) - total) * db


@betaln.vjp
def _(a, b, seed):
    total = lax.digamma(a + b)
    return sum_to((lax.digamma(a) - total) * seed, a), sum_to((lax.digamma(b) - total) * seed, b)


@op(
    "*s, *s -> *s",
    domain=("a > 0", "b > 0"),
    broadcast=True,
    like="jax.scipy.special.beta",
    source="B(a, b) = Γ(a) Γ(b) / Γ(a + b); the derivative in a is B * (digamma(a) - digamma(a + b))",
    magnitudes=Magnitudes(most=1 / 2),
)
def beta(a, b):
    """Beta function of a > 0 and b > 0, of arrays that broadcast."""
    return jnp.exp(lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b))


@beta.fwd
def _(a, b):
    y = beta.forward(a, b)
    return y, (a, b, y)


@beta.jvp
def _(residuals, da, db):
    a, b, y = residuals
    total = lax.digamma(a + b)
    return y * ((lax.digamma(a) - total) * da + (lax.digamma(b) - total) * db)


@beta.vjp
def _(residuals, seed):
    a, b, y = residuals
    total = lax.digamma(a + b)
    ct = seed * y
    return sum_to((lax.digamma(a) - total) * ct, a), sum_to((lax.digamma(b) - total) * ct, b)


@op(
    *(case("*s -> *s", n=n) for n in range(5)),
    leading=("n",),
    domain="x > 0",
    like="jax.scipy.special.polygamma",
    torch="torch.special.polygamma",
    source="polygamma(n, ·)' = polygamma(n + 1, ·)",
)
def polygamma(x, *, n):
    """Derivative of order n, an integer from 0 to 4, of the digamma function of x > 0, elementwise."""
    return lax.polygamma(jnp.full_like(x, n), x)


@polygamma.jvp
def _(x, dx, *, n):
    return lax.polygamma(jnp.full_like(x, n + 1), x) * dx


@polygamma.vjp
def _(x, seed, *, n):
    return lax.polygamma(jnp.full_like(x, n + 1), x) * seed


def _by_a(a, x):
    return lax.igamma_grad_a(*jnp.broadcast_arrays(a, x))


def _density(a, x):
    """Return the derivative in x of the regularized lower incomplete gamma function: x^(a-1) exp(-x) / Γ(a)."""
    b, y = at_least_float32(a), at_least_float32(x)
    return cast_like(jnp.exp((b - 1) * jnp.log(y) - y - lax.lgamma(b)), x)


@op(
    "*s, *s -> *s",
    domain=("a > 0", "x > 0"),
    broadcast=True,
    like="jax.scipy.special.gammainc",
    torch="torch.special.gammainc",
    source="The derivative in x is the gamma density; in a it is lax.igamma_grad_a",
    magnitudes=Magnitudes(most=1 / 2),
)
def gammainc(a, x):
    """Regularised lower incomplete gamma function P(a, x), of arrays that broadcast."""
    return jax.scipy.special.gammainc(a, x)


@gammainc.jvp
def _(a, x, da, dx):
    return _by_a(a, x) * da + _density(a, x) * dx


@gammainc.vjp
def _(a, x, seed):
    return sum_to(_by_a(a, x) * seed, a), sum_to(_density(a, x) * seed, x)


@op(
    "*s, *s -> *s",
    domain=("a > 0", "x > 0"),
    broadcast=True,
    like="jax.scipy.special.gammaincc",
    torch="torch.special.gammaincc",
    source="1 - P(a, x): the derivatives of gammainc with the other sign",
    magnitudes=Magnitudes(most=1 / 2),
)
def gammaincc(a, x):
    """Regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), of arrays that broadcast."""
    return jax.scipy.special.gammaincc(a, x)


@gammaincc.jvp
def _(a, x, da, dx):
    return -_by_a(a, x) * da - _density(a, x) * dx


@gammaincc.vjp
def _(a, x, seed):
    return sum_to(-_by_a(a, x) * seed, a), sum_to(-_density(a, x) * seed, x)


@op(
    "*s -> *s",
    like="jax.scipy.special.ndtr",
    torch="torch.special.ndtr",
    source="The derivative is the density exp(-x²/2) / √(2π)",
)
def ndtr(x):
    """Distribution function of the standard normal distribution, elementwise."""
    return 0.5 * lax.erfc(-x / jnp.sqrt(2.0))


def _normal_density(x):
    return jnp.exp(-x * x / 2) / (jnp.sqrt(2.0) * jnp.sqrt(4 * jnp.arctan(1.0)))


@ndtr.jvp
def _(x, dx):
    return _normal_density(x) * dx


@ndtr.vjp
def _(x, seed):
    return _normal_density(x) * seed
