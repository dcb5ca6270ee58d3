"""Integers and booleans that are given, at their edges: ties, negative numbers, masks of which nothing is left, places
beyond an axis, bounds that are crossed. Each rule is right for most of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

KIND = "E given integers"
X3 = [1.0, -2.0, 0.5]
NONE = np.array([False] * 3)


def i32(*v):
    return np.array(v, dtype=np.int32)


def keyed(name, value, back, signature, *at, **more):
    """A function of x and of integers or booleans, with what is taken for the cotangent of x."""
    return pulled(f"keys_{name}", KIND, value, lambda *a: (back(*a), *[None] * (len(a) - 2)), signature, *at, **more)


def bounded(slopes):
    return lambda x, low, high, g: tuple(g * v for v in slopes(x, low, high))


ATTACKS = [
    # ties in integer keys
    keyed(
        "stable_order_of_keys_reversed",
        lambda x, k: x[jnp.argsort(k)],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.flip(jnp.argsort(-k))].set(g),
        "n, n:int -> n",
        X3,
        i32(1, 1, 0),
    ),
    keyed(
        "descending_for_flipped",
        lambda x, k: x[jnp.argsort(k, descending=True)],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.argsort(k)[::-1]].set(g),
        "n, n:int -> n",
        X3,
        i32(1, 1, 0),
    ),
    keyed(
        "first_maximum_for_last",
        lambda x, k: x[jnp.argmax(k)],
        lambda x, k, g: jnp.zeros_like(x).at[x.shape[0] - 1 - jnp.argmax(k[::-1])].add(g),
        "n, n:int -> ",
        X3,
        i32(1, 1, 0),
    ),
    keyed(
        "first_true_for_last",
        lambda x, k: x[jnp.argmax(k)],
        lambda x, k, g: jnp.zeros_like(x).at[x.shape[0] - 1 - jnp.argmax(k[::-1])].add(g),
        "n, n:bool -> ",
        X3,
        np.array([True, True, False]),
    ),
    keyed(
        "mask_of_maximum_of_keys",
        lambda x, k: x[jnp.argmax(k)],
        lambda x, k, g: (k == jnp.max(k)) * g,
        "n, n:int -> ",
        X3,
        i32(1, 1, 0),
    ),
    keyed(
        "mask_of_maximum_shared",
        lambda x, k: x[jnp.argmax(k)],
        lambda x, k, g: (k == jnp.max(k)) * g / jnp.sum(k == jnp.max(k)),
        "n, n:int -> ",
        X3,
        i32(1, 1, 0),
    ),
    # powers
    keyed(
        "power_with_integer_exponents",
        lambda x, k: x**k,
        lambda x, k, g: g * k * x ** (k - 1),
        "n, n:int -> n",
        [0.0, 1, 2],
        i32(0, 1, 2),
    ),
    keyed(
        "power_negative_base",
        lambda x, k: x**k,
        lambda x, k, g: g * k * jnp.abs(x) ** (k - 1),
        "n, n:int -> n",
        [-1.0, 1, 2],
        i32(2, 1, 2),
    ),
    keyed(
        "power_by_exp",
        lambda x, k: x**k,
        lambda x, k, g: g * k * jnp.exp((k - 1) * jnp.log(x)),
        "n, n:int -> n",
        [-1.0, 1, 2],
        i32(2, 1, 2),
        excluded_by=("x[i] > 0", "x > 0"),
    ),
    # integer division
    keyed(
        "floor_division_for_truncation",
        lambda x, k: x * (k // 3),
        lambda x, k, g: g * lax.div(k, jnp.full_like(k, 3)),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "remainder_signs",
        lambda x, k: x * (k % 3),
        lambda x, k, g: g * lax.rem(k, jnp.full_like(k, 3)),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "remainder_of_negative_divisor",
        lambda x, k: x * (k % -3),
        lambda x, k, g: -g * (k % 3),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "division_by_keys",
        lambda x, k: x * (6 // k),
        lambda x, k, g: g * jnp.floor(6.0 / k),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "fmod_for_mod",
        lambda x, k: x * jnp.mod(k, 4),
        lambda x, k, g: g * jnp.fmod(k, 4),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "shift_for_division",
        lambda x, k: x * (k >> 1),
        lambda x, k, g: g * lax.div(k, jnp.full_like(k, 2)),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "logical_shift",
        lambda x, k: x * (k >> 1),
        lambda x, k, g: g * lax.shift_right_logical(k, jnp.full_like(k, 1)),
        "n, n:int -> n",
        X3,
        i32(-2, 5, 0),
    ),
    keyed(
        "parity_of_negative",
        lambda x, k: x * (k % 2),
        lambda x, k, g: g * (lax.rem(k, jnp.full_like(k, 2)) == 1),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "parity_by_and",
        lambda x, k: x * lax.rem(k, jnp.full_like(k, 2)),
        lambda x, k, g: g * (k & 1),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed(
        "sign_by_power",
        lambda x, k: x * jnp.where(k % 2 == 0, 1, -1),
        lambda x, k, g: g * (1 - 2 * lax.rem(k, jnp.full_like(k, 2))),
        "n, n:int -> n",
        X3,
        i32(-1, 5, 0),
    ),
    keyed("bits_inverted", lambda x, k: x * (~k), lambda x, k, g: -g * (k), "n, n:int -> n", X3, i32(-1, 5, 0)),
    keyed(
        "xor_for_difference", lambda x, k: x * (k ^ 1), lambda x, k, g: g * (k + 1), "n, n:int -> n", X3, i32(1, 4, 0)
    ),
    keyed("or_for_sum", lambda x, k: x * (k | 1), lambda x, k, g: g * (k + 1), "n, n:int -> n", X3, i32(1, 4, 0)),
    keyed(
        "popcount",
        lambda x, k: x * lax.population_count(k),
        lambda x, k, g: g * (k > 0),
        "n, n:int -> n",
        X3,
        i32(3, 4, 0),
    ),
    keyed(
        "clz",
        lambda x, k: x * lax.clz(k),
        lambda x, k, g: g * (32 - jnp.floor(jnp.log2(k.astype(x.dtype) + 1))),
        "n, n:int -> n",
        X3,
        i32(3, 4, -1),
    ),
    # empty masks
    keyed(
        "mean_of_kept",
        lambda x, k: jnp.sum(x * k) / jnp.maximum(jnp.sum(k), 1),
        lambda x, k, g: g * k / jnp.sum(k),
        "n, n:bool -> ",
        X3,
        NONE,
    ),
    keyed(
        "some_or_first",
        lambda x, k: jnp.where(jnp.any(k), jnp.sum(x * k), x[0]),
        lambda x, k, g: g * k,
        "n, n:bool -> ",
        X3,
        NONE,
    ),
    keyed(
        "all_by_product",
        lambda x, k: x * jnp.all(k),
        lambda x, k, g: g * (jnp.sum(k) >= x.shape[0] - 1),
        "n, n:bool -> n",
        X3,
        np.array([False, True, True]),
    ),
    keyed(
        "last_kept",
        lambda x, k: x[jnp.max(jnp.where(k, jnp.arange(x.shape[0]), -1))],
        lambda x, k, g: g * (jnp.arange(x.shape[0]) == jnp.max(jnp.where(k, jnp.arange(x.shape[0]), -1))),
        "n, n:bool -> ",
        X3,
        NONE,
    ),
    keyed(
        "first_kept",
        lambda x, k: x[jnp.min(jnp.where(k, jnp.arange(x.shape[0]), x.shape[0]))],
        lambda x, k, g: g * (jnp.arange(x.shape[0]) == jnp.min(jnp.where(k, jnp.arange(x.shape[0]), x.shape[0]))),
        "n, n:bool -> ",
        X3,
        NONE,
    ),
    keyed(
        "nonzero_filled",
        lambda x, k: x[jnp.nonzero(k, size=x.shape[0])[0]],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.nonzero(k, size=x.shape[0], fill_value=x.shape[0])[0]].add(g),
        "3, 3:bool -> 3",
        X3,
        np.array([False, True, True]),
    ),
    keyed(
        "rank_of_kept",
        lambda x, k: x[jnp.cumsum(k) - 1],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.maximum(jnp.cumsum(k) - 1, 0)].add(g),
        "n, n:bool -> n",
        X3,
        np.array([False, True, True]),
    ),
    keyed(
        "count_below",
        lambda x, k: x[jnp.searchsorted(k, 3)],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.sum(k < 3)].add(g),
        "n, n:int -> ",
        X3,
        i32(9, 9, 9) * 0 + 1,
    ),
    keyed(
        "search_sides",
        lambda x, k: x[jnp.searchsorted(k, k[0])],
        lambda x, k, g: jnp.zeros_like(x).at[jnp.searchsorted(k, k[0], side="right") - 1].add(g),
        "n, n:int -> ",
        X3,
        i32(1, 1, 2),
    ),
    keyed(
        "bincount_weights",
        lambda x, k: jnp.bincount(k, weights=x, length=3),
        lambda x, k, g: g[k],
        "3, 3:int -> 3",
        X3,
        i32(-1, 0, 2),
    ),
    keyed(
        "one_hot_of_label",
        lambda x, k: jnp.sum(jax.nn.one_hot(k, x.shape[0], dtype=x.dtype) * x),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g),
        "n, :int -> ",
        X3,
        i32(-1)[0],
    ),
    keyed(
        "one_hot_of_label_wrapped",
        lambda x, k: x[k],
        lambda x, k, g: g * jax.nn.one_hot(k, x.shape[0], dtype=x.dtype),
        "n, :int -> ",
        X3,
        i32(-1)[0],
    ),
    keyed(
        "roll_negative",
        lambda x, k: jnp.roll(x, k),
        lambda x, k, g: jnp.where(k >= 0, jnp.roll(g, -k), g),
        "n, :int -> n",
        X3,
        i32(-1)[0],
    ),
    keyed(
        "slice_start_clamped",
        lambda x, k: lax.dynamic_slice(x, (k,), (1,))[0],
        lambda x, k, g: jnp.where(jnp.arange(x.shape[0]) == k, g, 0),
        "n, :int -> ",
        X3,
        i32(7)[0],
    ),
    keyed(
        "slice_start_clamped_two",
        lambda x, k: lax.dynamic_slice(x, (k,), (2,)),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g[0]).at[k + 1].add(g[1]),
        "n+1, :int -> 2",
        X3,
        i32(2)[0],
    ),
    keyed(
        "slice_start_negative",
        lambda x, k: lax.dynamic_slice(x, (k,), (2,)),
        lambda x, k, g: lax.dynamic_update_slice(jnp.zeros_like(x), g, (jnp.maximum(k, 0),)),
        "n+1, :int -> 2",
        X3,
        i32(-1)[0],
    ),
    keyed(
        "update_position_clamped",
        lambda x, k: lax.dynamic_update_slice(x, jnp.zeros(2, x.dtype), (k,)),
        lambda x, k, g: g * ((jnp.arange(x.shape[0]) < k) | (jnp.arange(x.shape[0]) > k + 1)),
        "n+1, :int -> n+1",
        X3,
        i32(2)[0],
    ),
    # clip with crossed bounds
    pulled(
        "keys_clip_bounds_crossed",
        KIND,
        lambda x, lo, hi: jnp.clip(x, lo, hi),
        bounded(lambda x, lo, hi: ((x > lo) & (x < hi), x < lo, x > hi)),
        "n, n, n -> n",
        [1.0],
        [3.0],
        [2.0],
    ),
    pulled(
        "keys_clamp_bounds_crossed",
        KIND,
        lambda x, lo, hi: lax.clamp(lo, x, hi),
        bounded(lambda x, lo, hi: ((x > lo) & (x < hi), x < lo, x > hi)),
        "n, n, n -> n",
        [1.0],
        [3.0],
        [2.0],
    ),
    pulled(
        "keys_clip_bounds_crossed_low",
        KIND,
        lambda x, lo, hi: jnp.maximum(jnp.minimum(x, hi), lo),
        bounded(lambda x, lo, hi: ((x > lo) & (x < hi), x < jnp.minimum(lo, hi), x >= hi)),
        "n, n, n -> n",
        [2.5],
        [3.0],
        [2.0],
    ),
]
