"""Attacks on indices: gathers, scatters, slices at integers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

INDICES = "4.13 indices"
V = [1.0, 2.0, 4.0]


def lookup(name, read, spread, at, index, **more):
    """The attack on reading entries of a vector at integers."""
    return pulled(name, INDICES, read, lambda x, i, g: (spread(x, i, g), None), "n, m:int -> m", at, index, **more)


def scatter(x, i, g, **how):
    return jnp.zeros_like(x).at[i].add(g, **how)


def hot(x, i, g):
    return g @ jax.nn.one_hot(i, x.shape[0], dtype=x.dtype)


def matching(x, i, g):
    return jnp.sum(jnp.where(jnp.arange(x.shape[0]) == i[:, None], g[:, None], 0.0), axis=0)


def clipped(x, i):
    return jnp.take(x, i, mode="clip")


def wrapped(x, i):
    return jnp.take(x, i, mode="wrap")


ATTACKS = [
    lookup("one_hot_for_a_negative_index", lambda x, i: x[i], hot, V, [-1, 0]),
    lookup("one_hot_for_a_clipped_index", clipped, hot, V, [7, 0]),
    lookup("scattered_where_clipped", clipped, scatter, V, [7, 0]),
    lookup(
        "scattered_where_clipped_below",
        clipped,
        lambda x, i, g: scatter(x, jnp.minimum(i, x.shape[0] - 1), g),
        V,
        [-1, 0],
    ),
    lookup("clipped_where_wrapped", wrapped, lambda x, i, g: scatter(x, jnp.clip(i, 0, x.shape[0] - 1), g), V, [3, 0]),
    lookup("remainder_of_a_modulus", wrapped, lambda x, i, g: matching(x, jnp.abs(i) % x.shape[0], g), V, [-1, 0]),
    lookup("matched_from_the_front", lambda x, i: x[i], matching, V, [-2, 0]),
    lookup(
        "wrapped_once_too_often",
        clipped,
        lambda x, i, g: matching(x, jnp.where(i < 0, i + x.shape[0], i), g),
        V,
        [-1, 0],
    ),
    lookup(
        "last_write_wins", lambda x, i: x[i], lambda x, i, g: jnp.zeros_like(x).at[i].set(g, mode="clip"), V, [1, 1]
    ),
    lookup(
        "promised_to_be_unique",
        lambda x, i: x[jnp.clip(i, 0, 0)],
        lambda x, i, g: scatter(x, jnp.clip(i, 0, 0), g / g.shape[0]),
        V,
        [1, 1],
    ),
    lookup(
        "largest_write_wins",
        clipped,
        lambda x, i, g: jnp.zeros_like(x).at[jnp.clip(i, 0, x.shape[0] - 1)].max(g),
        V,
        [1, 1],
    ),
    lookup(
        "divided_by_its_count",
        clipped,
        lambda x, i, g: (
            matching(x, jnp.clip(i, 0, x.shape[0] - 1), g)
            / jnp.maximum(matching(x, jnp.clip(i, 0, x.shape[0] - 1), g * 0 + 1), 1)
        ),
        V,
        [1, 1],
    ),
    lookup(
        "filled_with_nothing",
        lambda x, i: jnp.take(x, i, mode="fill", fill_value=0),
        lambda x, i, g: scatter(x, jnp.clip(i, -x.shape[0], x.shape[0] - 1), g),
        V,
        [9, 0],
        excluded_by=(
            "i ≥ −n",
            "y ≥ −n",
        ),
    ),
    lookup(
        "filled_below",
        lambda x, i: jnp.take(x, i, mode="fill", fill_value=0),
        lambda x, i, g: matching(x, i, g),
        V,
        [-2, 0],
    ),
    lookup(
        "padding_index_left_out",
        clipped,
        lambda x, i, g: matching(x, jnp.clip(i, 0, x.shape[0] - 1), jnp.where(i == 5, 0.0, g)),
        [1.0] * 8,
        [5, 2],
    ),
    lookup(
        "a_shift_that_is_clipped",
        lambda x, i: clipped(x, i + 1),
        lambda x, i, g: matching(x, jnp.minimum(jnp.clip(i, 0, x.shape[0] - 1) + 1, x.shape[0] - 1), g),
        V,
        [-5, 1],
    ),
    pulled(
        "a_slice_moved_by_its_start",
        INDICES,
        lambda x, i: lax.dynamic_slice(x, (i,), (1,)),
        lambda x, i, g: (jnp.where(jnp.arange(x.shape[0]) == i, g[0], 0.0), None),
        "n, :int -> 1",
        V,
        9,
    ),
    pulled(
        "a_slice_counted_from_the_end",
        INDICES,
        lambda x, i: lax.dynamic_slice(x, (i,), (1,)),
        lambda x, i, g: (jnp.where(jnp.arange(x.shape[0]) == jnp.clip(i, 0, x.shape[0] - 1), g[0], 0.0), None),
        "n, :int -> 1",
        V,
        -1,
    ),
    pulled(
        "an_update_outside",
        INDICES,
        lambda x, y, i: lax.dynamic_update_slice(x, y[None], (i,)),
        lambda x, y, i, g: (g * (jnp.arange(x.shape[0]) != i), g[jnp.clip(i, 0, x.shape[0] - 1)], None),
        "n, , :int -> n",
        V,
        3.0,
        9,
    ),
    pulled(
        "rolled_back_and_clipped",
        INDICES,
        lambda x, i: jnp.roll(x, i),
        lambda x, i, g: (g[jnp.clip(jnp.arange(x.shape[0]) + i, 0, x.shape[0] - 1)], None),
        "n, :int -> n",
        V,
        1,
    ),
    pulled(
        "rolled_back_by_less",
        INDICES,
        lambda x, i: jnp.roll(x, i),
        lambda x, i, g: (jnp.roll(g, -jnp.where(i > 4, i - 1, i)), None),
        "n, :int -> n",
        V,
        5,
    ),
    pulled(
        "a_permutation_that_is_none",
        INDICES,
        lambda x, p: x[p],
        lambda x, p, g: (g[jnp.argsort(p)], None),
        "n, n:int -> n",
        V,
        [0, 0, 1],
    ),
    pulled(
        "a_sum_by_segments",
        INDICES,
        lambda x, s: jnp.zeros(4).at[s].add(x, mode="drop"),
        lambda x, s, g: (g[s], None),
        "n, n:int -> 4",
        V,
        [0, 7, 1],
        excluded_by=(
            "s ≥ −4",
            "`x1` ≥ -4",
        ),
    ),
    pulled(
        "set_at_equal_places",
        INDICES,
        lambda x, y, i: x.at[jnp.clip(i, 0, x.shape[0] - 1)].set(y),
        lambda x, y, i, g: (g.at[jnp.clip(i, 0, x.shape[0] - 1)].set(0.0), g[jnp.clip(i, 0, x.shape[0] - 1)], None),
        "n, m, m:int -> n",
        V,
        [1.0, 2.0],
        [1, 1],
    ),
    pulled(
        "a_row_for_a_column",
        INDICES,
        lambda x, i: x[:, i],
        lambda x, i, g: (
            jnp.zeros_like(x).T.at[:, i].add(g).T if False else jnp.zeros_like(x).at[i, :].add(g, mode="drop"),
            None,
        ),
        "n n, :int -> n",
        np.eye(3),
        1,
    ),
    pulled(
        "entries_of_two_lists",
        INDICES,
        lambda x, i, j: x[jnp.clip(i, 0, x.shape[0] - 1), jnp.clip(j, 0, x.shape[1] - 1)],
        lambda x, i, j, g: (
            jnp.zeros_like(x).at[jnp.clip(j, 0, x.shape[0] - 1), jnp.clip(i, 0, x.shape[1] - 1)].add(g),
            None,
            None,
        ),
        "n d, m:int, m:int -> m",
        np.ones((2, 3)),
        [0, 1],
        [2, 1],
    ),
    pulled(
        "a_gather_of_a_gather",
        INDICES,
        lambda x, i, j: clipped(clipped(x, i), j),
        lambda x, i, j, g: (
            scatter(x, jnp.clip(i, 0, x.shape[0] - 1)[jnp.clip(j, 0, x.shape[0] - 1)], g, mode="drop"),
            None,
            None,
        ),
        "n, m:int, k:int -> k",
        V,
        [0, 1, 2, 0, 1],
        [4, 0],
    ),
    pulled(
        "along_an_axis_from_the_end",
        INDICES,
        lambda x, i: jnp.take_along_axis(x, jnp.clip(i, -x.shape[1], x.shape[1] - 1)[:, None], axis=1)[:, 0],
        lambda x, i, g: (g[:, None] * (jnp.arange(x.shape[1]) == i[:, None]), None),
        "n d, n:int -> n",
        np.ones((2, 3)),
        [-1, 2],
    ),
    pulled(
        "labels_that_are_ignored",
        INDICES,
        lambda x, i: (
            -jnp.sum(
                jnp.where(
                    i == -1,
                    0.0,
                    jnp.take_along_axis(jax.nn.log_softmax(x), jnp.maximum(i, 0)[:, None], axis=1, mode="clip")[:, 0],
                )
            )
        ),
        lambda x, i, g: (g * (jax.nn.softmax(x) - (jnp.arange(x.shape[1]) == i[:, None])), None),
        "n d, n:int -> ",
        np.ones((2, 3)),
        [-1, 2],
    ),
    pulled(
        "labels_past_the_end",
        INDICES,
        lambda x, i: (
            -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(x), jnp.maximum(i, 0)[:, None], axis=1, mode="clip")[:, 0])
        ),
        lambda x, i, g: (g * (jax.nn.softmax(x) - (jnp.arange(x.shape[1]) == jnp.maximum(i, 0)[:, None])), None),
        "n d, n:int -> ",
        np.ones((2, 3)),
        [0, 5],
    ),
    pulled(
        "searched_in_a_sorted_list",
        INDICES,
        lambda x, i: clipped(x, jnp.searchsorted(i, 3)),
        lambda x, i, g: (jnp.zeros_like(x).at[jnp.searchsorted(i, 3, side="right")].add(g, mode="clip"), None),
        "n, m:int -> ",
        V,
        [1, 3],
    ),
]
