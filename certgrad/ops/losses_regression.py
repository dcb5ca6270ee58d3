"""Losses that compare numbers. `reduction` is "none", "mean" or "sum"."""

import jax.numpy as jnp

from certgrad.ops._declare import case, op

REDUCTIONS = (
    case("*s, *s -> *s", reduction="none"),
    case("*s, *s -> ", reduction="mean"),
    case("*s, *s -> ", reduction="sum"),
)


def reduce(loss, reduction):
    """The losses of the elements, their mean or their sum."""
    return loss if reduction == "none" else jnp.mean(loss) if reduction == "mean" else jnp.sum(loss)


def spread(seed, x, reduction):
    """The transpose of `reduce`: the cotangent of each element's loss, for losses of the shape of `x`."""
    return seed / x.size if reduction == "mean" else seed


@op(*REDUCTIONS, torch="torch.nn.functional.mse_loss")
def mse(x, target, *, reduction="mean"):
    """Squared error (x - target)²."""
    d = x - target
    return reduce(d * d, reduction)


@mse.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(2 * (x - target) * (dx - dtarget), reduction)


@mse.vjp
def _(x, target, seed, *, reduction):
    ct = spread(seed, x, reduction) * 2 * (x - target)
    return ct, -ct
