"""Sums, extrema and products along axes, cumulative ones too, and contractions."""

from __future__ import annotations

from jax import lax

from .._configuration import Configuration, configurations

AXES = [(0,), (1,), (0, 2), (0, 1, 2)]

REDUCTIONS: list[Configuration] = [
    *configurations("reduce_sum", lambda x, axes: lax.reduce_sum(x, axes), "n m k", axes=AXES),
    *configurations(
        "reduce_max", lambda x, axes: lax.reduce_max(x, axes), "n m k", axes=AXES, kinks=[([[[1.0]], [[1.0]]],)]
    ),
    *configurations(
        "reduce_min", lambda x, axes: lax.reduce_min(x, axes), "n m k", axes=AXES, kinks=[([[[1.0]], [[1.0]]],)]
    ),
    *configurations(
        "reduce_prod",
        lambda x, axes: lax.reduce_prod(x, axes),
        "n m",
        axes=[(0,), (1,), (0, 1)],
        kinks=[([[0.0], [2.0]],)],
    ),
    *configurations(
        "cumsum",
        lambda x, axis, reverse: lax.cumsum(x, axis, reverse=reverse),
        "n m",
        axis=[0, 1],
        reverse=[False, True],
    ),
    *configurations(
        "cumprod",
        lambda x, axis, reverse: lax.cumprod(x, axis, reverse=reverse),
        "n m",
        axis=[0, 1],
        reverse=[False, True],
    ),
    *configurations(
        "cummax",
        lambda x, axis, reverse: lax.cummax(x, axis, reverse=reverse),
        "n m",
        axis=[0, 1],
        reverse=[False, True],
    ),
    *configurations(
        "cummin",
        lambda x, axis, reverse: lax.cummin(x, axis, reverse=reverse),
        "n m",
        axis=[0, 1],
        reverse=[False, True],
    ),
    *configurations(
        "cumlogsumexp",
        lambda x, axis, reverse: lax.cumlogsumexp(x, axis, reverse=reverse),
        "n m",
        axis=[0, 1],
        reverse=[False, True],
    ),
    *configurations("reduce", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0,)), "n"),
]

CONTRACTIONS: list[Configuration] = [
    *configurations(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ()))),
        "n k, k m",
        form="matrix times matrix",
    ),
    *configurations(
        "dot_general", lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ()))), "n, n", form="vectors"
    ),
    *configurations(
        "dot_general", lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), "n, m", form="outer product"
    ),
    *configurations(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))),
        "b n k, b k m",
        form="a batch axis",
    ),
    *configurations(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((0,), (2,)), ((2, 1), (0, 1)))),
        "k c b, b c k m",
        form="two batch axes, other layouts",
    ),
    *configurations(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((1, 2), (2, 0)), ((), ()))),
        "n k l, l m k",
        form="two contracted axes",
    ),
    *configurations(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((0,), (1,)), ((1,), (0,)))),
        "k b, b k",
        form="nothing but batch and contraction",
    ),
    *configurations("ragged_dot_general", lambda a, b, sizes: lax.ragged_dot(a, b, sizes), "n k, 2 k m, 2:int"),
]
