"""Trigonometric functions and their inverses, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._shapes import sum_to


@op("*s -> *s", like="jax.numpy.sin", torch="torch.sin", source="sin' = cos")
def sin(x):
    """Sine, elementwise."""
    return jnp.sin(x)


@sin.jvp
def _(x, dx):
    return jnp.cos(x) * dx


@sin.vjp
def _(x, seed):
    return jnp.cos(x) * seed


@op("*s -> *s", like="jax.numpy.cos", torch="torch.cos", source="cos' = -sin")
def cos(x):
    """Cosine, elementwise."""
    return jnp.cos(x)


@cos.jvp
def _(x, dx):
    return -jnp.sin(x) * dx


@cos.vjp
def _(x, seed):
    return -jnp.sin(x) * seed


@op("*s -> *s", domain="cos(x) != 0", like="jax.numpy.tan", torch="torch.tan", source="tan' = 1 + tan²")
def tan(x):
    """Tangent, elementwise."""
    return jnp.tan(x)


@tan.fwd
def _(x):
    y = jnp.tan(x)
    return y, y


@tan.jvp
def _(y, dx):
    return (1 + y * y) * dx


@tan.vjp
def _(y, seed):
    return (1 + y * y) * seed


@op(
    "*s -> *s",
    domain=("x > -1", "x < 1"),
    like="jax.numpy.arcsin",
    torch="torch.asin",
    aliases=("arcsin",),
    torch_at={"x = -1": "inf", "x = 1": "inf"},
    convention={"x = -1": "inf", "x = 1": "inf"},
    source="asin'(x) = 1/√(1 - x²)",
)
def asin(x):
    """Inverse sine, elementwise."""
    return jnp.arcsin(x)


@asin.jvp
def _(x, dx):
    return lax.rsqrt((1 - x) * (1 + x)) * dx


@asin.vjp
def _(x, seed):
    return lax.rsqrt((1 - x) * (1 + x)) * seed


@op(
    "*s -> *s",
    domain=("x > -1", "x < 1"),
    like="jax.numpy.arccos",
    torch="torch.acos",
    aliases=("arccos",),
    torch_at={"x = -1": "-inf", "x = 1": "-inf"},
    convention={"x = -1": "-inf", "x = 1": "-inf"},
    source="acos'(x) = -1/√(1 - x²)",
)
def acos(x):
    """Inverse cosine, elementwise."""
    return jnp.arccos(x)


@acos.jvp
def _(x, dx):
    return -lax.rsqrt((1 - x) * (1 + x)) * dx


@acos.vjp
def _(x, seed):
    return -lax.rsqrt((1 - x) * (1 + x)) * seed


@op("*s -> *s", like="jax.numpy.arctan", torch="torch.atan", aliases=("arctan",), source="atan'(x) = 1/(1 + x²)")
def atan(x):
    """Inverse tangent, elementwise."""
    return jnp.arctan(x)


@atan.jvp
def _(x, dx):
    return dx / (1 + x * x)


@atan.vjp
def _(x, seed):
    return seed / (1 + x * x)


@op(
    "*s, *s -> *s",
    domain="y != 0 or x > 0",
    broadcast=True,
    like="jax.numpy.arctan2",
    torch="torch.atan2",
    aliases=("arctan2",),
    convention={"x = y = 0": "nan"},
    source="d atan2(y, x) = (x dy - y dx)/(x² + y²)",
    magnitudes=Magnitudes(least=1 / 4),
)
def atan2(y, x):
    """Angle of the point (x, y), of arrays that broadcast. It jumps on the half-line y = 0, x < 0."""
    return jnp.arctan2(y, x)


@atan2.jvp
def _(y, x, dy, dx):
    return (x * dy - y * dx) / (x * x + y * y)


@atan2.vjp
def _(y, x, seed):
    ct = seed / (x * x + y * y)
    return sum_to(x * ct, y), sum_to(-y * ct, x)
