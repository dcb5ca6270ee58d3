"""Partial functions moved away from their pole by eps, elementwise. They still have a pole, at another place."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to

_EPS = {"eps": "eps > 0"}


@op(
    "*s -> *s",
    domain="x > -eps",
    params=_EPS,
    source="TorchLean's documentation; its code computes log(softplus(x) + eps)",
)
def safe_log(x, *, eps=1e-6):
    """log(x + eps), elementwise."""
    return jnp.log(x + eps)


@safe_log.jvp
def _(x, dx, *, eps):
    return dx / (x + eps)


@safe_log.vjp
def _(x, seed, *, eps):
    return seed / (x + eps)


@op("*s -> *s", domain="x != -eps", params=_EPS, source="TorchLean's safe_inv")
def safe_inv(x, *, eps=1e-6):
    """1 / (x + eps), elementwise."""
    return 1 / (x + eps)


@safe_inv.fwd
def _(x, *, eps):
    y = 1 / (x + eps)
    return y, y


@safe_inv.jvp
def _(y, dx):
    return -y * y * dx


@safe_inv.vjp
def _(y, seed):
    return -y * y * seed


@op("*s, *s -> *s", domain="y != -eps", broadcast=True, params=_EPS, source="TorchLean's safe_div")
def safe_div(x, y, *, eps=1e-6):
    """x / (y + eps) of arrays that broadcast."""
    return x / (y + eps)


@safe_div.jvp
def _(x, y, dx, dy, *, eps):
    return (dx - x / (y + eps) * dy) / (y + eps)


@safe_div.vjp
def _(x, y, seed, *, eps):
    ct = seed / (y + eps)
    return sum_to(ct, x), sum_to(-ct * (x / (y + eps)), y)
