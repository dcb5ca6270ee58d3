"""Examples of the primitives that move entries, and of those that reduce and contract them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real, truth

X = real("x", "n")
Y = real("y", "n")
P = truth("p", "n")
Q = truth("q", "n")
M = real("a", "n m")
N = real("b", "m n")
T = real("t", "n m k")

MOVES: list[Example] = [
    example("transpose", lambda a, order: jnp.transpose(a, order), T, order=((0, 2, 1), (2, 1, 0), (1, 2, 0))),
    example("transpose", lambda a, b: a + b.T, M, N, name="and add"),
    example("reshape", lambda a: a.reshape(a.shape[0], 1, a.shape[1]), M, name="an axis of size 1"),
    example("squeeze", lambda a: jnp.squeeze(a[:, None, :], 1), M),
    example("expand_dims", lambda x, axis: jnp.expand_dims(x, axis), M, axis=(0, 1, 2, -1)),
    example("broadcast_in_dim", lambda a, x: a * x[:, None], M, X),
    example("broadcast_in_dim", lambda x, y: x[:, None] - y[None, :], X, Y, name="a square"),
    example("concatenate", lambda x, y: jnp.concatenate([x, y, x * y]), X, Y),
    example("concatenate", lambda x, y: jnp.sum(jnp.concatenate([x, y]) ** 2), X, Y, name="and sum"),
    example(
        "concatenate", lambda a, b: jnp.sum(jnp.concatenate([a.T, b * b], axis=1), axis=1), M, N, name="sum one axis"
    ),
    example("split", lambda x, y, part: jnp.split(jnp.concatenate([x, y]), 2)[part], X, Y, part=(1, 0)),
    example("slice", lambda x: lax.slice_in_dim(jnp.concatenate([x, 2 * x]), 1, x.shape[0] + 1), X),
    example("iota", lambda x: x * jnp.arange(x.shape[0]), X),
    example(
        "iota",
        lambda a: jnp.where(jnp.arange(a.shape[0])[:, None] >= jnp.arange(a.shape[1])[None, :], a, 0.0),
        M,
        name="compared",
    ),
    example("iota", lambda x: jnp.sum(jnp.where(jnp.arange(x.shape[0]) < 1, x, 2 * x)), X, name="compared and summed"),
    example(
        "iota",
        lambda x: (lax.broadcasted_iota(float, x.shape, 0) * 0.5).astype(int) * x,
        X,
        name="of floats, cast",
        refused=True,
    ),
    example("dim_as_value", lambda a: a / a.shape[0] + a.shape[1] ** 2, M),
]


def softmax(a):
    powers = jnp.exp(a - jnp.max(a, axis=1, keepdims=True))
    return powers / jnp.sum(powers, axis=1, keepdims=True)


REDUCTIONS: list[Example] = [
    example("reduce_sum", lambda a, axis: jnp.sum(a, axis=axis), T, axis=(0, 1, (0, 2), None)),
    example("reduce_sum", lambda a: jnp.sum(a * a) ** 2, M, name="all, squared"),
    example("reduce_sum", lambda p: jnp.sum(p), P, name="of booleans"),
    example("reduce_sum", lambda a, x: jnp.sum(a * 0 + x[:, None], axis=1), M, X, name="of what does not depend"),
    example("reduce_max", lambda a, axis: jnp.max(a, axis=axis), M, axis=(1, 0, None)),
    example("reduce_max", lambda a, x: jnp.max(a + x[:, None], axis=1), M, X, name="of a sum"),
    example("reduce_min", lambda a, axis: jnp.min(a, axis=axis), M, axis=(0, 1, None)),
    example("reduce_or", lambda a, axis: jnp.any(a > 0, axis=axis), M, axis=(0, 1, None)),
    example("reduce_and", lambda a, axis: jnp.all(a > 0, axis=axis), M, axis=(0, 1, None)),
    example("reduce_xor", lambda p: lax.reduce_xor(p, (0,)), P),
    example("dot_general", lambda a, b: a @ b, M, N),
    example("dot_general", lambda a, b: b @ a, M, N, name="other side"),
    example("dot_general", lambda a, b: jnp.einsum("ij,ji->", a, b), M, N, name="both axes"),
    example("dot_general", lambda a, b: a @ b @ a, M, N, name="a chain"),
    example("dot_general", lambda a, b: jnp.einsum("ij,ji->i", a, b), M, N, name="batched"),
    example("dot_general", lambda a, b: jnp.einsum("ijk,jil->jkl", a, b), T, real("b", "m n l"), name="layouts"),
    example("dot_general", lambda p, q: lax.dot(p, q), P, Q, name="of booleans", refused=True),
]

COMPOSED: list[Example] = [
    example("exp", softmax, M, name="softmax"),
    example("reduce_sum", lambda a: jnp.var(a, axis=0), M, name="variance"),
    example(
        "select_n",
        lambda x, y: jnp.where(x > y, jnp.where(y > 0, x / y, x), jnp.sqrt(jnp.abs(x))),
        X,
        Y,
        name="nested",
    ),
    example("log", lambda a: jnp.log(jnp.sum(jnp.exp(a), axis=0)), M, name="of a sum of exponentials"),
    example("exp", lambda x: jax.nn.softplus(x) + jax.nn.gelu(x) + jax.nn.log_sigmoid(x), X, name="activations"),
    example("lt", lambda x: jnp.where(jnp.isinf(x) | (x < -jnp.inf), 0.0, x), X, name="infinities"),
]
