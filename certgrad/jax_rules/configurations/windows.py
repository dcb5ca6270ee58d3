"""Convolutions and reductions over windows: layouts, strides, paddings, dilations, groups."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations, forms


def _conv1(x: Any, w: Any, **options: Any) -> Any:
    return lax.conv_general_dilated(x, w, **{"window_strides": (1,), "padding": "VALID", **options})


def _conv2(x: Any, w: Any, layout: str, **options: Any) -> Any:
    numbers = {"NCHW": ("NCHW", "OIHW", "NCHW"), "NHWC": ("NHWC", "HWIO", "NHWC")}[layout]
    return lax.conv_general_dilated(x, w, dimension_numbers=numbers, **options)


def _pool(x: Any, empty: float, fold: Any, size: int, stride: int, padding: Any) -> Any:
    return lax.reduce_window(x, empty, fold, (size,), (stride,), padding)


def _pool2(x: Any, empty: float, fold: Any, padding: str) -> Any:
    return lax.reduce_window(x, empty, fold, (2, 3), (2, 1), padding)


CONVOLUTIONS: list[Configuration] = [
    *configurations(
        "conv_general_dilated",
        lambda x, w, padding: _conv1(x, w, padding=padding),
        "b c n+2, o c 3",
        form="one axis",
        padding=["VALID", "SAME", ((1, 2),)],
    ),
    *configurations(
        "conv_general_dilated",
        lambda x, w, stride: _conv1(x, w, window_strides=(stride,)),
        "b c 6*n+2, o c 3",
        form="strides",
        stride=[2, 3],
    ),
    *forms(
        "conv_general_dilated",
        (
            "transposed: lhs_dilation=2",
            "b c n, o c 3",
            lambda x, w: _conv1(x, w, lhs_dilation=(2,), padding=((2, 2),)),
        ),
        ("rhs_dilation=2", "b c n+4, o c 3", lambda x, w: _conv1(x, w, rhs_dilation=(2,))),
        ("feature_group_count=2", "b 2*c n+2, 2*o c 3", lambda x, w: _conv1(x, w, feature_group_count=2)),
        ("depthwise", "b 4 n+2, 4 1 3", lambda x, w: _conv1(x, w, feature_group_count=4)),
        ("batch_group_count=2", "2*b c n+2, 2*o c 3", lambda x, w: _conv1(x, w, batch_group_count=2)),
    ),
    *(
        c
        for layout, signature in (("NCHW", "b c h w, o c 3 3"), ("NHWC", "b h w c, 3 3 c o"))
        for c in configurations(
            "conv_general_dilated",
            lambda x, w, layout: _conv2(x, w, layout, window_strides=(1, 1), padding="SAME"),
            signature,
            form="two axes",
            layout=[layout],
        )
    ),
]

POOLS: list[Configuration] = [
    *configurations(
        "reduce_window_sum",
        lambda x, size, stride, padding: _pool(x, 0.0, lax.add, size, stride, padding),
        "n+3",
        size=[2, 3],
        stride=[1, 2],
        padding=["VALID", "SAME", ((1, 2),)],
    ),
    *configurations(
        "reduce_window_sum",
        lambda x, padding: _pool2(x, 0.0, lax.add, padding),
        "n+1 m+2",
        form="two axes",
        padding=["VALID", "SAME"],
    ),
    *configurations(
        "reduce_window_sum",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), ((1, 1),), (2,), (2,)),
        "n+1",
        form="base_dilation=2, window_dilation=2",
    ),
    *configurations(
        "reduce_window_max",
        lambda x, size, stride, padding: _pool(x, -jnp.inf, lax.max, size, stride, padding),
        "n+3",
        size=[2, 3],
        stride=[1, 2],
        padding=["VALID"],
    ),
    *configurations(
        "reduce_window_max",
        lambda x, size: _pool(x, -jnp.inf, lax.max, size, 1, "SAME"),
        "n",
        form="stride 1, SAME",
        size=[2, 3],
    ),
    *(
        c
        for n in ("2*n", "2*n+1")
        for c in configurations(
            "reduce_window_max",
            lambda x, size: _pool(x, -jnp.inf, lax.max, size, 2, "SAME"),
            n,
            form="stride 2, SAME",
            size=[2, 3],
        )
    ),
    *configurations(
        "reduce_window_max", lambda x: _pool2(x, -jnp.inf, lax.max, "VALID"), "n+1 m+2", form="two axes, VALID"
    ),
    *configurations(
        "reduce_window_min",
        lambda x, size, stride, padding: _pool(x, jnp.inf, lax.min, size, stride, padding),
        "n+3",
        size=[2, 3],
        stride=[1, 2],
        padding=["VALID"],
    ),
    *(
        c
        for n in ("2*n", "2*n+1")
        for c in configurations(
            "reduce_window_min",
            lambda x, size: _pool(x, jnp.inf, lax.min, size, 2, "SAME"),
            n,
            form="stride 2, SAME",
            size=[2, 3],
        )
    ),
    *configurations(
        "reduce_window", lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,), (1,), "VALID"), "n+1", form="of products"
    ),
    *configurations(
        "select_and_gather_add",
        lambda x, y: jax.jvp(lambda z: _pool(z, -jnp.inf, lax.max, 2, 1, "VALID"), (x,), (y,))[1],
        "n+1, n+1",
        form="the tangent of a maximum pool",
    ),
    *configurations(
        "select_and_scatter_add",
        lambda x, y: jax.vjp(lambda z: _pool(z, -jnp.inf, lax.max, 2, 1, "SAME"), x)[1](y)[0],
        "n, n",
        form="the cotangent of a maximum pool",
    ),
]

WINDOWS: list[Configuration] = [*CONVOLUTIONS, *POOLS]
