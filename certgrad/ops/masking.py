"""Choices by a mask that carries no derivative."""

import jax.numpy as jnp

from certgrad.ops._declare import case, op
from certgrad.ops._shapes import sum_to


@op(
    "*s:bool, *s, *s -> *s",
    broadcast=True,
    integers=True,
    like="jax.numpy.where",
    torch="torch.where",
    source="Linear in x and y where the mask is fixed",
)
def where(mask, x, y):
    """x where the mask is set and y elsewhere, of arrays that broadcast."""
    return jnp.where(mask, x, y)


@where.jvp
def _(mask, x, y, dx, dy):
    return jnp.where(mask, dx, dy)


@where.vjp
def _(mask, x, y, seed):
    return sum_to(jnp.where(mask, seed, 0), x), sum_to(jnp.where(mask, 0, seed), y)


@op("*s, *s:bool -> *s", broadcast=True, integers=True, source="TorchLean's apply_mask")
def apply_mask(x, mask):
    """x where the mask is set and 0 elsewhere, of arrays that broadcast."""
    return jnp.where(mask, x, 0)


@apply_mask.jvp
def _(x, mask, dx):
    return jnp.where(mask, dx, 0)


@apply_mask.vjp
def _(x, mask, seed):
    return sum_to(jnp.where(mask, seed, 0), x)


@op(
    *(case("*s, *s:bool -> *s", mode=mode) for mode in ("train", "identity", "scale")),
    params={"p": "p < 1"},
    torch="torch.nn.functional.dropout",
    source="Srivastava et al. 2014 scale at inference; PyTorch scales when training and is the identity at inference",
)
def dropout(x, mask, *, p, mode="train"):
    """Dropout by a mask of what is kept: x / (1 - p) where kept and 0 elsewhere.

    mode "identity" (as PyTorch at inference) returns x, mode "scale" (as TorchLean at inference) returns (1 - p) * x.
    """
    if mode == "train":
        return jnp.where(mask, x / (1 - p), 0)
    return x if mode == "identity" else (1 - p) * x


@dropout.jvp
def _(x, mask, dx, *, p, mode):
    return dropout.forward(dx, mask, p=p, mode=mode)


@dropout.vjp
def _(x, mask, seed, *, p, mode):
    return dropout.forward(seed, mask, p=p, mode=mode)
