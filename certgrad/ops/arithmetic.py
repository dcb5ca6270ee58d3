"""Arithmetic, elementwise."""

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to


@op("*s, *s -> *s", broadcast=True, integers=True, like="jax.numpy.add", torch="torch.add")
def add(x, y):
    """Sum of two arrays that broadcast."""
    return x + y


@add.jvp
def _(x, y, dx, dy):
    return dx + dy


@add.vjp
def _(x, y, seed):
    return sum_to(seed, x), sum_to(seed, y)


@op("*s, *s -> *s", broadcast=True, integers=True, like="jax.numpy.multiply", torch="torch.mul")
def mul(x, y):
    """Product of two arrays that broadcast."""
    return x * y


@mul.jvp
def _(x, y, dx, dy):
    return dx * y + x * dy


@mul.vjp
def _(x, y, seed):
    return sum_to(seed * y, x), sum_to(seed * x, y)
