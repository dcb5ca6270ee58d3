"""Hyperbolic functions and their inverses, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op


@op("*s -> *s", like="jax.numpy.sinh", torch="torch.sinh", source="sinh' = cosh")
def sinh(x):
    """Hyperbolic sine, elementwise."""
    return jnp.sinh(x)


@sinh.jvp
def _(x, dx):
    return jnp.cosh(x) * dx


@sinh.vjp
def _(x, seed):
    return jnp.cosh(x) * seed


@op("*s -> *s", like="jax.numpy.cosh", torch="torch.cosh", source="cosh' = sinh")
def cosh(x):
    """Hyperbolic cosine, elementwise."""
    return jnp.cosh(x)


@cosh.jvp
def _(x, dx):
    return jnp.sinh(x) * dx


@cosh.vjp
def _(x, seed):
    return jnp.sinh(x) * seed


@op("*s -> *s", like="jax.numpy.tanh", torch="torch.tanh", source="tanh' = 1 - tanh²")
def tanh(x):
    """Hyperbolic tangent, elementwise."""
    return jnp.tanh(x)


@tanh.fwd
def _(x):
    y = jnp.tanh(x)
    return y, y


@tanh.jvp
def _(y, dx):
    return dx * (1 - y * y)


@tanh.vjp
def _(y, seed):
    return seed * (1 - y * y)


@op("*s -> *s", like="jax.numpy.arcsinh", torch="torch.asinh", aliases=("arcsinh",), source="asinh'(x) = 1/√(x² + 1)")
def asinh(x):
    """Inverse hyperbolic sine, elementwise."""
    return jnp.arcsinh(x)


@asinh.jvp
def _(x, dx):
    return lax.rsqrt(x * x + 1) * dx


@asinh.vjp
def _(x, seed):
    return lax.rsqrt(x * x + 1) * seed


@op(
    "*s -> *s",
    domain="x > 1",
    like="jax.numpy.arccosh",
    torch="torch.acosh",
    aliases=("arccosh",),
    torch_at={"x = 1": "inf"},
    convention={"x = 1": "inf"},
    source="acosh'(x) = 1/√(x² - 1)",
)
def acosh(x):
    """Inverse hyperbolic cosine, elementwise."""
    return jnp.arccosh(x)


@acosh.jvp
def _(x, dx):
    return lax.rsqrt(x - 1) * lax.rsqrt(x + 1) * dx


@acosh.vjp
def _(x, seed):
    return lax.rsqrt(x - 1) * lax.rsqrt(x + 1) * seed


@op(
    "*s -> *s",
    domain=("x > -1", "x < 1"),
    like="jax.numpy.arctanh",
    torch="torch.atanh",
    aliases=("arctanh",),
    torch_at={"x = -1": "inf", "x = 1": "inf"},
    convention={"x = -1": "inf", "x = 1": "inf"},
    source="atanh'(x) = 1/(1 - x²)",
)
def atanh(x):
    """Inverse hyperbolic tangent, elementwise."""
    return jnp.arctanh(x)


@atanh.jvp
def _(x, dx):
    return dx / ((1 - x) * (1 + x))


@atanh.vjp
def _(x, seed):
    return seed / ((1 - x) * (1 + x))
