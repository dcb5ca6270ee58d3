"""Functions that rules of many ops share: for cotangents in the argument's shape, zero derivatives, precision."""

from typing import Any

import jax.numpy as jnp


def sum_to(x: Any, like: Any) -> Any:
    """Return the sum of `x` over the axes along which `like` was broadcast to its shape: the broadcast's transpose."""
    x = sum_leading(x, like)
    stretched = tuple(i for i, size in enumerate(like.shape) if x.shape[i] != size)  # `like` is 1 there
    return jnp.sum(x, axis=stretched, keepdims=True) if stretched else x


def at_least_float32(x: Any) -> Any:
    """Return `x`, in float32 if its dtype is narrower: for formulas that cancel or grow too fast for half precision.

    It does not change the function that is proved: over the reals a cast is the identity.
    """
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def cast_like(y: Any, like: Any) -> Any:
    """Return `y`, computed in another dtype, such as that of `at_least_float32`, in the dtype of `like`."""
    return y.astype(like.dtype)


def zero(x: Any, dx: Any) -> Any:
    """The JVP and the VJP of a function of one argument that is constant wherever it has a derivative."""
    return jnp.zeros_like(dx)


def sum_leading(x: Any, like: Any) -> Any:
    """Return the sum of `x` over the leading axes that `like` does not have."""
    return jnp.sum(x, axis=tuple(range(x.ndim - like.ndim)))


def expand(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return `x`, the result of a reduction over `axis`, with those axes at size 1 also where they were dropped."""
    return x if keepdims or axis is None else jnp.expand_dims(x, axis)
