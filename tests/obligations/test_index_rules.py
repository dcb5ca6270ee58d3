"""JAX's own rules of functions that slice, pad, gather, scatter and convolve: proved for all shapes, as they run."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from certgrad.signatures.signature import parse

from .traps import declare, hypotheses


def by_jax(signature, f):
    """An op whose rules are `jax.jvp` and `jax.vjp` of its forward."""
    inputs = parse(signature).inputs
    floats = [k for k, spec in enumerate(inputs) if spec.dtype == "float"]

    def of_floats(args):
        return lambda *xs: f(*[xs[floats.index(k)] if k in floats else args[k] for k in range(len(inputs))])

    def jvp(*args):
        args, tangents = args[: len(inputs)], args[len(inputs) :]
        return jax.jvp(of_floats(args), tuple(args[k] for k in floats), tangents)[1]

    def vjp(*args):
        args, seeds = args[: len(inputs)], args[len(inputs) :]
        back = jax.vjp(of_floats(args), *(args[k] for k in floats))[1]
        cotangents = back(seeds[0] if len(seeds) == 1 else seeds)
        return cotangents if len(floats) > 1 else cotangents[0]

    return declare(signature, f, jvp, vjp)


def conv(*args, **options):
    return lambda x, k: lax.conv_general_dilated(x, k, *args, **options)


def attention(mask):
    def attend(q, k, v):
        return jax.nn.softmax(jnp.where(mask(q.shape[0]), q @ k.T, -1e9)) @ v

    return attend


def heads(x, w):
    split = x.reshape(x.shape[0], -1, w.shape[0])
    scores = jax.nn.softmax(jnp.einsum("nhd,mhd->hnm", split * w, split))
    return jnp.einsum("hnm,mhd->nhd", scores, split).reshape(x.shape)


def rotated(x):
    half = x.shape[1] // 2
    return jnp.concatenate([-x[:, half:], x[:, :half]], 1) * x


def cross_entropy(z, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1))


def cross_entropy_ignoring(z, y):
    """Labels below 0 are left out."""
    kept = y >= 0
    picked = jnp.take_along_axis(jax.nn.log_softmax(z), jnp.where(kept, y, 0)[:, None], axis=1)[:, 0]
    return -jnp.sum(jnp.where(kept, picked, 0.0))


FREE = {
    "slice": ("n+2 -> n", lambda x: x[1:-1] * x[2:] * x[:-2]),
    "strided slice": ("2*n -> n", lambda x: x[::2] ** 2),
    "differences": ("n+1 -> n", lambda x: x[1:] - x[:-1]),
    "pad": ("n -> n+3", lambda x: jnp.exp(jnp.pad(x, (1, 2)))),
    "negative and interior pad": ("n -> 2*n-1", lambda x: lax.pad(x, 1.0, [(-1, 1, 1)]) ** 2),
    "Laplacian": ("n m -> n m", lambda x: (jnp.pad(x, 1)[2:, 1:-1] + jnp.pad(x, 1)[:-2, 1:-1] - 2 * x) ** 2),
    "concatenate": ("n, m -> n+m", lambda x, y: jnp.concatenate([x, y]) ** 2),
    "split": ("2*n -> n, n", lambda x: tuple(jnp.split(x**2, 2))),
    "stack": ("n, n -> 2 n", lambda x, y: jnp.stack([x, y]) ** 2),
    "unstack": ("2 n -> n", lambda x: x[0] * x[1]),
    "interleave": ("n 2*d -> n 2*d", lambda x: jnp.stack([x[:, ::2] ** 2, x[:, 1::2]], -1).reshape(x.shape)),
    "rotate half": ("n 2*d -> n 2*d", rotated),
    "reverse": ("n -> n", lambda x: x * x[::-1]),
    "roll": ("n -> n", lambda x: jnp.roll(x, 1) * x),
    "cumulative sum": ("n -> n", lambda x: jnp.cumsum(x) ** 2),
    "cumulative sum, reversed": ("n -> n", lambda x: lax.cumsum(jnp.exp(x), reverse=True)),
    "cumulative mean": ("n -> n", lambda x: jnp.cumsum(x) / (1 + jnp.arange(x.shape[0]))),
    "sum of a cumulative sum": ("n -> ", lambda x: jnp.sum(jnp.cumsum(x))),
    "tril": ("n n -> n n", lambda x: jnp.tril(x) ** 2),
    "triu": ("n m -> n m", lambda x: jnp.triu(x, 1) ** 2),
    "band": (
        "n m -> n m",
        lambda x: jnp.where(abs(jnp.arange(x.shape[0])[:, None] - jnp.arange(x.shape[1])) <= 2, x, 0.0) ** 2,
    ),
    "diag": ("n -> n n", lambda x: jnp.diag(x)),
    "diagonal": ("n n -> n", lambda x: jnp.diagonal(x) ** 2),
    "trace": ("n n -> ", lambda x: jnp.trace(x) ** 2),
    "tile": ("n -> 3*n", lambda x: jnp.tile(x, 3) ** 2),
    "repeat": ("n -> 3*n", lambda x: jnp.repeat(x, 3) ** 2),
    "merging reshape": ("n d -> n*d", lambda x: x.reshape(-1) ** 2),
    "splitting reshape": ("n*d, n d -> n d", lambda x, y: x.reshape(y.shape) * y),
    "multi-head attention": ("n h*d, d -> n h*d", heads),
    "dynamic slice": ("n, :int -> 1", lambda x, i: lax.dynamic_slice(x, (i,), (1,)) ** 2),
    "dynamic index": ("n, :int -> ", lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False) ** 2),
    "dynamic update": ("n+1, :int, 2 -> n+1", lambda x, i, u: lax.dynamic_update_slice(x, u, (i,)) ** 2),
    "one-hot": ("n d, n:int -> n", lambda w, i: jnp.sum(w * jax.nn.one_hot(i, w.shape[1]), axis=1)),
    "embedding by one-hot": ("n d, m:int -> m d", lambda w, i: jax.nn.one_hot(i, w.shape[0]) @ w),
    "take, clipped": ("n d, m:int -> m d", lambda w, i: jnp.take(w, i, axis=0, mode="clip")),
    "conv1d": ("b c n, c o 3 -> b o n", conv((1,), "SAME", dimension_numbers=("NCH", "IOH", "NCH"))),
    "conv2d": ("b c h w, o c 3 3 -> b o h w", conv((1, 1), "SAME")),
    "conv2d, strided, padded, dilated, grouped": (
        "b 2*c 2*h+3 2*w+3, 2*o c 3 3 -> b 2*o h+1 w+1",
        conv((2, 2), ((1, 1), (1, 1)), rhs_dilation=(2, 2), feature_group_count=2),
    ),
    "conv2d, another layout": (
        "b 2*h w 2*c, 3 3 c 2*o -> b h w+2 2*o",
        conv((2, 1), ((0, 1), (3, 1)), feature_group_count=2, dimension_numbers=("NHWC", "HWIO", "NHWC")),
    ),
    "conv2d, dilated operand": (
        "b c h w, o c 3 3 -> b o 2*h+1 2*w+1",
        conv((1, 1), ((2, 2), (2, 2)), lhs_dilation=(2, 2)),
    ),
    "convolution, batch groups": ("2*b c n, 2*o c 3 -> b 2*o n", conv((1,), "SAME", batch_group_count=2)),
    "transposed convolution": (
        "b n c, 4 c o -> b 2*n o",
        lambda x, k: lax.conv_transpose(x, k, (2,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")),
    ),
    "average pool": (
        "b h w c -> b h w c",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9,
    ),
    "average pool, strided": (
        "b 2*h 2*w c -> b h w c",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4,
    ),
    "pool, dilated": (
        "n -> n",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (1,), ((2, 2),), window_dilation=(2,)) ** 2,
    ),
    "causal attention": ("n d, n d, n d -> n d", attention(lambda n: jnp.tri(n, dtype=bool))),
    "causal attention by positions": (
        "n d, n d, n d -> n d",
        attention(lambda n: jnp.arange(n)[:, None] >= jnp.arange(n)[None, :]),
    ),
    # Beyond the array JAX drops an update, and gathers 0 for its cotangent.
    "scatter-add, repeated rows": ("n d, m:int, m d -> n d", lambda x, i, u: x.at[i].add(u) ** 2),
    "segment sum": (
        "m d, m:int, n -> n d",
        lambda u, i, x: jax.ops.segment_sum(u, i, num_segments=x.shape[0]),
    ),
    "set one entry": ("n, :int, -> n", lambda x, i, u: x.at[i].set(u) ** 2),
    "cross-entropy by one-hot": (
        "n d, n:int -> ",
        lambda z, y: -jnp.mean(jnp.sum(jax.nn.log_softmax(z) * jax.nn.one_hot(y, z.shape[1]), axis=1)),
    ),
}  # fmt: skip
"""Rows of the corpus."""

IN_RANGE = {
    "embedding": ("n d, m:int -> m d", lambda w, i: w[i], {"i ≤ n − 1", "i ≥ −n"}),
    "take": ("n d, m:int -> m d", lambda w, i: jnp.take(w, i, axis=0), {"i ≤ n − 1", "i ≥ −n"}),
    "take_along_axis": (
        "n d, n:int -> n",
        lambda w, i: jnp.take_along_axis(w, i[:, None], axis=1)[:, 0],
        {"i ≤ d − 1", "i ≥ −d"},
    ),
    "two index arrays": (
        "n m, k:int, k:int -> k",
        lambda x, i, j: x[i, j] ** 2,
        {"i ≤ n − 1", "i ≥ −n", "j ≤ m − 1", "j ≥ −m"},
    ),
    "cross-entropy": ("n d, n:int -> ", cross_entropy, {"y ≤ d − 1", "y ≥ −d"}),
    "cross-entropy, labels left out": ("n d, n:int -> ", cross_entropy_ignoring, {"y ≤ d − 1"}),
}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", IN_RANGE)
def test_proved_for_indices_in_range(name):
    signature, f, expected = IN_RANGE[name]
    certificate = audit(by_jax(signature, f))
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert hypotheses(certificate) == expected
