"""Losses of the angle between rows."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._reduction import ROWS, reduce, spread_rows


@op(
    *ROWS,
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.cosine_similarity",
    source="1 - PyTorch's cosine similarity, which bounds the product of the squared norms by eps²",
    magnitudes=Magnitudes(most=1 / 8),
)
def cosine_similarity_loss(x, target, *, eps=1e-6, reduction="mean"):
    """1 - x · target / max(‖x‖ ‖target‖, eps) over the last axis; at equality the rules hold the bound constant."""
    dot, inverse, _ = _similarity_parts(x, target, eps)
    return reduce(1 - jnp.squeeze(dot * inverse, axis=-1), reduction)


def _similarity_parts(x, target, eps):
    """Return x · target, 1 / max(‖x‖ ‖target‖, eps), and whether ‖x‖ ‖target‖ > eps; each has an axis of size 1."""
    square = _dot(x, x) * _dot(target, target)
    above = square > eps * eps
    return _dot(x, target), lax.rsqrt(jnp.where(above, square, eps * eps)), above


def _dot(a, b):
    return jnp.sum(a * b, axis=-1, keepdims=True)


@cosine_similarity_loss.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    dot, inverse, above = _similarity_parts(x, target, eps)
    radial = jnp.where(above, dot * inverse * inverse, 0)
    change = _dot(dx, x) * _dot(target, target) + _dot(dtarget, target) * _dot(x, x)
    dloss = -inverse * (_dot(dx, target) + _dot(x, dtarget) - radial * change)
    return reduce(jnp.squeeze(dloss, axis=-1), reduction)


@cosine_similarity_loss.vjp
def _(x, target, seed, *, eps, reduction):
    dot, inverse, above = _similarity_parts(x, target, eps)
    radial = jnp.where(above, dot * inverse * inverse, 0)
    ct = -inverse * spread_rows(seed, x, reduction)
    return ct * (target - radial * _dot(target, target) * x), ct * (x - radial * _dot(x, x) * target)


@op(
    case("n d, n d -> n", reduction="none"),
    case("n d, n d -> ", reduction="mean"),
    case("n d, n d -> ", reduction="sum"),
    params={"temperature": "temperature > 0"},
    source="van den Oord et al. 2018: each query's own key is its positive, the other keys are the negatives",
    magnitudes=Magnitudes(most=1 / 4),
)
def info_nce(queries, keys, *, temperature=0.1, reduction="mean"):
    """-log_softmax(queries · keysᵀ / temperature) on the diagonal: one loss a query."""
    scores = jnp.matmul(queries, keys.T) / temperature
    return reduce(_log_of_others(scores) - jnp.sum(queries * keys, axis=-1) / temperature, reduction)


def _log_of_others(scores):
    top = lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    return jnp.squeeze(jnp.log(jnp.sum(jnp.exp(scores - top), axis=-1, keepdims=True)) + top, -1)


def _chances(queries, keys, temperature):
    """Return the softmax over the keys of the scores queries · keys / temperature."""
    scores = jnp.matmul(queries, keys.T) / temperature
    z = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    return z / jnp.sum(z, axis=-1, keepdims=True)


@info_nce.jvp
def _(queries, keys, dqueries, dkeys, *, temperature, reduction):
    p = _chances(queries, keys, temperature)
    dscores = jnp.matmul(dqueries, keys.T) + jnp.matmul(queries, dkeys.T)
    change = jnp.sum(p * dscores, axis=-1) - jnp.sum(dqueries * keys + queries * dkeys, axis=-1)
    return reduce(change / temperature, reduction)


@info_nce.vjp
def _(queries, keys, seed, *, temperature, reduction):
    ct = spread_rows(seed, queries, reduction) / temperature
    weighted = _chances(queries, keys, temperature) * ct
    return jnp.matmul(weighted, keys) - ct * keys, jnp.matmul(weighted.T, queries) - ct * queries
