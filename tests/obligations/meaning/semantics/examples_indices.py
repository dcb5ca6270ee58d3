"""Examples of the primitives that move entries by index arithmetic: windows, reshapes, gathers and scatters."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real, whole

X = real("x", "n")
Y = real("y", "n")
K = whole("k", "n")
M = real("a", "n m")
N = real("b", "m n")
S = real("s", "n n")


def conv(x, k, strides, padding="VALID", base=None, dilation=None, groups=1, batches=1):
    return lax.conv_general_dilated(
        x, k, strides, padding, base, dilation, feature_group_count=groups, batch_group_count=batches
    )


def twice(x):
    return jnp.concatenate([x, x])


SLICES: list[Example] = [
    example("slice", lambda x, stride: jnp.concatenate([x, x * x])[1::stride], X, name="strided", stride=(2, 3)),
    example("slice", lambda a: jnp.exp(jnp.pad(a, 2)[1:-1, ::2]), M, name="of both axes"),
    example("rev", lambda a: jnp.flip(a, 0) * a[:, ::-1], M),
    example(
        "pad",
        lambda a, x, low, high, inner: lax.pad(a, 2.0 * x[0], [(low, high, inner), (0, 1, 0)]),
        M,
        X,
        low=(1, 0, 2),
        high=(2, 0, 1),
        inner=(0, 1, 2),
    ),
    example("pad", lambda a: lax.pad(jnp.pad(a, 1), 0.5, [(-1, 2, 0), (1, -2, 0)]), M, name="negative"),
    example("pad", lambda a: lax.pad(a, 1.5, [(1, 0, 1), (-1, 2, 2)]) ** 2, M, name="interior"),
    example("dynamic_slice", lambda x, k: lax.dynamic_slice(twice(x), (k[0],), (2,)), X, K),
    example(
        "dynamic_slice",
        lambda a, k: lax.dynamic_slice(jnp.tile(a, (2, 2)), (k[0], k[-1]), (2, 2)),
        M,
        K,
        name="both axes",
    ),
    example(
        "dynamic_update_slice",
        lambda a, k: lax.dynamic_update_slice(jnp.tile(a, (2, 2)), a[:1], (k[0], k[-1])),
        M,
        K,
    ),
    example("tile", lambda a: jnp.tile(a, (2, 3)), M),
    example("tile", lambda a: jnp.sum(jnp.tile(a, (2, 3)) ** 2, axis=1), M, name="and summed"),
]

WINDOWS: list[Example] = [
    example(
        "reduce_window_sum",
        lambda a, padding, window: lax.reduce_window(a, 0.0, lax.add, window, (1, 1), padding),
        M,
        padding=("SAME", "VALID", ((1, 0), (0, 2))),
        window=((2, 2), (1, 2)),
        smallest=2,
    ),
    example(
        "reduce_window_sum",
        lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 3), (2, 1), ((1, 2), (0, 3)), (2, 3), (2, 1)) ** 2,
        M,
        name="in full",
    ),
    example(
        "conv_general_dilated",
        lambda a, b: conv(a[None], b[..., None] * jnp.arange(1.0, 3.0), (1,), ((1, 1),)),
        M,
        N,
    ),
    example(
        "conv_general_dilated",
        lambda a, b: conv(jnp.tile(a, (1, 4))[None], jnp.tile(b[..., None], (2, 1, 2)), (2,), ((2, 1),), (2,), (3,)),
        M,
        N,
        name="in full",
    ),
    example(
        "conv_general_dilated",
        lambda a, b: conv(jnp.tile(a, (2, 3))[None], jnp.tile(b, (4, 1))[..., None], (1,), groups=2),
        M,
        N,
        name="feature groups",
    ),
    example(
        "conv_general_dilated",
        lambda s: conv(jnp.tile(s[:, :, None], (2, 1, 3)), jnp.tile(s.T[:, :, None], (2, 1, 1)), (1,), batches=2),
        S,
        name="batch groups",
    ),
    example(
        "conv_general_dilated",
        lambda a, b: lax.conv_general_dilated(
            a[:, None, :], b[:, :, None], (1,), ((1, 1),), dimension_numbers=("CNH", "HIO", "HCN")
        ),
        M,
        N,
        name="another layout",
    ),
    example("cumsum", lambda a, axis, reverse: lax.cumsum(a, axis, reverse=reverse), M, axis=(0, 1), reverse=(0, 1)),
    example("cumsum", lambda x: jnp.sum(lax.cumsum(x) * jnp.arange(x.shape[0])), X, name="summed"),
]

PARTS: list[Example] = [
    example("stack", lambda x, y, axis: jnp.stack([x, y, x * y], axis), X, Y, axis=(0, 1)),
    example("unstack", lambda a, part: jnp.unstack(jnp.tile(a, (1, 2))[:, :2], axis=1)[part], M, part=(0, 1)),
    example("platform_index", lambda s: jnp.diagonal(s) ** 2, S),
]

RESHAPES: list[Example] = [
    example("reshape", lambda a: a.reshape(-1) * 2, M, name="merging"),
    example("reshape", lambda a, b: a.reshape(b.shape) * b, M, N, name="merging and splitting"),
    example("reshape", lambda a: jnp.exp(a.T.reshape(-1)), M, name="of a transpose"),
    example(
        "reshape",
        lambda a, x: (a[None] * x[:, None, None]).reshape(x.shape[0], -1).sum(0),
        M,
        X,
        name="three axes",
    ),
    example("reshape", lambda a: lax.reshape(a, (a.shape[0] * a.shape[1],), dimensions=(1, 0)), M, name="permuted"),
    example("reshape", lambda x: (x[:, None] * jnp.arange(6.0)).reshape(-1, 3, 2).sum(1), X, name="numbers"),
]

GATHERS: list[Example] = [
    example("gather", lambda a, k: a[k], M, K),
    example("gather", lambda a, k: jnp.take(a, k, axis=0, mode="clip"), M, K, name="clipped"),
    example("gather", lambda a, k: jnp.take(a, k, axis=1), M, K, name="filled"),
    example("gather", lambda a, k: a.at[k].get(mode="fill", fill_value=2), M, K, name="filled with a number"),
    example("gather", lambda x, k: jnp.exp(jnp.take(x, k, fill_value=-jnp.inf)), X, K, name="filled with infinity"),
    example("gather", lambda a, k: (a > 0).at[k, 0].get(mode="fill"), M, K, name="filled with truth"),
    example("gather", lambda a, k: jnp.take_along_axis(a, k[:, None], axis=1), M, K, name="along an axis"),
    example("gather", lambda a, k: a[k, k[0]], M, K, name="two indices"),
    example(
        "gather", lambda x, k: jax.vmap(lambda i: lax.dynamic_slice(twice(x), (i,), (2,)))(k), X, K, name="of windows"
    ),
    example(
        "gather",
        lambda a: jnp.tile(a, (1, 3))[jnp.arange(3), jnp.arange(3)],
        M,
        name="a diagonal",
        smallest=3,
    ),
    example("scatter-add", lambda a, k, b: a.at[k].add(b.T), M, K, N),
    example("scatter-add", lambda a, k, b: a.at[k].add(b.T, mode="clip"), M, K, N, name="clipped"),
    example("scatter-add", lambda x, k: jax.ops.segment_sum(x, k, num_segments=2), X, K, name="segments"),
    example(
        "scatter-add", lambda a, k, x: a.at[jnp.arange(a.shape[0]), k].add(x), M, K, X, name="along an axis"
    ),
    example("scatter-sub", lambda a, k, b: a.at[k].subtract(b.T), M, K, N),
    example("scatter-max", lambda x, k, y: x.at[k[0]].max(y[0]), X, K, Y),
    example("scatter-max", lambda x, k, y: x.at[k].max(y), X, K, Y, name="several"),
    example("scatter-min", lambda x, k, y: x.at[k].min(y), X, K, Y, name="several"),
    example("scatter-max", lambda a, k, b: a.at[k[0]].max(b[:, 0]), M, K, N, name="a row"),
    example("scatter-max", lambda x, k, y: (x > 0).at[k].max(y > 1), X, K, Y, name="of truths"),
    example("scatter-min", lambda x, k, y: (x > 0).at[k].min(y > 1), X, K, Y, name="of truths"),
    example("scatter-min", lambda x, k, y: x.at[k[0]].min(y[0], mode="clip"), X, K, Y, name="clipped"),
    example("scatter-mul", lambda a, k, x: a.at[k[0], 1].mul(x[0]), M, K, X, smallest=2),
    example("scatter-mul", lambda x, k, y: x.at[k].mul(y), X, K, Y, name="several", refused=True, derivative=False),
    example("scatter", lambda a, k, x: a.at[k[0], 1].set(x[0]), M, K, X, smallest=2),
    example("scatter", lambda a, k, b: a.at[k[0]].set(b[:, 0]), M, K, N, name="a row"),
    example("scatter", lambda x, k, y: x.at[k].set(y), X, K, Y, name="several", refused=True),
    example("scatter", lambda x, k: x.at[jnp.array([k[0], k[0] - 1])].set(2.0), X, K, name="twice", refused=True),
    example(
        "scatter",
        lambda x, k: x.at[k[0] + jnp.arange(2)].set(jnp.arange(2.0), wrap_negative_indices=False),
        X,
        K,
        name="one after another",
    ),
    example(
        "clamp",
        lambda x, k: x * jnp.clip(k, 0, 1) + jnp.where(k == 1, k, -k),
        X,
        K,
        name="integers, and choose",
    ),
    example("div", lambda x: x * lax.div(jnp.arange(x.shape[0]), 2), X, name="indices"),
    example("gather", lambda a, k: jnp.sum(a * jax.nn.one_hot(k, a.shape[1]), axis=1), M, K, name="one_hot"),
    example(
        "iota",
        lambda a: jax.nn.softmax(jnp.where(jnp.tri(a.shape[0], dtype=bool), a @ a.T, -9.0)),
        M,
        name="a causal mask",
    ),
]  # fmt: skip

INDICES: list[Example] = [*SLICES, *WINDOWS, *PARTS, *RESHAPES, *GATHERS]
