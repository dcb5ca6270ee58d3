"""The `reduction` of a loss: "none", "mean" or "sum" over the losses of the elements or rows."""

import jax.numpy as jnp

from certgrad.ops._declare import case

ELEMENTS = (
    case("*s, *s -> *s", reduction="none"),
    case("*s, *s -> ", reduction="mean"),
    case("*s, *s -> ", reduction="sum"),
)
"""The cases of a loss that compares two arrays element by element."""

ROWS = (
    case("*b n, *b n -> *b", reduction="none"),
    case("*b n, *b n -> ", reduction="mean"),
    case("*b n, *b n -> ", reduction="sum"),
)
"""The cases of a loss that compares two arrays row by row."""

LABELS = (
    case("*b n, *b:int -> *b", reduction="none"),
    case("*b n, *b:int -> ", reduction="mean"),
    case("*b n, *b:int -> ", reduction="sum"),
)
"""The cases of a loss of rows, each with an integer label."""


def reduce(loss, reduction):
    """Return the losses, their mean or their sum."""
    return loss if reduction == "none" else jnp.mean(loss) if reduction == "mean" else jnp.sum(loss)


def spread(seed, losses, reduction):
    """Return the cotangent of each loss from that of `reduce`'s result: its transpose. It broadcasts to `losses`."""
    return seed / jnp.size(losses) if reduction == "mean" else seed


def spread_rows(seed, x, reduction):
    """Return the cotangent of each row's loss as `spread` does, so that it broadcasts to `x`, an array of rows."""
    if reduction == "mean":
        return seed * x.shape[-1] / jnp.size(x)
    return jnp.expand_dims(seed, -1) if reduction == "none" else seed
