"""Examples of the primitives that compare entries with each other, and of cumulative and windowed products."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.semantics.example import Example, example, real

X = real("x", "n")
M = real("a", "n m")
N = real("b", "m n")


def pooled(a, extremum, start):
    return lax.reduce_window(a, start, extremum, (2, 2), (1, 1), "SAME")


def open_example(primitive, program, *arguments, **options):
    """An example that the calculus may decline."""
    return example(primitive, program, *arguments, refused=True, derivative=False, **options)


ORDER: list[Example] = [
    open_example("argmax", lambda a, axis: lax.argmax(a, axis, jnp.int64), M, axis=(0, 1)),
    open_example("argmin", lambda a, axis: lax.argmin(a, axis, jnp.int64), M, axis=(0, 1)),
    open_example("sort", lambda x: jnp.sort(x), X),
    open_example("top_k", lambda x: lax.top_k(x, 1), X),
    open_example("approx_top_k", lambda x: lax.approx_max_k(x, 1), X, smallest=2),
    open_example("cummax", lambda a, axis: lax.cummax(a, axis), M, axis=(0, 1)),
    open_example("cummin", lambda a, axis: lax.cummin(a, axis), M, axis=(0, 1)),
    open_example("cumprod", lambda a, axis: lax.cumprod(a, axis), M, axis=(0, 1)),
    example(
        "cumlogsumexp",
        lambda a, axis, reverse: lax.cumlogsumexp(a, axis, reverse=reverse),
        M,
        axis=(0, 1),
        reverse=(False, True),
    ),
    open_example("reduce_prod", lambda a, axis: jnp.prod(a, axis), M, axis=(0, 1)),
    open_example("reduce", lambda x: lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)), X),
    open_example("reduce_window_max", lambda a: pooled(a, lax.max, -jnp.inf), M),
    open_example("reduce_window_min", lambda a: pooled(a, lax.min, jnp.inf), M),
    open_example("reduce_window", lambda a: pooled(a, lax.mul, 1.0), M),
    open_example("select_and_scatter_add", lambda a: jax.grad(lambda x: jnp.sum(pooled(x, lax.max, -jnp.inf)))(a), M),
    open_example(
        "select_and_gather_add", lambda a: jax.jvp(lambda x: pooled(x, lax.max, -jnp.inf), (a,), (a * a,))[1], M
    ),
]  # fmt: skip
