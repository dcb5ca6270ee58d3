"""The `reduction` of a loss: "none", "mean" or "sum" over the losses of the elements or rows."""

import jax.numpy as jnp

from certgrad.ops._declare import case

ELEMENTS = (
    case("*s, *s -> *s", reduction="none"),
    case("*s, *s -> ", reduction="mean"),
    case("*s, *s -> ", reduction="sum"),
)
"""Losses of the elements of two arrays."""

ROWS = (
    case("*b n, *b n -> *b", reduction="none"),
    case("*b n, *b n -> ", reduction="mean"),
    case("*b n, *b n -> ", reduction="sum"),
)
"""Losses of the rows of two arrays."""

LABELS = (
    case("*b n, *b:int -> *b", reduction="none"),
    case("*b n, *b:int -> ", reduction="mean"),
    case("*b n, *b:int -> ", reduction="sum"),
)
"""Losses of rows with a label each."""


def reduce(loss, reduction):
    """The losses, their mean or their sum."""
    return loss if reduction == "none" else jnp.mean(loss) if reduction == "mean" else jnp.sum(loss)


def spread(seed, losses, reduction):
    """The transpose of `reduce`: from its cotangent that of each of the losses, which have the shape of `losses`."""
    return seed / jnp.size(losses) if reduction == "mean" else seed


def spread_rows(seed, x, reduction):
    """`spread` to the rows of `x`, with an axis of one for the elements of a row."""
    if reduction == "mean":
        return seed * x.shape[-1] / jnp.size(x)
    return jnp.expand_dims(seed, -1) if reduction == "none" else seed
