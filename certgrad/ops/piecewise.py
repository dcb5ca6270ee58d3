"""Functions with kinks or jumps, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to, zero


@op(
    "*s -> *s",
    domain="x != 0",
    integers=True,
    like="jax.numpy.abs",
    torch="torch.abs",
    torch_at={"x = 0": "0"},
    convention={"x = 0": "0"},
    source="The subgradient 0 at 0, as PyTorch; JAX returns 1 there",
)
def abs(x):
    """Absolute value, elementwise."""
    return jnp.abs(x)


@abs.jvp
def _(x, dx):
    return jnp.sign(x) * dx


@abs.vjp
def _(x, seed):
    return jnp.sign(x) * seed


@op(
    "*s -> *s",
    domain="x != 0",
    integers=True,
    like="jax.numpy.sign",
    torch="torch.sign",
    torch_at={"x = 0": "0"},
    convention={"x = 0": "0"},
    source="Constant on both sides of 0; the derivative 0 is JAX's and PyTorch's choice at 0 too",
)
def sign(x):
    """-1, 0 or 1, elementwise. Its derivative is 0."""
    return jnp.sign(x)


sign.jvp(zero)
sign.vjp(zero)


@op(
    "*s -> *s",
    domain="x not in integers",
    integers=True,
    like="jax.numpy.floor",
    torch="torch.floor",
    torch_at={"x = 1": "0"},
    convention={"x = 1": "0"},
    source="Constant between integers; the derivative 0 is JAX's and PyTorch's choice at integers too",
)
def floor(x):
    """Largest integer up to x, elementwise. Its derivative is 0."""
    return jnp.floor(x)


floor.jvp(zero)
floor.vjp(zero)


@op(
    "*s -> *s",
    domain="x - 1/2 not in integers",
    integers=True,
    like="jax.numpy.round",
    torch="torch.round",
    torch_at={"x = 1/2": "0"},
    convention={"x = 1/2": "0"},
    source="Constant between halves; the derivative 0 is JAX's and PyTorch's choice at halves too",
)
def round(x):
    """Nearest integer, halves to even, elementwise. Its derivative is 0."""
    return jnp.round(x)


round.jvp(zero)
round.vjp(zero)


@op(
    "*s -> *s",
    domain=("x != lo", "x != hi"),
    params={"lo": None, "hi": "hi >= lo"},
    like="jax.numpy.clip",
    torch="torch.clamp",
    torch_at={"x = lo": "1", "x = hi": "1"},
    convention={"x = lo": "0", "x = hi": "0"},
    source="The derivative is 1 strictly between the bounds and 0 elsewhere; PyTorch counts the bounds as inside",
)
def clamp(x, *, lo, hi):
    """The argument, or the bound lo or hi that it passes, elementwise."""
    return jnp.minimum(jnp.maximum(x, lo), hi)


@clamp.jvp
def _(x, dx, *, lo, hi):
    return jnp.where((x > lo) & (x < hi), dx, 0)


@clamp.vjp
def _(x, seed, *, lo, hi):
    return jnp.where((x > lo) & (x < hi), seed, 0)


@op(
    "*s, *s -> *s",
    domain="x != y",
    broadcast=True,
    integers=True,
    like="jax.numpy.minimum",
    torch="torch.minimum",
    torch_at={"x = y": "1/2, 1/2"},
    convention={"x = y": "1/2, 1/2"},
    source="The derivative belongs to the smaller argument; ties share it equally, as in JAX and PyTorch",
)
def min(x, y):
    """The smaller of two arrays that broadcast. Ties share the derivative equally."""
    return jnp.minimum(x, y)


@min.jvp
def _(x, y, dx, dy):
    return jnp.where(x < y, dx, jnp.where(x > y, dy, (dx + dy) / 2))


@min.vjp
def _(x, y, seed):
    share = jnp.where(x == y, seed / 2, 0)
    return sum_to(jnp.where(x < y, seed, share), x), sum_to(jnp.where(x > y, seed, share), y)


@op(
    "*s, *s -> *s",
    domain="x != y",
    broadcast=True,
    integers=True,
    like="jax.numpy.maximum",
    torch="torch.maximum",
    torch_at={"x = y": "1/2, 1/2"},
    convention={"x = y": "1/2, 1/2"},
    source="The derivative belongs to the larger argument; ties share it equally, as in JAX and PyTorch",
)
def max(x, y):
    """The larger of two arrays that broadcast. Ties share the derivative equally."""
    return jnp.maximum(x, y)


@max.jvp
def _(x, y, dx, dy):
    return jnp.where(x > y, dx, jnp.where(x < y, dy, (dx + dy) / 2))


@max.vjp
def _(x, y, seed):
    share = jnp.where(x == y, seed / 2, 0)
    return sum_to(jnp.where(x > y, seed, share), x), sum_to(jnp.where(x < y, seed, share), y)
