"""Powers, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._shapes import at_least_float32, cast_like, sum_to


@op("*s -> *s", integers=True, like="jax.numpy.square", torch="torch.square", source="d/dx x² = 2 x")
def square(x):
    """Square, elementwise."""
    return x * x


@square.jvp
def _(x, dx):
    return 2 * x * dx


@square.vjp
def _(x, seed):
    return 2 * x * seed


@op(
    "*s, *s -> *s",
    domain="x > 0",
    broadcast=True,
    integers=True,
    like="jax.numpy.power",
    torch="torch.pow",
    source="d/dx x^y = y * x^(y - 1) and d/dy x^y = x^y * log(x)",
)
def pow(x, y):
    """Power x ** y of arrays that broadcast. For a constant integer exponent, `integer_pow` takes any x."""
    return jnp.power(x, y)


@pow.jvp
def _(x, y, dx, dy):
    return _by_base(x, y) * dx + jnp.power(x, y) * jnp.log(x) * dy


@pow.vjp
def _(x, y, seed):
    return sum_to(_by_base(x, y) * seed, x), sum_to(jnp.power(x, y) * jnp.log(x) * seed, y)


def _by_base(x, y):
    """Return the derivative of x ** y in x."""
    return cast_like(y * jnp.power(at_least_float32(x), at_least_float32(y) - 1), x)


@op(
    *(case("*s -> *s", n=n) for n in range(9)),
    integers=True,
    like="jax.lax.integer_pow",
    torch="torch.pow",
    source="d/dx x^n = n * x^(n - 1)",
)
def integer_pow(x, *, n):
    """Power x ** n with a constant exponent n, an integer from 0 to 8, elementwise."""
    return lax.integer_pow(x, n)


@integer_pow.jvp
def _(x, dx, *, n):
    return jnp.zeros_like(dx) if n == 0 else n * lax.integer_pow(x, n - 1) * dx


@integer_pow.vjp
def _(x, seed, *, n):
    return jnp.zeros_like(seed) if n == 0 else n * lax.integer_pow(x, n - 1) * seed


@op(
    *(case("*s -> *s", n=n) for n in range(1, 5)),
    domain="x != 0",
    torch="torch.pow",
    source="d/dx x^(-n) = -n * x^(-n - 1)",
)
def inverse_pow(x, *, n):
    """Negative power 1 / x ** n with a constant n, an integer from 1 to 4, elementwise."""
    return 1 / lax.integer_pow(x, n)


@inverse_pow.jvp
def _(x, dx, *, n):
    return -n / lax.integer_pow(x, n + 1) * dx


@inverse_pow.vjp
def _(x, seed, *, n):
    return -n / lax.integer_pow(x, n + 1) * seed
