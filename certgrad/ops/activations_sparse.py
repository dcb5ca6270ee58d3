"""Activations that are exactly 0 on an interval or a half line, or keep what lies beyond one, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op(
    "*s -> *s",
    like="jax.nn.sparse_plus",
    source="Martins and Astudillo 2016; its derivative is the sparse sigmoid, continuous at both seams",
)
def sparse_plus(x):
    """0 up to -1, x from 1 on, and (x + 1)² / 4 between."""
    return jnp.where(x <= -1, 0, jnp.where(x >= 1, x, (x + 1) * (x + 1) / 4))


@sparse_plus.jvp
def _(x, dx):
    return jnp.clip((x + 1) / 2, 0, 1) * dx


@sparse_plus.vjp
def _(x, seed):
    return jnp.clip((x + 1) / 2, 0, 1) * seed


@op(
    "*s -> *s",
    domain=("x != -1", "x != 1"),
    like="jax.nn.sparse_sigmoid",
    convention={"x = -1": "0", "x = 1": "0"},
    source="Martins and Astudillo 2016; the ends take the flat side",
)
def sparse_sigmoid(x):
    """(x + 1) / 2, kept between 0 and 1."""
    return jnp.minimum(jnp.maximum((x + 1) / 2, 0), 1)


@sparse_sigmoid.jvp
def _(x, dx):
    return jnp.where((x > -1) & (x < 1), dx / 2, 0)


@sparse_sigmoid.vjp
def _(x, seed):
    return jnp.where((x > -1) & (x < 1), seed / 2, 0)


@op(
    "*s -> *s",
    domain=("x != lambd", "x != -lambd"),
    params={"lambd": "lambd >= 0"},
    torch="torch.nn.functional.softshrink",
    torch_at={"x = lambd": "0"},
    convention={"x = lambd": "0"},
    source="Donoho 1995: the proximal map of lambd * |x|",
)
def soft_shrink(x, *, lambd=0.5):
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""
    return jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, 0))


@soft_shrink.jvp
def _(x, dx, *, lambd):
    return jnp.where((x > lambd) | (x < -lambd), dx, 0)


@soft_shrink.vjp
def _(x, seed, *, lambd):
    return jnp.where((x > lambd) | (x < -lambd), seed, 0)


@op(
    "*s -> *s",
    domain=("x != lambd", "x != -lambd"),
    params={"lambd": "lambd >= 0"},
    torch="torch.nn.functional.hardshrink",
    torch_at={"x = lambd": "0"},
    convention={"x = lambd": "0"},
    source="Donoho and Johnstone 1994",
)
def hard_shrink(x, *, lambd=0.5):
    """x, and 0 where |x| <= lambd."""
    return jnp.where((x > lambd) | (x < -lambd), x, 0)


@hard_shrink.jvp
def _(x, dx, *, lambd):
    return jnp.where((x > lambd) | (x < -lambd), dx, 0)


@hard_shrink.vjp
def _(x, seed, *, lambd):
    return jnp.where((x > lambd) | (x < -lambd), seed, 0)


@op(
    "*s -> *s",
    domain="x != threshold",
    params={"threshold": None, "value": None},
    torch="torch.nn.functional.threshold",
    torch_at={"x = threshold": "0"},
    convention={"x = threshold": "0"},
    source="The convention is PyTorch's: the threshold itself is replaced",
)
def threshold(x, *, threshold, value):
    """x where above the threshold, and the number value elsewhere."""
    return jnp.where(x > threshold, x, value)


@threshold.jvp
def _(x, dx, *, threshold):
    return jnp.where(x > threshold, dx, 0)


@threshold.vjp
def _(x, seed, *, threshold):
    return jnp.where(x > threshold, seed, 0)


@op("*s -> *s", aliases=("relu2",), source="So et al. 2021; continuously differentiable at 0")
def squared_relu(x):
    """max(x, 0)²."""
    y = jnp.maximum(x, 0)
    return y * y


@squared_relu.jvp
def _(x, dx):
    return 2 * jnp.maximum(x, 0) * dx


@squared_relu.vjp
def _(x, seed):
    return 2 * jnp.maximum(x, 0) * seed
