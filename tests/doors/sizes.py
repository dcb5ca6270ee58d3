"""What a theorem of Coq might read otherwise: sizes with the names that are printed, and integers that wrap around."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins


def product(x, w):
    return x @ w


def by_200(x):
    """x times −56: 200 wraps around."""
    return x * (jnp.full(x.shape, 100, jnp.int8) * 2).astype(x.dtype)


def by_last(x):
    """x times 2³² − 1."""
    return x * (jnp.zeros(x.shape, jnp.uint32) - 1).astype(x.dtype)


def squares(x):
    return jnp.sum(x * x, axis=1)


printed, wrong_printed = twins(
    "i0 i1, i1 -> i0",
    product,
    lambda x, w, g: (jnp.outer(g, w), x.T @ g),
    lambda x, w, g: (jnp.outer(g, w), 2 * (x.T @ g)),
)
printed_sums, wrong_printed_sums = twins(
    "x n -> x", squares, lambda x, g: (2 * x * g[:, None],), lambda x, g: (3 * x * g[:, None],)
)
narrow, wrong_narrow = twins("n -> n", by_200, lambda x, g: (-56 * g,), lambda x, g: (200 * g,))
unsigned, wrong_unsigned = twins("n -> n", by_last, lambda x, g: (4294967295.0 * g,), lambda x, g: (-g,))

VARIANTS = [
    Variant("printed", "i0 i1, i1 -> i0", product, shapes=("x: i0 i1", "w: i1")),
    Variant("printed_sums", "x n -> x", squares, shapes=("y: x n",)),
    Variant("narrow", "n -> n", by_200),
    Variant("unsigned", "n -> n", by_last),
]
