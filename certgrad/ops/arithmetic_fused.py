"""Sums and products of several arrays in one op, and units of angle, elementwise."""

import math

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to


@op(
    "*s, *s, *s -> *s",
    broadcast=True,
    integers=True,
    torch="torch.addcmul",
    aliases=("fma",),
    source="The product rule; BLAS and PyTorch write the sum first",
)
def multiply_add(x, y, z):
    """x * y + z of arrays that broadcast."""
    return x * y + z


@multiply_add.jvp
def _(x, y, z, dx, dy, dz):
    return dx * y + x * dy + dz


@multiply_add.vjp
def _(x, y, z, seed):
    return sum_to(seed * y, x), sum_to(seed * x, y), sum_to(seed, z)


@op(
    "*s, *s -> *s",
    broadcast=True,
    params={"a": None},
    torch="torch.add",
    source="BLAS level 1; torch.add(y, x, alpha=a)",
)
def axpy(x, y, *, a):
    """a * x + y of arrays that broadcast, with a number a."""
    return a * x + y


@axpy.jvp
def _(x, y, dx, dy, *, a):
    return a * dx + dy


@axpy.vjp
def _(x, y, seed, *, a):
    return sum_to(a * seed, x), sum_to(seed, y)


@op(
    "*s, *s -> *s",
    broadcast=True,
    integers=True,
    aliases=("square_difference",),
    source="d(x - y)² = 2 (x - y) (dx - dy)",
)
def squared_difference(x, y):
    """(x - y)² of arrays that broadcast."""
    d = x - y
    return d * d


@squared_difference.jvp
def _(x, y, dx, dy):
    return 2 * (x - y) * (dx - dy)


@squared_difference.vjp
def _(x, y, seed):
    ct = 2 * (x - y) * seed
    return sum_to(ct, x), sum_to(-ct, y)


@op("*s -> *s", integers=True, source="d/dx x³ = 3 x²")
def cube(x):
    """Third power, elementwise."""
    return x * x * x


@cube.jvp
def _(x, dx):
    return 3 * (x * x) * dx


@cube.vjp
def _(x, seed):
    return 3 * (x * x) * seed


_DEGREE = math.pi / 180


@op(
    "*s -> *s",
    like="jax.numpy.deg2rad",
    torch="torch.deg2rad",
    aliases=("radians",),
    source="Linear; π/180 as a decimal",
)
def deg2rad(x):
    """Degrees to radians, elementwise."""
    return x * _DEGREE


@deg2rad.jvp
def _(x, dx):
    return dx * _DEGREE


@deg2rad.vjp
def _(x, seed):
    return seed * _DEGREE


_RADIAN = 180 / math.pi


@op(
    "*s -> *s",
    like="jax.numpy.rad2deg",
    torch="torch.rad2deg",
    aliases=("degrees",),
    source="Linear; 180/π as a decimal",
)
def rad2deg(x):
    """Radians to degrees, elementwise."""
    return x * _RADIAN


@rad2deg.jvp
def _(x, dx):
    return dx * _RADIAN


@rad2deg.vjp
def _(x, seed):
    return seed * _RADIAN
