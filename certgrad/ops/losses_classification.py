"""Losses of logits against a target distribution. `reduction` is "none", "mean" or "sum" over rows or elements."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._reduction import ELEMENTS, ROWS, reduce, spread, spread_rows
from certgrad.ops.softmax_family import log_softmax


@op(
    *ROWS,
    torch="torch.nn.functional.cross_entropy",
    source="softmax * sum(target) - target: the sum is 1 only for a target that is a distribution",
)
def cross_entropy_logits(x, target, *, reduction="mean"):
    """-sum(target * log_softmax(x)) over the last axis; the target need not sum to 1."""
    return reduce(-jnp.sum(target * log_softmax.forward(x, axis=-1), axis=-1), reduction)


@cross_entropy_logits.fwd
def _(x, target, *, reduction):
    y = log_softmax.forward(x, axis=-1)
    return reduce(-jnp.sum(target * y, axis=-1), reduction), (y, target)


@cross_entropy_logits.jvp
def _(residuals, dx, dtarget, *, reduction):
    y, target = residuals
    dy = dx - jnp.sum(jnp.exp(y) * dx, axis=-1, keepdims=True)
    return reduce(-jnp.sum(target * dy + dtarget * y, axis=-1), reduction)


@cross_entropy_logits.vjp
def _(residuals, seed, *, reduction):
    y, target = residuals
    ct = spread_rows(seed, y, reduction)
    total = jnp.sum(target, axis=-1, keepdims=True)
    return (jnp.exp(y) * total - target) * ct, -y * ct


@op(
    *ELEMENTS,
    torch="torch.nn.functional.binary_cross_entropy_with_logits",
    source="The derivative in x is sigmoid(x) - target, for any real target",
)
def binary_cross_entropy_with_logits(x, target, *, reduction="mean"):
    """-target * log(sigmoid(x)) - (1 - target) * log(1 - sigmoid(x)), without overflow."""
    loss = jnp.maximum(x, 0) - x * target + jnp.log1p(jnp.exp(-jnp.abs(x)))
    return reduce(loss, reduction)


@binary_cross_entropy_with_logits.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce((lax.logistic(x) - target) * dx - x * dtarget, reduction)


@binary_cross_entropy_with_logits.vjp
def _(x, target, seed, *, reduction):
    ct = spread(seed, x, reduction)
    return (lax.logistic(x) - target) * ct, -x * ct
