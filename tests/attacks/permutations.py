"""Permutations and places: an order for its inverse, lists that are no permutation, ties, promises that do not hold."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ops import segment_sum

from .attack import Attack
from .makers import saved

KIND = "B permutations"


def one(name, value, bwd, signature, *at, **more):
    return Attack(f"permuted_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def by_places(name, value, back, *at, signature="n, n:int -> n", **more):
    """A linear function of x at places p, and what is taken for its transpose."""
    return one(name, value, lambda s, g: (back(*s, g), None), signature, *at, **more)


def ints(*values):
    return np.array(values, dtype=np.int32)


CYCLE, X3 = ints(1, 2, 0), np.array([1.0, -2.0, 0.5])
REPEATED = ints(1, 1, 0)
TIED = np.array([1.0, 1.0, 0.5])
X4 = np.array([1.0, 2.0, 4.0, 7.0])


def keys_sorted(x, p):
    return x[jnp.argsort(p)]


def descending(x, p):
    return x[jnp.argsort(-p)]


def rank(p):
    return jnp.argsort(jnp.argsort(p))


def rank_by_counting(p):
    return jnp.sum(p[None, :] < p[:, None], axis=1)


def weights(p, dtype):
    return 1.0 + jnp.arange(p.shape[0]).astype(dtype)


def spread(g, places, **how):
    return jnp.zeros_like(g).at[places].set(g, **how)


def segments(x, p):
    return segment_sum(x, p, num_segments=x.shape[0])


def in_blocks(p, x):
    """Places of a permutation of halves: only right where n is even."""
    n = x.shape[0]
    return jnp.roll(jnp.arange(n), n // 2)


ATTACKS = [
    by_places("order_of_keys_for_its_inverse", keys_sorted, lambda x, p, g: g[jnp.argsort(p)], X3, CYCLE),
    by_places("places_that_are_no_permutation", lambda x, p: x[p], lambda x, p, g: g[jnp.argsort(p)], X3, REPEATED),
    by_places("places_set_and_not_added", lambda x, p: x[p], lambda x, p, g: spread(g, p), X3, REPEATED),
    by_places(
        "places_promised_unique",
        lambda x, p: x[p],
        lambda x, p, g: spread(g, p, unique_indices=True),
        X3,
        REPEATED,
        excluded_by=("distinct", "unique", "differ"),
    ),
    by_places(
        "places_promised_sorted",
        lambda x, p: x[p],
        lambda x, p, g: jnp.zeros_like(g).at[p].add(g, indices_are_sorted=True) * jnp.all(p[1:] >= p[:-1]),
        X3,
        CYCLE,
        signature="n+1, n+1:int -> n+1",
        excluded_by=("sorted", "[i + 1]"),
    ),
    by_places(
        "inverse_of_a_list_with_ties",
        lambda x, p: x[rank(p)],
        lambda x, p, g: g[jnp.argsort(rank(p))][jnp.argsort(p)][jnp.argsort(jnp.argsort(p))][
            rank_by_counting(rank_by_counting(p))
        ],
        X3,
        REPEATED,
    ),
    by_places(
        "rank_by_counting_with_ties", lambda x, p: rank(p) * x, lambda x, p, g: rank_by_counting(p) * g, X3, REPEATED
    ),
    by_places(
        "rank_from_the_other_side",
        lambda x, p: rank(p) * x,
        lambda x, p, g: (p.shape[0] - 1 - rank(-p)) * g,
        X3,
        REPEATED,
    ),
    by_places(
        "descending_as_reversed",
        descending,
        lambda x, p, g: jnp.zeros_like(g).at[jnp.argsort(p)[::-1]].add(g),
        X3,
        REPEATED,
    ),
    by_places(
        "descending_stable_for_unstable",
        lambda x, p: x[jnp.argsort(p, descending=True)],
        lambda x, p, g: jnp.zeros_like(g).at[jnp.argsort(p)[::-1]].add(g),
        X3,
        REPEATED,
    ),
    by_places(
        "sorted_integers_as_places",
        lambda x, p: jnp.sort(p) * x,
        lambda x, p, g: jnp.arange(p.shape[0]) * g,
        X3,
        REPEATED,
    ),
    by_places(
        "composed_in_the_other_order",
        lambda x, p: x[p][jnp.argsort(x)] + 0 * x,
        lambda x, p, g: g[rank(x)][p],
        X3,
        CYCLE,
    ),
    by_places(
        "applied_twice_for_not_at_all", lambda x, p: x[jnp.argsort(p)][jnp.argsort(p)], lambda x, p, g: g, X3, CYCLE
    ),
    by_places(
        "three_times_for_not_at_all",
        lambda x, p: x[jnp.argsort(p)][jnp.argsort(p)][jnp.argsort(p)],
        lambda x, p, g: g,
        np.array([1.0, 2.0]),
        ints(1, 0),
    ),
    by_places(
        "order_of_an_order",
        lambda x, p: x[jnp.argsort(p)],
        lambda x, p, g: g[jnp.argsort(jnp.argsort(jnp.argsort(p)))],
        X3,
        CYCLE,
    ),
    by_places(
        "first_of_equal_keys",
        lambda x, p: x[jnp.argsort(p)],
        lambda x, p, g: jnp.zeros_like(g).at[jnp.argsort(p[::-1])].add(g)[::-1],
        X3,
        REPEATED,
    ),
    by_places(
        "searched_left_and_right",
        lambda x, p: jnp.searchsorted(jnp.sort(p), p) * x,
        lambda x, p, g: (jnp.searchsorted(jnp.sort(p), p, side="right") - 1) * g,
        X3,
        REPEATED,
    ),
    by_places(
        "counted_below_or_equal",
        lambda x, p: jnp.sum(p[None, :] <= p[:, None], 1) * x,
        lambda x, p, g: (1 + rank(p)) * g,
        X3,
        REPEATED,
    ),
    by_places("segments_as_sums_of_neighbours", segments, lambda x, p, g: g[p], X3, ints(0, -1, 1)),
    by_places("segments_out_of_range", segments, lambda x, p, g: g.at[p].get(mode="clip"), X3, ints(0, 5, 1)),
    by_places("segments_wrapped", segments, lambda x, p, g: jnp.where(p < p.shape[0], g[p], 0), X3, ints(0, -3, 1)),
    by_places(
        "segments_by_equality_squared",
        segments,
        lambda x, p, g: jnp.sum((p[:, None] == p[None, :]) * g[p][None, :], 1) / jnp.sum(p[:, None] == p[None, :], 1),
        X3,
        ints(0, -1, 1),
    ),
    by_places(
        "written_in_order",
        lambda x, p: x[p] * x[jnp.argsort(p)],
        lambda x, p, g: spread(g * x[jnp.argsort(p)], p) + spread(g * x[p], jnp.argsort(p)),
        X3,
        REPEATED,
    ),
    by_places(
        "places_of_a_negative_permutation",
        lambda x, p: x[-jnp.argsort(p)],
        lambda x, p, g: jnp.roll(g[::-1], 1)[jnp.argsort(p)],
        X4,
        ints(1, 2, 0, 3),
    ),
    by_places(
        "neighbour_in_a_circle", lambda x, p: x[jnp.argsort(p) - 1], lambda x, p, g: jnp.roll(g[rank(p)], 1), X3, CYCLE
    ),
    by_places(
        "shifted_places_past_the_end",
        lambda x, p: x.at[jnp.argsort(p) + 1].get(mode="fill", fill_value=0),
        lambda x, p, g: jnp.roll(g[rank(p)], 1),
        X3,
        CYCLE,
    ),
    by_places(
        "maximum_of_a_permutation", lambda x, p: x * jnp.max(rank(p)), lambda x, p, g: g * jnp.max(p), X3, ints(5, 7, 9)
    ),
    by_places(
        "sum_of_places",
        lambda x, p: x * jnp.sum(jnp.argsort(p)),
        lambda x, p, g: g * jnp.sum(rank(p) * rank(rank(p))) * 0 + g * jnp.sum(p),
        X3,
        REPEATED,
    ),
    by_places(
        "square_of_places",
        lambda x, p: x * jnp.sum(rank(p) * jnp.arange(p.shape[0])),
        lambda x, p, g: g * jnp.sum(jnp.argsort(p) * rank(p)),
        X4,
        ints(1, 2, 3, 0),
    ),
    # -------------------------------------------------------------------------------------------- without a list
    one(
        "half_a_turn_undone",
        lambda x: x[in_blocks(None, x)] * jnp.arange(x.shape[0]),
        lambda x, g: ((g * jnp.arange(x.shape[0]))[in_blocks(None, x)],),
        "n -> n",
        X3,
    ),
    one(
        "twice_the_place_around",
        lambda x: x[(2 * jnp.arange(x.shape[0])) % x.shape[0]],
        lambda x, g: (spread(g, (2 * jnp.arange(x.shape[0])) % x.shape[0]),),
        "n -> n",
        X4,
    ),
    one(
        "thrice_the_place_around",
        lambda x: jnp.sin(x[(3 * jnp.arange(x.shape[0])) % x.shape[0]]),
        lambda x, g: (spread(g, (3 * jnp.arange(x.shape[0])) % x.shape[0]) * jnp.cos(x),),
        "n -> n",
        X3,
    ),
    one(
        "quadratic_places",
        lambda x: x[(jnp.arange(x.shape[0]) * (jnp.arange(x.shape[0]) + 1) // 2) % x.shape[0]],
        lambda x, g: (spread(g, (jnp.arange(x.shape[0]) * (jnp.arange(x.shape[0]) + 1) // 2) % x.shape[0]),),
        "n -> n",
        X3,
    ),
    one("negated_places", lambda x: x[(-jnp.arange(x.shape[0]))], lambda x, g: (g[::-1],), "n -> n", X3),
    one(
        "negated_places_clipped",
        lambda x: x.at[-jnp.arange(x.shape[0])].get(mode="clip", wrap_negative_indices=False),
        lambda x, g: (g[-jnp.arange(x.shape[0])],),
        "n -> n",
        X3,
    ),
    one(
        "flipped_bits_of_places",
        lambda x: x.at[jnp.arange(x.shape[0]) ^ 2].get(mode="clip"),
        lambda x, g: (g.at[jnp.arange(x.shape[0]) ^ 2].get(mode="clip"),),
        "n -> n",
        X3,
    ),
    one(
        "second_of_the_sorted",
        lambda x: lax.top_k(x, 2)[0][1],
        lambda x, g: (g * (jnp.arange(x.shape[0]) == jnp.argsort(x)[1]),),
        "n+2 -> ",
        X4,
    ),
    one(
        "largest_two_by_a_threshold",
        lambda x: jnp.sum(lax.top_k(x, 2)[0] ** 2),
        lambda x, g: (2 * g * x * (x > jnp.mean(x)),),
        "n+2 -> ",
        np.array([1.0, 2.0, 3.0, 7.0]),
    ),
    one(
        "median_of_even_length",
        lambda x: jnp.sort(x)[x.shape[0] // 2],
        lambda x, g: (g * (jnp.argsort(jnp.argsort(x)) == (x.shape[0] - 1) // 2),),
        "n -> ",
        X4,
    ),
    one(
        "sorted_columns_for_rows",
        lambda x: jnp.sort(x, axis=0) ** 2,
        lambda x, g: (2 * x * jnp.take_along_axis(g, jnp.argsort(jnp.argsort(x, 1), 1), 1),),
        "n m -> n m",
        np.array([[1.0, 2.0], [0.5, 3.0]])[::-1].copy(),
    ),
    one(
        "by_the_first_column",
        lambda x: x[jnp.argsort(x[:, 0])] ** 2,
        lambda x, g: (2 * x * g[jnp.argsort(jnp.argsort(x[:, -1]))],),
        "n m -> n m",
        np.array([[1.0, 2.0], [0.5, 3.0]]),
    ),
]
