"""Stacks of matrices: arrays whose last two axes are rows and columns."""

from typing import Any

import jax.numpy as jnp
from jax import lax


def swap(x: Any) -> Any:
    """Return the stack with each matrix transposed."""
    return jnp.swapaxes(x, -1, -2)


def matmul_stacks(x: Any, y: Any) -> Any:
    """Return the products of two stacks, matrix by matrix. `jnp.matmul` is another program for a stack of one."""
    stack = tuple(range(x.ndim - 2))
    return lax.dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (stack, stack)))
