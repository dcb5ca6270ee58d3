"""Attacks on reshapes, windows and their borders."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

ROWS = "4.14 row-major"
BORDERS = "5 borders of windows"
V = [1.0, 2.0, 4.0]


def linear(name, kind, function, transposed, signature, *at, **more):
    """The attack on a linear function of one tensor, whose rule ought to be its transpose."""
    return pulled(name, kind, function, lambda x, g: transposed(x, g), signature, *at, **more)


ATTACKS = [
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
