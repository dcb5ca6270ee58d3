"""Activations made of straight pieces, elementwise. At a kink the rule takes the flat side, as PyTorch."""

import jax.numpy as jnp

from certgrad.ops._declare import op


@op(
    "*s -> *s",
    domain=("x != 0", "x != 6"),
    like="jax.nn.relu6",
    torch="torch.nn.functional.relu6",
    torch_at={"x = 0": "0", "x = 6": "0"},
    convention={"x = 0": "0", "x = 6": "0"},
    source="Krizhevsky 2010; the convention is PyTorch's",
)
def relu6(x):
    """The positive part, at most 6."""
    return jnp.minimum(jnp.maximum(x, 0), 6)


@relu6.jvp
def _(x, dx):
    return jnp.where((x > 0) & (x < 6), dx, 0)


@relu6.vjp
def _(x, seed):
    return jnp.where((x > 0) & (x < 6), seed, 0)


@op(
    "*s -> *s",
    domain=("x != -1", "x != 1"),
    integers=True,
    like="jax.nn.hard_tanh",
    torch="torch.nn.functional.hardtanh",
    torch_at={"x = -1": "0", "x = 1": "0"},
    convention={"x = -1": "0", "x = 1": "0"},
    source="The convention is PyTorch's; JAX returns 1 at both ends",
)
def hard_tanh(x):
    """The argument, kept between -1 and 1."""
    return jnp.minimum(jnp.maximum(x, -1), 1)


@hard_tanh.jvp
def _(x, dx):
    return jnp.where((x > -1) & (x < 1), dx, 0)


@hard_tanh.vjp
def _(x, seed):
    return jnp.where((x > -1) & (x < 1), seed, 0)


@op(
    "*s -> *s",
    domain=("x != -3", "x != 3"),
    like="jax.nn.hard_sigmoid",
    torch="torch.nn.functional.hardsigmoid",
    torch_at={"x = -3": "0", "x = 3": "0"},
    convention={"x = -3": "0", "x = 3": "0"},
    source="Courbariaux et al. 2015, with the slope 1/6 of Howard et al. 2019; the convention is PyTorch's",
)
def hard_sigmoid(x):
    """x / 6 + 1/2, kept between 0 and 1."""
    return jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6


@hard_sigmoid.jvp
def _(x, dx):
    return jnp.where((x > -3) & (x < 3), dx / 6, 0)


@hard_sigmoid.vjp
def _(x, seed):
    return jnp.where((x > -3) & (x < 3), seed / 6, 0)


@op(
    "*s -> *s",
    domain=("x != -3", "x != 3"),
    like="jax.nn.hard_silu",
    torch="torch.nn.functional.hardswish",
    torch_at={"x = -3": "-1/2", "x = 3": "3/2"},
    convention={"x = -3": "0", "x = 3": "1"},
    aliases=("hard_swish",),
    source="Howard et al. 2019; PyTorch's values are those of 2.6, pull request 148049 makes them 0 and 1",
)
def hard_silu(x):
    """x * hard_sigmoid(x)."""
    return x * (jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6)


@hard_silu.jvp
def _(x, dx):
    return _hard_silu_slope(x) * dx


@hard_silu.vjp
def _(x, seed):
    return _hard_silu_slope(x) * seed


def _hard_silu_slope(x):
    return jnp.where(x >= 3, 1, jnp.where(x > -3, (2 * x + 3) / 6, 0))
