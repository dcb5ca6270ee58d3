"""What rules of many ops share: cotangents in the shape of the argument, derivatives that are 0, precision."""

from typing import Any

import jax.numpy as jnp


def sum_to(x: Any, like: Any) -> Any:
    """The sum of `x` over the axes along which `like` was broadcast to it: the transpose of that broadcast."""
    x = sum_leading(x, like)
    stretched = tuple(i for i, size in enumerate(like.shape) if x.shape[i] != size)  # there it is 1
    return jnp.sum(x, axis=stretched, keepdims=True) if stretched else x


def at_least_float32(x: Any) -> Any:
    """`x`, in float32 if its dtype is narrower: for formulas that cancel or grow too fast for half precision.

    No change of the function that is proved: over the reals a cast is the identity.
    """
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def cast_like(y: Any, like: Any) -> Any:
    """`y`, computed from `wide` arguments, in the dtype of `like`."""
    return y.astype(like.dtype)


def zero(x: Any, dx: Any) -> Any:
    """The JVP and the VJP of a function of one argument that is constant wherever it has a derivative."""
    return jnp.zeros_like(dx)


def sum_leading(x: Any, like: Any) -> Any:
    """The sum of `x` over the leading axes that `like` does not have."""
    return jnp.sum(x, axis=tuple(range(x.ndim - like.ndim)))


def expand(x: Any, axis: Any, keepdims: bool) -> Any:
    """`x`, reduced over `axis`, with those axes put back as ones if the reduction dropped them."""
    return x if keepdims or axis is None else jnp.expand_dims(x, axis)
