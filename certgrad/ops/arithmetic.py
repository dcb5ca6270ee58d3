"""Arithmetic, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to, zero


@op(
    "*s -> *s",
    integers=True,
    like="jax.nn.identity",
    torch="torch.nn.Identity",
    source="The identity is linear: it is its own derivative",
)
def identity(x):
    """The argument itself."""
    return x


@identity.jvp
def _(x, dx):
    return dx


@identity.vjp
def _(x, seed):
    return seed


@op(
    "*s -> *s", integers=True, like="jax.numpy.negative", torch="torch.neg", source="Linear: the derivative of -x is -1"
)
def neg(x):
    """The argument with the other sign, elementwise."""
    return -x


@neg.jvp
def _(x, dx):
    return -dx


@neg.vjp
def _(x, seed):
    return -seed


@op(
    "*s, *s -> *s",
    broadcast=True,
    integers=True,
    like="jax.numpy.add",
    torch="torch.add",
    source="Linear: the derivative of a sum is the sum of the derivatives",
)
def add(x, y):
    """Sum of two arrays that broadcast."""
    return x + y


@add.jvp
def _(x, y, dx, dy):
    return dx + dy


@add.vjp
def _(x, y, seed):
    return sum_to(seed, x), sum_to(seed, y)


@op(
    "*s, *s -> *s",
    broadcast=True,
    integers=True,
    like="jax.numpy.subtract",
    torch="torch.sub",
    source="Linear: the derivative of a difference is the difference of the derivatives",
)
def sub(x, y):
    """Difference of two arrays that broadcast."""
    return x - y


@sub.jvp
def _(x, y, dx, dy):
    return dx - dy


@sub.vjp
def _(x, y, seed):
    return sum_to(seed, x), sum_to(-seed, y)


@op(
    "*s, *s -> *s",
    broadcast=True,
    integers=True,
    like="jax.numpy.multiply",
    torch="torch.mul",
    source="The product rule",
)
def mul(x, y):
    """Product of two arrays that broadcast."""
    return x * y


@mul.jvp
def _(x, y, dx, dy):
    return dx * y + x * dy


@mul.vjp
def _(x, y, seed):
    return sum_to(seed * y, x), sum_to(seed * x, y)


@op(
    "*s, *s -> *s",
    domain="y != 0",
    broadcast=True,
    like="jax.numpy.divide",
    torch="torch.div",
    source="The quotient rule",
)
def div(x, y):
    """Quotient of two arrays that broadcast."""
    return x / y


@div.jvp
def _(x, y, dx, dy):
    return (dx - x / y * dy) / y


@div.vjp
def _(x, y, seed):
    ct = seed / y
    return sum_to(ct, x), sum_to(-ct * (x / y), y)


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.numpy.reciprocal",
    torch="torch.reciprocal",
    torch_at={"x = 0": "-inf"},
    convention={"x = 0": "-inf"},
    source="d/dx 1/x = -1/x²",
)
def inv(x):
    """Reciprocal 1 / x, elementwise."""
    return 1 / x


@inv.fwd
def _(x):
    y = 1 / x
    return y, y


@inv.jvp
def _(y, dx):
    return -y * y * dx


@inv.vjp
def _(y, seed):
    return -y * y * seed


@op("*s -> *s", params={"c": None}, torch="torch.mul", source="TorchLean's scale")
def scale(x, *, c):
    """The argument times the number c."""
    return c * x


@scale.jvp
def _(x, dx, *, c):
    return c * dx


@scale.vjp
def _(x, seed, *, c):
    return c * seed


@op("*s -> *s", params={"c": None}, like="jax.numpy.full_like", torch="torch.full_like", source="TorchLean's constant")
def constant(x, *, c):
    """The number c in the shape of the argument."""
    return jnp.full_like(x, c)


constant.jvp(zero)
constant.vjp(zero)


@op("*s, *s, *s -> *s", broadcast=True, torch="torch.lerp", source="The product rule; numpy and PyTorch call it lerp")
def lerp(x, y, weight):
    """Linear interpolation x + weight * (y - x) between arrays that broadcast."""
    return x + weight * (y - x)


@lerp.jvp
def _(x, y, weight, dx, dy, dweight):
    return dx + weight * (dy - dx) + dweight * (y - x)


@lerp.vjp
def _(x, y, weight, seed):
    ct = weight * seed
    return sum_to(seed - ct, x), sum_to(ct, y), sum_to((y - x) * seed, weight)
