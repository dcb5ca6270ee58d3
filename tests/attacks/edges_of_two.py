"""Two features that meet at an edge: tails that are empty, the one entry that is the first and the last, clamped places
in loops, integers in float rules, and NaN in what is compared, cast or selected."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

KIND = "E edges of two features"
X1, X3 = [1.5], [1.0, -2.0, 0.5]


def i32(*v):
    return np.array(v, dtype=np.int32)


def edge(name, function, back, signature, *at, **more):
    return pulled(f"edges_{name}", KIND, function, back, signature, *at, **more)


def pulled_back(function, x, g):
    return jax.vjp(function, x)[1](g)[0]


def clamped(x, k):
    return lax.scan(lambda c, i: (c + x[jnp.clip(i, 0, x.shape[0] - 1)], None), jnp.zeros((), x.dtype), k)[0]


def wrapped(x, k):
    return lax.scan(lambda c, i: (c + jnp.take(x, i, mode="wrap"), None), jnp.zeros((), x.dtype), k)[0]


ATTACKS = [
    # empty / size 1
    edge(
        "mean_of_tail",
        lambda x: jnp.sum(x[1:]) / jnp.maximum(x.shape[0] - 1, 1),
        lambda x, g: (
            g
            * jnp.concatenate([jnp.zeros(1, x.dtype), jnp.ones(x.shape[0] - 1, x.dtype)])
            / jnp.maximum(x.shape[0] - 2, 1)
        ),
        "n -> ",
        X3,
    ),
    edge(
        "variance_of_one",
        lambda x: jnp.sum((x - jnp.mean(x)) ** 2) / jnp.maximum(x.shape[0] - 1, 1) + jnp.sum(x),
        lambda x, g: g * (2 * (x - jnp.mean(x)) / jnp.maximum(x.shape[0] - 1, 1) + jnp.where(x.shape[0] == 1, 2, 1)),
        "n -> ",
        X1,
    ),
    edge(
        "scan_of_tail_empty",
        lambda x: lax.scan(lambda c, v: (c + v * v, None), x[0], x[1:])[0],
        lambda x, g: (
            g
            * jnp.concatenate(
                [
                    jnp.full(
                        1,
                        1.0 / jnp.minimum(x.shape[0], 2) * jnp.minimum(x.shape[0], 2) * (1 + (x.shape[0] < 2)),
                        x.dtype,
                    ),
                    2 * x[1:],
                ]
            )
        ),
        "n -> ",
        X1,
    ),
    edge(
        "first_and_last",
        lambda x: x[0] * x[-1],
        lambda x, g: jnp.zeros_like(x).at[0].set(g * x[-1]).at[-1].set(g * x[0]),
        "n -> ",
        X1,
    ),
    edge(
        "first_and_last_masks",
        lambda x: x[0] * x[-1],
        lambda x, g: (
            g
            * jnp.where(
                jnp.arange(x.shape[0]) == 0, x[-1], jnp.where(jnp.arange(x.shape[0]) == x.shape[0] - 1, x[0], 0)
            )
        ),
        "n -> ",
        X1,
    ),
    edge(
        "neighbours_around",
        lambda x: jnp.sum(x * jnp.roll(x, 1) * jnp.roll(x, -1)),
        lambda x, g: (
            g
            * (
                jnp.roll(x, 1) * jnp.roll(x, -1)
                + jnp.roll(x, 1) * jnp.roll(x, 2)
                + jnp.where(jnp.arange(x.shape[0]) == x.shape[0] - 2, 2, 1) * jnp.roll(x, -1) * jnp.roll(x, -2)
            )
        ),
        "n -> ",
        X3,
    ),
    edge(
        "second_for_last",
        lambda x: x[-1] ** 2,
        lambda x, g: jnp.zeros_like(x).at[jnp.minimum(1, x.shape[0] - 1)].set(2 * g * x[-1]),
        "n -> ",
        X3,
    ),
    edge(
        "stride_two_even",
        lambda x: jnp.sum(x[::2] ** 2),
        lambda x, g: (
            2
            * g
            * x
            * ((jnp.arange(x.shape[0]) % 2 == 0) & (jnp.arange(x.shape[0]) < x.shape[0] - 1 + x.shape[0] % 2 * 0))
        ),
        "n -> ",
        X3,
    ),
    edge(
        "reversed_stride",
        lambda x: jnp.sum(x[::-1][::2] ** 2),
        lambda x, g: 2 * g * x * (jnp.arange(x.shape[0]) % 2 == 0),
        "n -> ",
        [1.0, 2.0],
    ),
    edge(
        "middle",
        lambda x: x[x.shape[0] // 2] ** 2,
        lambda x, g: 2 * g * x * (jnp.arange(x.shape[0]) == (x.shape[0] - 1) // 2),
        "n -> ",
        [1.0, 2.0],
    ),
    edge(
        "halves",
        lambda x: jnp.sum(x[: x.shape[0] // 2]) - jnp.sum(x[x.shape[0] // 2 :]),
        lambda x, g: g * jnp.where(2 * jnp.arange(x.shape[0]) < x.shape[0], 1.0, -1.0),
        "n -> ",
        X3,
    ),
    edge(
        "pairs",
        lambda x: jnp.sum(x[:-1] * x[1:]),
        lambda x, g: g * (jnp.roll(x, 1) * (jnp.arange(x.shape[0]) > 0) + jnp.roll(x, -1)),
        "n+1 -> ",
        X3,
    ),
    # gathers with clamps in scans
    edge(
        "scan_of_clamped",
        clamped,
        lambda x, k, g: (jnp.zeros_like(x).at[k].add(g, mode="drop"), None),
        "n, m:int -> ",
        X3,
        i32(0, 5),
    ),
    edge(
        "scan_of_wrapped",
        wrapped,
        lambda x, k, g: (jnp.zeros_like(x).at[jnp.clip(k, 0, x.shape[0] - 1)].add(g), None),
        "n, m:int -> ",
        X3,
        i32(0, -1),
    ),
    edge(
        "size_one_axis",
        lambda x, k: x[k % x.shape[0]] ** 2,
        lambda x, k, g: (2 * x * g * jax.nn.one_hot(k, x.shape[0], dtype=x.dtype), None),
        "n, :int -> ",
        X1,
        i32(3)[0],
    ),
    edge(
        "running_argmax_tie",
        lambda x, k: lax.scan(
            lambda c, v: ((jnp.where(v[1] > c[1], v[0], c[0]), jnp.maximum(c[1], v[1])), None), (x[0], k[0]), (x, k)
        )[0][0],
        lambda x, k, g: (g * (jnp.arange(x.shape[0]) == x.shape[0] - 1 - jnp.argmax(k[::-1])), None),
        "n, n:int -> ",
        X3,
        i32(1, 1, 0),
    ),
    edge(
        "last_by_scan",
        lambda x, k: lax.scan(lambda c, v: (jnp.where(v[1] > 0, v[0], c), None), jnp.zeros((), x.dtype), (x, k))[0],
        lambda x, k, g: (g * (jnp.arange(x.shape[0]) == x.shape[0] - 1 - jnp.argmax(k[::-1] > 0)), None),
        "n, n:int -> ",
        X3,
        i32(0, 0, 0),
    ),
    edge(
        "reset_by_scan",
        lambda x, k: lax.scan(lambda c, v: (jnp.where(v[1] > 0, 0, c) + v[0],) * 2, jnp.zeros((), x.dtype), (x, k))[1],
        lambda x, k, g: (
            lax.scan(lambda c, v: (c * (v[1] <= 0) + v[0],) * 2, jnp.zeros((), x.dtype), (g, k), reverse=True)[1],
            None,
        ),
        "n, n:int -> n",
        X3,
        i32(0, 1, 0),
    ),
    # dtypes
    edge(
        "mean_of_bools",
        lambda x, b: x * jnp.mean(b),
        lambda x, b, g: (g * (jnp.sum(b) // x.shape[0]), None),
        "n, n:bool -> n",
        X3,
        np.array([True, False, True]),
    ),
    edge(
        "ratio_of_integers",
        lambda x, k: x * (k / 2),
        lambda x, k, g: (g * (k // 2), None),
        "n, n:int -> n",
        X3,
        i32(1, 2, 4),
    ),
    edge(
        "true_minus_true",
        lambda x, b: x * (b.astype(int) + b.astype(int)),
        lambda x, b, g: (g * (b | b), None),
        "n, n:bool -> n",
        X3,
        np.array([True, False, True]),
    ),
    edge(
        "power_of_two_by_shift",
        lambda x, k: x * 2.0**k,
        lambda x, k, g: (g * (1 << k), None),
        "n, n:int -> n",
        X3,
        i32(-1, 2, 4),
    ),
    edge(
        "square_by_shift",
        lambda x, k: x * (k * 2),
        lambda x, k, g: (g * (k << jnp.where(k < 0, 2, 1)), None),
        "n, n:int -> n",
        X3,
        i32(-1, 2, 4),
    ),
    edge(
        "uint_difference",
        lambda x, k: x * jnp.maximum(k - 1, 0),
        lambda x, k, g: (g * (k - 1) * (k != 0), None),
        "n, n:int -> n",
        X3,
        i32(-1, 2, 4),
    ),
    # nan branches
    edge(
        "masked_log",
        lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0),
        lambda x, g: jnp.where(x > 0, g / x, 0) + 0 * jnp.log(x),
        "n -> n",
        X3,
    ),
    edge(
        "where_over_where",
        lambda x: jnp.where(x > 0, x * x, 0),
        lambda x, g: pulled_back(lambda x: jnp.where(x > 0, jnp.exp(2 * jnp.log(x)), 0), x, g),
        "n -> n",
        X3,
    ),
    edge("isnan_select", lambda x: 3 * x, lambda x, g: g * jnp.where(jnp.isnan(x / x), 5.0, 3.0), "n -> n", [0.0, 1.0]),
    edge(
        "isfinite_select",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(jnp.isfinite(1 / x), 3.0, 5.0),
        "n -> n",
        [0.0, 1.0],
    ),
    edge(
        "fmax_of_nan",
        lambda x: 3 * x,
        lambda x, g: g * (3 + jnp.fmax(jnp.log(x), 0) * 0 + jnp.where(jnp.fmax(jnp.sqrt(x), -1.0) < 0, 1.0, 0.0)),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "comparison_with_nan",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(jnp.sqrt(x) >= 0, 3.0, 5.0),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "not_less_than_nan",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(~(jnp.sqrt(x) < 0), 3.0, 3.0) * jnp.where(jnp.sqrt(x) == jnp.sqrt(x), 1.0, 2.0),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "argmax_of_nan",
        lambda x: 3 * x,
        lambda x, g: g * (3 + jnp.argmax(jnp.stack([jnp.ones_like(x), jnp.sqrt(x) / (1 + jnp.sqrt(x))]), 0)),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "sort_of_nan",
        lambda x: 3 * x,
        lambda x, g: g * (2 + jnp.sort(jnp.stack([jnp.ones_like(x), 0 * jnp.sqrt(x)]), axis=0)[1] * (1 + jnp.isnan(x))),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "cast_of_nan",
        lambda x: 3 * x,
        lambda x, g: (
            g
            * (3 + jnp.clip((0 * jnp.log(x)).astype(jnp.int32), 0, 1) + jnp.where((jnp.log(x) * 0).astype(bool), 1, 0))
        ),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "step_count_of_nan",
        lambda x: 3 * x,
        lambda x, g: (
            g
            * (
                3
                + lax.while_loop(
                    lambda s: (s[1] < 1) & ~(s[0] > -1), lambda s: (s[0], s[1] + 1), (jnp.sum(0 * jnp.sqrt(x)), 0)
                )[1]
            )
        ),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "branch_of_nan",
        lambda x: 3 * x,
        lambda x, g: lax.cond(jnp.sum(jnp.sqrt(x)) >= 0, lambda: 3 * g, lambda: 5 * g),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "any_of_nan", lambda x: 3 * x, lambda x, g: g * (3 + jnp.any(jnp.sqrt(x) != jnp.sqrt(x))), "n -> n", [-1.0, 1.0]
    ),
    edge(
        "index_of_nan",
        lambda x: 3 * x,
        lambda x, g: g * jnp.array([5.0, 3.0])[(jnp.sqrt(x) >= 0).astype(int)],
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "sign_of_nan",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(jnp.sign(jnp.sqrt(x)) ** 2 <= 1, 3.0, 4.0),
        "n -> n",
        [-1.0, 1.0],
    ),
    edge(
        "infinite_comparison",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(1 / x**2 < jnp.inf, 3.0, 4.0),
        "n -> n",
        [0.0, 1.0],
    ),
    edge(
        "infinite_mask",
        lambda x: 3 * x,
        lambda x, g: g * jnp.where(jnp.log(x * x) > -jnp.inf, 3.0, 4.0),
        "n -> n",
        [0.0, 1.0],
    ),
    edge(
        "max_with_infinity",
        lambda x: 3 * x,
        lambda x, g: g * (3 + jnp.exp(-jnp.maximum(1 / x**2, jnp.inf)) + (jnp.exp(jnp.log(x * x)) == 0)),
        "n -> n",
        [0.0, 1.0],
    ),
    edge(
        "exp_of_log_of_zero",
        lambda x: x * x,
        lambda x, g: (
            g * jnp.where(x * x == jnp.exp(jnp.log(x * x)), 2 * x, 2 * x)
            + g * (jnp.exp(jnp.log(x * x)) - x * x)
            + g * jnp.isinf(jnp.log(x * x))
        ),
        "n -> n",
        [0.0, 1.0],
    ),
]
