"""Examples of the primitives that compare entries with each other, and of cumulative and windowed products."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real, truth

X = real("x", "n")
P = truth("p", "n")
S = real("x", "n n")
Y = real("y", "n")
M = real("a", "n m")
N = real("b", "n m")


def pooled(x, size, stride, low, high, fold=lax.max, empty=-jnp.inf):
    return lax.reduce_window(x, empty, fold, (size,), (stride,), ((low, high),))


def same(a, fold=lax.max, empty=-jnp.inf):
    return lax.reduce_window(a, empty, fold, (2, 2), (1, 1), "SAME")


def open_example(primitive, program, *arguments, **options):
    """An example that the calculus may decline."""
    return example(primitive, program, *arguments, refused=True, derivative=False, **options)


def few(arg):
    """An arg-extremum over three numbers that predicates determine."""
    return lambda x, y: arg(jnp.stack([x > y, (x > 0) + (y > 1), x <= y]).astype(int), axis=0)


ORDER: list[Example] = [
    example("argmax", few(jnp.argmax), X, Y, name="of cases", derivative=False),
    example("argmin", few(jnp.argmin), X, Y, name="of cases", derivative=False),
    example("argmax", lambda x: lax.argmax(jnp.stack([x > 0, x > 1, x < -1]), 0, int), X, name="of booleans"),
    example("argmax", lambda x: jnp.argmax(jnp.stack([0 * x, jnp.where(x > 0, 2.0, -1.0)], 1), 1), X, name="of reals"),
    example(
        "argmax",
        lambda x: jnp.piecewise(x, [x <= 0, x <= 1, x <= 2], [0.0, lambda x: x, lambda x: x * x, 4.0]),
        X,
        name="piecewise",
    ),
    example(
        "reduce_window_max",
        lambda x, size, low, high: pooled(jnp.concatenate([x, x]), size, 2, low, high),
        X,
        size=(3, 2),
        low=(1, 0),
        high=(1, 0),
        smallest=2,
    ),
    example("reduce_window_max", same, M, name="of both axes"),
    example(
        "reduce_window_max",
        lambda a: lax.reduce_window(jnp.tile(a, (2, 4)), -jnp.inf, lax.max, (3, 4), (2, 1), ((1, 1), (0, 3)), (2, 1)),
        M,
        name="in a spread operand",
    ),
    example(
        "reduce_window_max",
        lambda x: lax.reduce_window(
            jnp.concatenate([x, x]), -jnp.inf, lax.max, (3,), (1,), ((2, 1),), window_dilation=(2,)
        ),
        X,
        name="dilated",
        smallest=2,
    ),
    example("reduce_window_min", lambda a: same(a, lax.min, jnp.inf), M),
    example("select_and_gather_add", lambda a, b: jax.jvp(same, (a,), (b,))[1], M, N),
    example(
        "select_and_gather_add",
        lambda x, y: jax.jvp(lambda x: pooled(x, 3, 1, 1, 1, lax.min, jnp.inf), (x,), (y,))[1],
        X,
        Y,
        name="of the least",
    ),
    example("select_and_scatter_add", lambda a, b: jax.vjp(same, a)[1](b)[0], M, N),
    example(
        "select_and_scatter_add",
        lambda x, y: jax.vjp(lambda x: pooled(x, 3, 1, 1, 1, lax.min, jnp.inf), x)[1](y)[0],
        X,
        Y,
        name="of the least",
    ),
    example(
        "reduce_max", lambda x, p: jnp.max(jnp.where(p[:, None] | p[None, :], x, -jnp.inf), axis=1), S, P, name="masked"
    ),
    example("reduce_min", lambda x, p: jnp.min(jnp.where(p[None, :], x, jnp.inf), axis=1), S, P, name="masked"),
    example("exp", lambda x, p: jnp.exp(jnp.where(p, x, -jnp.inf) + x[::-1]), X, P, name="of a mask"),
    example("max", lambda x, p: jnp.maximum(jnp.where(p, x, -jnp.inf), x * x - 1), X, P, name="with a mask"),
    example(
        "ge",
        lambda x, p: (jnp.where(p, x, -jnp.inf) >= x * x) & jnp.isfinite(x),
        X,
        P,
        name="of a mask",
        derivative=False,
    ),
    example("is_finite", lambda x, p: jnp.isfinite(jnp.where(p, x, jnp.inf)), X, P, name="of a mask", derivative=False),
    example("cummax", lambda a, reverse: lax.cummax(a, 1, reverse=reverse) + a, M, reverse=(False, True)),
    example("cummin", lambda x: lax.cummin(x) + lax.cummin(x, reverse=True) ** 2, X),
    example("argmax", lambda a: jnp.argmax(a, axis=1) + 2 * jnp.argmax(a * a, axis=0)[0], M, derivative=False),
    example("argmax", lambda x: x * x[jnp.argmax(x)], X, name="as an index"),
    example("argmin", lambda a, x: x * jnp.argmin(a, axis=1) + a[jnp.argmin(x), 0], M, X),
    example("sort", lambda a, axis: jnp.sort(a, axis), M, axis=(0, 1)),
    example("sort", lambda a, b: lax.sort((a, b, a + b), dimension=1, num_keys=2)[2], M, N, name="by two keys"),
    example("sort", lambda x: x[jnp.argsort(-x)] * jnp.argsort(x), X, name="of indices"),
    example("top_k", lambda x, k: lax.top_k(jnp.append(x, jnp.arange(2.0)), k)[0], X, k=(1, 2)),
    example("top_k", lambda a: lax.top_k(jnp.tile(a, (1, 2)), 2)[1], M, name="indices", derivative=False),
    open_example("approx_top_k", lambda x: lax.approx_max_k(x, 1), X, smallest=2),
    example(
        "cumprod",
        lambda a, axis, reverse: lax.cumprod(a * a - 1, axis, reverse=reverse),
        M,
        axis=(0, 1),
        reverse=(False, True),
    ),
    example("reduce_prod", lambda a, axis: jnp.prod(a, axis), M, axis=(0, 1, (0, 1))),
    example(
        "reduce_prod", lambda x: jnp.prod(jnp.where(jnp.eye(x.shape[0], dtype=bool), -2, x), axis=1), X, name="masked"
    ),
    example(
        "reduce_prod", lambda a: jnp.prod(jnp.exp(a) * jnp.maximum(a, -1) / (2 + a * a)) ** 2, M, name="of products"
    ),
    example("reduce_prod", lambda a: jnp.prod(jnp.sum(a, 1) - jnp.prod(a, 1)), M, name="of sums and products"),
    example("reduce_prod", lambda a: jnp.prod(a.reshape(-1)[1:]), M, name="of rows after each other"),
    open_example("reduce", lambda x: lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)), X),
    open_example("reduce_window", lambda a: lax.reduce_window(a, 1.0, lax.mul, (2, 2), (1, 1), "SAME"), M),
    example(
        "cumlogsumexp",
        lambda a, axis, reverse: lax.cumlogsumexp(a, axis, reverse=reverse),
        M,
        axis=(0, 1),
        reverse=(False, True),
    ),
]
