"""Roots and functions made of them, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.numpy.sqrt",
    torch="torch.sqrt",
    torch_at={"x = 0": "inf", "x < 0": "nan"},
    convention={"x = 0": "0", "x < 0": "0"},
    source="TorchLean's sqrt: the root of max(x, 0), with derivative 0 where x <= 0; JAX and PyTorch return inf at 0",
)
def sqrt(x):
    """Square root of max(x, 0), elementwise."""
    return jnp.sqrt(jnp.maximum(x, 0))


@sqrt.jvp
def _(x, dx):
    positive = x > 0
    return jnp.where(positive, dx / (2 * jnp.sqrt(jnp.where(positive, x, 1))), 0)


@sqrt.vjp
def _(x, seed):
    positive = x > 0
    return jnp.where(positive, seed / (2 * jnp.sqrt(jnp.where(positive, x, 1))), 0)


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.lax.rsqrt",
    torch="torch.rsqrt",
    torch_at={"x = 0": "-inf"},
    convention={"x = 0": "-inf"},
    source="d/dx x^(-1/2) = -1/2 x^(-3/2)",
)
def rsqrt(x):
    """Reciprocal of the square root, elementwise."""
    return lax.rsqrt(x)


@rsqrt.jvp
def _(x, dx):
    return -lax.rsqrt(x) / (2 * x) * dx


@rsqrt.vjp
def _(x, seed):
    return -lax.rsqrt(x) / (2 * x) * seed


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.numpy.cbrt",
    convention={"x = 0": "inf"},
    source="d/dx x^(1/3) = 1/3 x^(-2/3)",
)
def cbrt(x):
    """Cube root, elementwise."""
    return jnp.cbrt(x)


@cbrt.fwd
def _(x):
    y = jnp.cbrt(x)
    return y, y


@cbrt.jvp
def _(y, dx):
    return dx / (3 * (y * y))


@cbrt.vjp
def _(y, seed):
    return seed / (3 * (y * y))


@op(
    "*s, *s -> *s",
    domain="x != 0 or y != 0",
    broadcast=True,
    like="jax.numpy.hypot",
    torch="torch.hypot",
    torch_at={"x = y = 0": "nan"},
    convention={"x = y = 0": "0"},
    source="d/dx √(x² + y²) = x/√(x² + y²); at the origin the rules return 0",
)
def hypot(x, y):
    """sqrt(x² + y²) of arrays that broadcast, scaled where the squares would overflow or underflow."""
    # All branches are the same number: a proof sees no seam.
    square = x * x + y * y
    root = jnp.where(square < 1e-30, _scaled_root(x, y, 1e-30), jnp.sqrt(square))
    return jnp.where(square > 1e30, _scaled_root(x, y, 1e30), root)


def _scaled_root(x, y, size):
    a, b = x / size, y / size
    return jnp.sqrt(a * a + b * b) * size


@hypot.jvp
def _(x, y, dx, dy):
    root = hypot.forward(x, y)
    safe = jnp.where(root == 0, 1, root)
    return x / safe * dx + y / safe * dy


@hypot.vjp
def _(x, y, seed):
    root = hypot.forward(x, y)
    safe = jnp.where(root == 0, 1, root)
    return sum_to(x / safe * seed, x), sum_to(y / safe * seed, y)


@op("*s -> *s", params={"eps": "eps > 0"}, source="TorchLean's smooth_abs")
def smooth_abs(x, *, eps=1e-6):
    """Smooth absolute value sqrt(x² + eps), elementwise."""
    return jnp.sqrt(x * x + eps)


@smooth_abs.fwd
def _(x, *, eps):
    y = jnp.sqrt(x * x + eps)
    return y, (x, y)


@smooth_abs.jvp
def _(residuals, dx):
    x, y = residuals
    return x / y * dx


@smooth_abs.vjp
def _(residuals, seed):
    x, y = residuals
    return x / y * seed
