"""Losses of the angle between rows."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._reduction import ROWS, reduce, spread_rows


@op(
    *ROWS,
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.cosine_similarity",
    source="1 - PyTorch's cosine similarity, which bounds the product of the squared norms by eps²",
)
def cosine_similarity_loss(x, target, *, eps=1e-6, reduction="mean"):
    """1 - x · target / max(‖x‖ ‖target‖, eps) over the last axis; at equality the rules hold the bound constant."""
    dot, inverse, _ = _parts(x, target, eps)
    return reduce(1 - jnp.squeeze(dot * inverse, axis=-1), reduction)


def _parts(x, target, eps):
    """x · target, 1 / max(‖x‖ ‖target‖, eps), and whether the norms are above eps; each with an axis of one."""
    square = _dot(x, x) * _dot(target, target)
    above = square > eps * eps
    return _dot(x, target), lax.rsqrt(jnp.where(above, square, eps * eps)), above


def _dot(a, b):
    return jnp.sum(a * b, axis=-1, keepdims=True)


@cosine_similarity_loss.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    dot, inverse, above = _parts(x, target, eps)
    radial = jnp.where(above, dot * inverse * inverse, 0)
    change = _dot(dx, x) * _dot(target, target) + _dot(dtarget, target) * _dot(x, x)
    dloss = -inverse * (_dot(dx, target) + _dot(x, dtarget) - radial * change)
    return reduce(jnp.squeeze(dloss, axis=-1), reduction)


@cosine_similarity_loss.vjp
def _(x, target, seed, *, eps, reduction):
    dot, inverse, above = _parts(x, target, eps)
    radial = jnp.where(above, dot * inverse * inverse, 0)
    ct = -inverse * spread_rows(seed, x, reduction)
    return ct * (target - radial * _dot(target, target) * x), ct * (x - radial * _dot(x, x) * target)
