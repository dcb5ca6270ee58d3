"""Sums, extrema and products along axes, cumulative ones too, and contractions.

Where JAX's rule is a program for one length of the axis (a tree of products, an associative scan), this is a number.
"""

from __future__ import annotations

from typing import Any

from jax import lax

from .._configuration import Configuration, configurations, forms

AXES = [(0,), (1,), (0, 2), (0, 1, 2)]


def _reduced(fold: Any) -> Any:
    return lambda x, axes: fold(x, axes)


def _cumulated(fold: Any) -> Any:
    return lambda x, axis, reverse: fold(x, axis, reverse=reverse)


REDUCTIONS: list[Configuration] = [
    *configurations("reduce_sum", lambda x, axes: lax.reduce_sum(x, axes), "n m k", axes=AXES),
    *(
        c
        for name, fold in (("reduce_max", lax.reduce_max), ("reduce_min", lax.reduce_min))
        for c in configurations(name, _reduced(fold), "n m k", axes=AXES, kinks=[([[[1.0]], [[1.0]]],)])
    ),
    *configurations(
        "reduce_prod",
        lambda x, axes: lax.reduce_prod(x, axes),
        "3 2",
        axes=[(0,), (1,), (0, 1)],
        kinks=[([[0.0], [2.0]],)],
    ),
    *configurations("cumsum", _cumulated(lax.cumsum), "n m", axis=[0, 1], reverse=[False, True]),
    *(
        c
        for name in ("cumprod", "cummax", "cummin", "cumlogsumexp")
        for axis, signature in enumerate(("3 n", "n 3"))
        for c in configurations(name, _cumulated(getattr(lax, name)), signature, axis=[axis], reverse=[False, True])
    ),
    *configurations("reduce", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0,)), "3"),
]

CONTRACTIONS: list[Configuration] = [
    *forms(
        "dot_general",
        ("matrix times matrix", "n k, k m", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())))),
        ("vectors", "n, n", lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ())))),
        ("outer product", "n, m", lambda a, b: lax.dot_general(a, b, (((), ()), ((), ())))),
        ("a batch axis", "b n k, b k m", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))),
        (
            "two batch axes, other layouts",
            "k c b, b c k m",
            lambda a, b: lax.dot_general(a, b, (((0,), (2,)), ((2, 1), (0, 1)))),
        ),
        ("two contracted axes", "n k l, l m k", lambda a, b: lax.dot_general(a, b, (((1, 2), (2, 0)), ((), ())))),
        (
            "nothing but batch and contraction",
            "k b, b k",
            lambda a, b: lax.dot_general(a, b, (((0,), (1,)), ((1,), (0,)))),
        ),
    ),
    *configurations("ragged_dot_general", lambda a, b, sizes: lax.ragged_dot(a, b, sizes), "n k, 2 k m, 2:int"),
]
