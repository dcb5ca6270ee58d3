"""Rounding and remainders, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to, zero

_STEP = {"x = 1": "0"}


@op(
    "*s -> *s",
    domain="x not in integers",
    integers=True,
    like="jax.numpy.ceil",
    torch="torch.ceil",
    torch_at=_STEP,
    convention=_STEP,
    source="Constant between integers; the derivative 0 is JAX's and PyTorch's choice at integers too",
)
def ceil(x):
    """Smallest integer from x on, elementwise. Its derivative is 0."""
    return jnp.ceil(x)


ceil.jvp(zero)
ceil.vjp(zero)


@op(
    "*s -> *s",
    domain="x not in integers",
    integers=True,
    like="jax.numpy.trunc",
    torch="torch.trunc",
    aliases=("fix",),
    torch_at=_STEP,
    convention=_STEP,
    source="Constant between integers; the derivative 0 is JAX's and PyTorch's choice at integers too",
)
def trunc(x):
    """The integer part of x, towards 0, elementwise. Its derivative is 0."""
    return jnp.trunc(x)


trunc.jvp(zero)
trunc.vjp(zero)


@op(
    "*s -> *s",
    domain="x not in integers",
    torch="torch.frac",
    torch_at={"x = 1": "1"},
    convention={"x = 1": "1"},
    source="x - trunc(x): the derivative is 1, also PyTorch's choice at integers",
)
def frac(x):
    """The fractional part x - trunc(x), with the sign of x, elementwise."""
    return x - jnp.trunc(x)


@frac.jvp
def _(x, dx):
    return dx


@frac.vjp
def _(x, seed):
    return seed


@op(
    "*s, *s -> *s",
    domain=("y != 0", "x / y not in integers"),
    broadcast=True,
    integers=True,
    like="jax.numpy.remainder",
    torch="torch.remainder",
    aliases=("mod",),
    source="x - y * floor(x / y): the derivatives are 1 and -floor(x / y)",
)
def remainder(x, y):
    """Remainder of x / y with the sign of y, of arrays that broadcast."""
    r = jnp.fmod(x, y)
    return jnp.where((r != 0) & ((x < 0) != (y < 0)), r + y, r)


def _floor(x, y):
    return jnp.trunc(x / y) - ((x < 0) != (y < 0))


@remainder.jvp
def _(x, y, dx, dy):
    return dx - _floor(x, y) * dy


@remainder.vjp
def _(x, y, seed):
    return sum_to(seed, x), sum_to(-_floor(x, y) * seed, y)


@op(
    "*s, *s -> *s",
    domain=("y != 0", "x / y not in integers"),
    broadcast=True,
    integers=True,
    like="jax.numpy.fmod",
    torch="torch.fmod",
    source="x - y * trunc(x / y): the derivatives are 1 and -trunc(x / y)",
)
def fmod(x, y):
    """Remainder of x / y with the sign of x, as in C, of arrays that broadcast."""
    return jnp.fmod(x, y)


@fmod.jvp
def _(x, y, dx, dy):
    return dx - jnp.trunc(x / y) * dy


@fmod.vjp
def _(x, y, seed):
    return sum_to(seed, x), sum_to(-jnp.trunc(x / y) * seed, y)


@op(
    "*s, *s -> *s",
    domain="x != 0",
    broadcast=True,
    like="jax.numpy.heaviside",
    torch="torch.heaviside",
    convention={"x = 0": "0, 1"},
    source="Constant on both sides of 0; at x = 0 the value is y, whose derivative there is 1",
)
def heaviside(x, y):
    """0 where x is negative, 1 where positive, and y where x is 0, of arrays that broadcast."""
    return jnp.where(x == 0, y, jnp.where(x > 0, jnp.ones_like(x), jnp.zeros_like(x)))


@heaviside.jvp
def _(x, y, dx, dy):
    return jnp.where(x == 0, dy, jnp.zeros_like(dx))


@heaviside.vjp
def _(x, y, seed):
    return jnp.zeros_like(x), sum_to(jnp.where(x == 0, seed, 0), y)


@op(
    "*s, *s -> *s",
    domain=("x != 0", "y != 0"),
    broadcast=True,
    like="jax.numpy.copysign",
    torch="torch.copysign",
    convention={"x = 0": "0, 0", "y = 0": "1, 0"},
    source="sign(x) * sign(y) is the derivative in x; -0 counts as 0 here, numpy counts it as negative",
)
def copysign(x, y):
    """abs(x) with the sign of y, of arrays that broadcast; positive where y is 0."""
    return jnp.where(y < 0, -jnp.abs(x), jnp.abs(x))


def _flip(x, y):
    return jnp.where(y < 0, -jnp.sign(x), jnp.sign(x))


@copysign.jvp
def _(x, y, dx, dy):
    return _flip(x, y) * dx + jnp.zeros_like(dy)


@copysign.vjp
def _(x, y, seed):
    return sum_to(_flip(x, y) * seed, x), jnp.zeros_like(y)
