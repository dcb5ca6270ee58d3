"""Attacks on indices: gathers, scatters, reshapes, windows, borders."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

INDICES = "4.13 indices"
ROWS = "4.14 row-major"
BORDERS = "5 borders of windows"
V = [1.0, 2.0, 4.0]


def lookup(name, read, spread, at, index, **more):
    """The attack on reading entries of a vector at integers."""
    return pulled(name, INDICES, read, lambda x, i, g: (spread(x, i, g), None), "n, m:int -> m", at, index, **more)


def linear(name, kind, function, transposed, signature, *at, **more):
    """The attack on a linear function of one tensor, whose rule ought to be its transpose."""
    return pulled(name, kind, function, lambda x, g: transposed(x, g), signature, *at, **more)


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
            (h := matching(x, jnp.clip(i, 0, x.shape[0] - 1), g))
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
    linear(
        "a_transpose_for_a_reshape",
        ROWS,
        lambda x: x.reshape(x.shape[1], x.shape[0]),
        lambda x, g: g.T,
        "n d -> d n",
        np.ones((2, 3)),
    ),
    linear(
        "a_reshape_for_a_transpose", ROWS, lambda x: x.T, lambda x, g: g.reshape(x.shape), "n d -> d n", np.ones((2, 3))
    ),
    linear(
        "a_square_reshaped_for_transposed",
        ROWS,
        lambda x: x.T,
        lambda x, g: g.reshape(x.shape),
        "n n -> n n",
        np.eye(2),
    ),
    linear(
        "flattened_by_columns",
        ROWS,
        lambda x: x.reshape(-1),
        lambda x, g: g.reshape(x.shape[::-1]).T,
        "n d -> n*d",
        np.ones((2, 3)),
    ),
    linear(
        "three_axes_in_another_order",
        ROWS,
        lambda x: x.reshape(-1),
        lambda x, g: g.reshape(x.shape[0], x.shape[2], x.shape[1]).swapaxes(1, 2),
        "n d k -> n*d*k",
        np.ones((2, 3, 2)),
    ),
    linear(
        "heads_split_the_other_way",
        ROWS,
        lambda x: x.reshape(x.shape[0], 2, -1).swapaxes(0, 1).reshape(2, -1),
        lambda x, g: g.reshape(2, -1, x.shape[0]).transpose(2, 0, 1).reshape(x.shape),
        "n 2*d -> 2 n*d",
        np.ones((3, 4)),
    ),
    linear(
        "pairs_for_halves",
        ROWS,
        lambda x: x.reshape(2, -1)[0],
        lambda x, g: jnp.stack([g, 0 * g], axis=1).reshape(-1),
        "2*n -> n",
        np.ones(4),
    ),
    linear(
        "pairs_for_halves_by_strides",
        ROWS,
        lambda x: x[::2],
        lambda x, g: jnp.concatenate([g, 0 * g]),
        "2*n -> n",
        np.ones(4),
    ),
    linear(
        "rotated_pairs",
        ROWS,
        lambda x: jnp.concatenate([-x[x.shape[0] // 2 :], x[: x.shape[0] // 2]]),
        lambda x, g: jnp.concatenate([-g[g.shape[0] // 2 :], g[: g.shape[0] // 2]]),
        "2*n -> 2*n",
        np.ones(2),
    ),
    linear(
        "rotated_odd_halves",
        ROWS,
        lambda x: jnp.concatenate([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]]),
        lambda x, g: jnp.concatenate([g[g.shape[0] // 2 :], g[: g.shape[0] // 2]]),
        "n -> n",
        np.ones(3),
    ),
    linear(
        "rotated_odd_halves_the_other_way",
        ROWS,
        lambda x: jnp.roll(x, x.shape[0] // 2),
        lambda x, g: jnp.roll(g, x.shape[0] // 2),
        "n -> n",
        np.ones(5),
    ),
    linear(
        "repeated_for_tiled",
        ROWS,
        lambda x: jnp.tile(x, 3),
        lambda x, g: g.reshape(-1, 3).sum(1),
        "n -> 3*n",
        np.ones(2),
    ),
    linear(
        "a_row_reversed_twice",
        ROWS,
        lambda x: x.reshape(-1)[::-1].reshape(x.shape),
        lambda x, g: g[::-1],
        "n d -> n d",
        np.ones((2, 2)),
    ),
    linear(
        "a_folded_row",
        ROWS,
        lambda x: x.reshape(-1, 2).sum(1),
        lambda x, g: jnp.concatenate([g, g]),
        "2*n -> n",
        np.ones(4),
    ),
    linear(
        "a_window_flipped",
        BORDERS,
        lambda x: jnp.convolve(x, jnp.array([1.0, 2.0, 3.0]), mode="full")[1:-1],
        lambda x, g: jnp.convolve(g, jnp.array([1.0, 2.0, 3.0]), mode="full")[1:-1],
        "n -> n",
        V,
    ),
    linear(
        "a_window_shifted_by_one",
        BORDERS,
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), [(1, 0)]),
        lambda x, g: lax.reduce_window(g, 0.0, lax.add, (2,), (1,), [(1, 0)]),
        "n -> n",
        V,
    ),
    linear(
        "averages_that_count_the_border",
        BORDERS,
        lambda x: (
            lax.reduce_window(x, 0.0, lax.add, (3,), (1,), "SAME")
            / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (3,), (1,), "SAME")
        ),
        lambda x, g: (
            lax.reduce_window(g, 0.0, lax.add, (3,), (1,), "SAME")
            / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (3,), (1,), "SAME")
        ),
        "n -> n",
        V,
    ),
    linear(
        "averages_over_three",
        BORDERS,
        lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (1,), "SAME") / 3,
        lambda x, g: (
            (lax.reduce_window(g, 0.0, lax.add, (3,), (1,), "SAME") / 3)
            .at[-1]
            .multiply(jnp.where(x.shape[0] > 6, 1.5, 1.0))
        ),
        "n -> n",
        np.ones(8),
    ),
    linear(
        "a_wide_window",
        BORDERS,
        lambda x: lax.reduce_window(x, 0.0, lax.add, (5,), (1,), [(2, 2)]),
        lambda x, g: (
            lax.reduce_window(g, 0.0, lax.add, (3,), (1,), [(1, 1)])
            + jnp.pad(g, (2, 0))[:-2]
            + jnp.pad(g, (0, 2))[2:] * (jnp.arange(x.shape[0]) != x.shape[0] - 3)
        ),
        "n -> n",
        np.ones(4),
    ),
    linear(
        "differences_at_the_border",
        BORDERS,
        lambda x: jnp.diff(x, append=x[-1:]),
        lambda x, g: -jnp.diff(g, append=g[-1:]),
        "n -> n",
        V,
    ),
    linear(
        "a_periodic_difference",
        BORDERS,
        lambda x: jnp.roll(x, -1) - x,
        lambda x, g: jnp.concatenate([g[:1] * 0, g[:-1]]) - g,
        "n -> n",
        V,
    ),
    linear(
        "a_laplacian_with_a_free_end",
        BORDERS,
        lambda x: jnp.diff(x, n=2, prepend=x[:1], append=x[-1:] * 0),
        lambda x, g: jnp.diff(g, n=2, prepend=g[:1] * 0, append=g[-1:]),
        "n -> n",
        V,
    ),
    linear(
        "a_triangle_without_its_diagonal",
        BORDERS,
        lambda x: jnp.tril(x, 1),
        lambda x, g: jnp.tril(g),
        "n n -> n n",
        np.ones((2, 2)),
    ),
    linear(
        "a_triangle_of_a_rectangle",
        BORDERS,
        lambda x: jnp.triu(x, x.shape[1] - x.shape[0]),
        lambda x, g: jnp.triu(g),
        "n d -> n d",
        np.ones((2, 4)),
    ),
    linear(
        "a_diagonal_of_a_rectangle",
        BORDERS,
        lambda x: jnp.sum(x * (jnp.arange(x.shape[0])[:, None] == jnp.arange(x.shape[1]))),
        lambda x, g: (
            g * (jnp.arange(x.shape[0])[:, None] == jnp.arange(x.shape[1])) * (jnp.arange(x.shape[1]) < x.shape[1] - 1)
        ),
        "n d -> ",
        np.ones((2, 2)),
    ),
    linear(
        "a_dilated_window",
        BORDERS,
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), [(0, 2)], window_dilation=(2,)),
        lambda x, g: g + jnp.pad(g, (1, 0))[:-1],
        "n -> n",
        V,
    ),
    linear("a_padding_inside", BORDERS, lambda x: lax.pad(x, 0.0, [(1, 0, 1)]), lambda x, g: g[::2], "n -> 2*n", V),
    linear(
        "a_flip_off_by_one",
        BORDERS,
        lambda x: x[::-1],
        lambda x, g: jnp.roll(g[::-1], jnp.where(x.shape[0] > 11, 1, 0)),
        "n -> n",
        np.arange(12.0),
    ),
    linear(
        "the_middle_entry",
        BORDERS,
        lambda x: x[x.shape[0] // 2],
        lambda x, g: jnp.where(jnp.arange(x.shape[0]) == (x.shape[0] - 1) // 2, g, 0.0),
        "n -> ",
        [1.0, 2.0],
    ),
    linear(
        "an_index_that_rounds",
        BORDERS,
        lambda x: jnp.sum(jnp.where(jnp.arange(x.shape[0]) % 3 == 0, x, 0.0)),
        lambda x, g: g * (jnp.arange(x.shape[0]) == 3 * jnp.minimum(jnp.arange(x.shape[0]) // 3, 3)),
        "n -> ",
        np.ones(13),
    ),
    linear(
        "an_index_that_multiplies",
        BORDERS,
        lambda x: jnp.sum(x * (jnp.arange(x.shape[0])[:, None] * jnp.arange(x.shape[1]) == 6)),
        lambda x, g: (
            g
            * (
                (jnp.arange(x.shape[0])[:, None] + jnp.arange(x.shape[1]) == 5)
                & (jnp.arange(x.shape[0])[:, None] > 1)
                & (jnp.arange(x.shape[1]) > 1)
            )
        ),
        "n d -> ",
        np.ones((2, 7)),
    ),
    linear(
        "a_stride_that_leaves_a_rest",
        BORDERS,
        lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "VALID")),
        lambda x, g: g * jnp.ones_like(x),
        "n -> ",
        np.ones(5),
    ),
    linear(
        "an_upsampled_border",
        BORDERS,
        lambda x: jnp.sum(jnp.repeat(x, 2)[1:]),
        lambda x, g: 2 * g * jnp.ones_like(x),
        "n -> ",
        np.ones(5),
    ),
    linear(
        "an_odd_place_at_the_end",
        BORDERS,
        lambda x: jnp.sum(x[1::2]),
        lambda x, g: g * (jnp.arange(x.shape[0]) % 2 == 1) * (jnp.arange(x.shape[0]) < 15),
        "n -> ",
        np.ones(17),
    ),
    linear(
        "half_of_the_places",
        BORDERS,
        lambda x: jnp.sum(x[: x.shape[0] // 2]),
        lambda x, g: g * (2 * jnp.arange(x.shape[0]) < x.shape[0]),
        "n -> ",
        np.ones(3),
    ),
    linear(
        "a_third_of_the_places",
        BORDERS,
        lambda x: jnp.sum(x[: (x.shape[0] + 2) // 3]),
        lambda x, g: g * (3 * jnp.arange(x.shape[0]) <= x.shape[0]),
        "n -> ",
        np.ones(3),
    ),
]
