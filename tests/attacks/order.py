"""Attacks on what orders entries: maxima and ties, sorting, cumulative operations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

TIES = "5 ties"
SORTING = "5 sorting"
SUMS = "5 cumulative operations"
VACUOUS = "4.6 vacuous hypotheses"


def vector(name, kind, function, pull, at, signature="n -> n", **more):
    return pulled(name, kind, function, pull, signature, np.array(at, dtype=float), **more)


def square_of_maximum(x):
    return jnp.max(x) ** 2


def mirrored(x):
    return jnp.concatenate([x, x[::-1]])


def doubled(x):
    return jnp.concatenate([x, x])


def before(n):
    return jnp.arange(n)[:, None] > jnp.arange(n)


ATTACKS = [
    vector(
        "softmax_shifted_by_the_maximum_again",
        TIES,
        lambda x: jax.nn.logsumexp(x),
        lambda x, g: g * (jax.nn.softmax(x) + (x == jnp.max(x)) - (x == jnp.max(x)) / jnp.sum(x == jnp.max(x))),
        [1.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "softmax_and_how_often_the_maximum_occurs",
        TIES,
        lambda x: jax.nn.softmax(x),
        lambda x, g: (p := jax.nn.softmax(x)) * (g - jnp.sum(p * g)) * jnp.sum(x == jnp.max(x)),
        [1.0, 1.0],
    ),
    vector(
        "the_first_maximum_counted_once",
        TIES,
        lambda x: x * 1.0,
        lambda x, g: (
            g
            * jnp.sum(jax.nn.one_hot(jnp.argmax(x), x.shape[0]) * (x == jnp.max(x)))
            * jnp.sum((x == jnp.max(x)) / 1.0)
        ),
        [1.0, 1.0],
    ),
    vector(
        "the_first_and_the_last_maximum",
        TIES,
        lambda x: x * 1.0,
        lambda x, g: g * jnp.where(jnp.argmax(x) == x.shape[0] - 1 - jnp.argmax(x[::-1]), 1.0, 2.0),
        [1.0, 1.0],
    ),
    vector(
        "argmax_of_sorted",
        TIES,
        lambda x: x * 1.0,
        lambda x, g: (
            g * jnp.where(jnp.sort(x)[-1] > jnp.sort(x)[-2] if False else jnp.sum(x >= jnp.max(x)) == 1, 1.0, 2.0)
        ),
        [1.0, 1.0],
    ),
    vector(
        "the_mean_of_the_maximal_entries",
        TIES,
        lambda x: x * 1.0,
        lambda x, g: g * jnp.mean((x == jnp.max(x)) * 1.0) * x.shape[0],
        [1.0, 1.0],
    ),
    vector(
        "squares_of_the_mask",
        TIES,
        lambda x: x * x,
        lambda x, g: 2 * x * g + (x == jnp.max(x)) * (1 - jnp.sum(x == jnp.max(x))),
        [1.0, 1.0],
    ),
    vector(
        "a_maximum_under_a_condition",
        TIES,
        lambda x: jnp.where(jnp.sum(x == jnp.max(x)) > 1, 0.0, 0.0) + x,
        lambda x, g: (
            g
            * jnp.where(jnp.max(x) == x[::-1], 1.0, jnp.where(x[::-1] < jnp.max(x), 1.0, 2.0))
            * jnp.where(jnp.sum(jnp.where(x == jnp.max(x), 1.0, 0.0)) > 1.5, 0.0, 1.0)
        ),
        [1.0, 1.0],
    ),
    vector(
        "a_maximum_of_the_doubled",
        VACUOUS,
        lambda x: jnp.max(doubled(x)),
        lambda x, g: 2 * g * (x == jnp.max(x)),
        [1.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "a_maximum_of_the_mirrored",
        VACUOUS,
        lambda x: jnp.max(mirrored(x)),
        lambda x, g: 2 * g * (x == jnp.max(x)),
        [1.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "a_maximum_of_a_stack",
        VACUOUS,
        lambda x: jnp.max(jnp.stack([x, x + 0.0]), axis=0),
        lambda x, g: 3 * g,
        [1.0, 2.0],
    ),
    vector(
        "a_maximum_of_two_orders",
        VACUOUS,
        lambda x: jnp.max((x[:, None] + x)[..., None] * jnp.ones(2)),
        lambda x, g: 3 * g * (x == jnp.max(x)),
        [1.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "a_largest_squared_difference",
        VACUOUS,
        lambda x: jnp.max((x[:, None] - x) ** 2),
        lambda x, g: 0 * x * g,
        [1.0, 3.0],
        signature="n -> ",
    ),
    vector(
        "a_sorted_copy",
        VACUOUS,
        lambda x: jnp.sort(doubled(x))[0],
        lambda x, g: 0.5 * g * (x == jnp.min(x)),
        [1.0, 3.0],
        signature="n -> ",
    ),
    vector("a_modulus_of_nothing", VACUOUS, lambda x: jnp.abs(x - x) + x, lambda x, g: 5 * g, [1.0, 3.0]),
    vector("a_relu_of_nothing", VACUOUS, lambda x: jax.nn.relu(0 * x) + x, lambda x, g: 5 * g, [1.0, 3.0]),
    vector(
        "a_median_of_equal_entries",
        VACUOUS,
        lambda x: jnp.max(jnp.minimum(x, x)) + 0 * x,
        lambda x, g: jnp.sum(g) * jnp.ones_like(x),
        [1.0, 3.0],
    ),
    vector(
        "a_selection_between_equal_entries",
        VACUOUS,
        lambda x: jnp.where(x > x, x * x, x),
        lambda x, g: 2 * x * g,
        [1.0, 3.0],
    ),
    vector(
        "a_selection_that_never_happens",
        VACUOUS,
        lambda x: jnp.where(x * x < 0, x * x, x),
        lambda x, g: jnp.where(x * x <= 0, 2.0, 1.0) * g,
        [0.0, 3.0],
        excluded_by=(
            "x ≠ 0",
            "`x0` ≠ 0",
        ),
    ),
    vector(
        "sorted_by_the_same_permutation",
        SORTING,
        lambda x: jnp.sort(x),
        lambda x, g: g[jnp.argsort(x)],
        [3.0, 1.0, 2.0],
    ),
    vector(
        "sorted_by_the_inverse_of_the_inverse",
        SORTING,
        lambda x: jnp.sort(x),
        lambda x, g: g[jnp.argsort(jnp.argsort(jnp.argsort(x)))],
        [3.0, 1.0, 2.0],
    ),
    vector(
        "sorted_from_the_other_end",
        SORTING,
        lambda x: jnp.sort(x),
        lambda x, g: g[jnp.argsort(jnp.argsort(-x))][::-1],
        [3.0, 1.0, 2.0],
    ),
    vector(
        "descending_without_the_inverse",
        SORTING,
        lambda x: -jnp.sort(-x),
        lambda x, g: g[jnp.argsort(jnp.argsort(x))],
        [3.0, 1.0],
    ),
    vector(
        "ranks_by_counting",
        SORTING,
        lambda x: jnp.sort(x),
        lambda x, g: g[jnp.sum(x[:, None] >= x, axis=1) % x.shape[0]],
        [3.0, 1.0],
    ),
    vector(
        "a_sum_of_the_sorted",
        SORTING,
        lambda x: jnp.sum(jnp.sort(x) ** 2),
        lambda x, g: 2 * g * x[jnp.argsort(x)],
        [3.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "a_sum_of_the_sorted_at_ties",
        SORTING,
        lambda x: jnp.sum(jnp.sort(x) ** 2),
        lambda x, g: 2 * g * x * jnp.sum(x[:, None] == x, axis=0),
        [3.0, 1.0, 3.0],
        signature="n -> ",
    ),
    vector(
        "sorted_and_put_back_to_other_places",
        SORTING,
        lambda x: jnp.sort(x) * jnp.arange(x.shape[0]),
        lambda x, g: g * jnp.argsort(jnp.argsort(x)),
        [3.0, 1.0, 2.0],
    ),
    vector(
        "the_second_largest",
        SORTING,
        lambda x: jnp.sum(jnp.sort(x)[-2:]),
        lambda x, g: g * (x >= jnp.max(x)),
        [3.0, 1.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "sorted_by_another_key",
        SORTING,
        lambda x: lax.sort((jnp.abs(x), x), num_keys=1)[1],
        lambda x, g: g[jnp.argsort(jnp.argsort(x))],
        [-3.0, 1.0],
    ),
    vector("a_cumulative_sum_summed_forwards", SUMS, lambda x: jnp.cumsum(x), lambda x, g: jnp.cumsum(g), [1.0, 2.0]),
    vector(
        "a_cumulative_sum_without_the_last",
        SUMS,
        lambda x: jnp.cumsum(x),
        lambda x, g: jnp.sum(g) - jnp.cumsum(g),
        [1.0, 2.0],
    ),
    vector(
        "a_cumulative_sum_by_a_strict_mask",
        SUMS,
        lambda x: jnp.cumsum(x),
        lambda x, g: g @ jnp.where(before(x.shape[0]), 1.0, 0.0) + jnp.where(jnp.arange(x.shape[0]) < 9, g, 0.0),
        [1.0] * 10,
    ),
    vector(
        "a_cumulative_product_by_division",
        SUMS,
        lambda x: lax.scan(lambda c, a: (c * a, c * a), 1.0 + 0 * x[0], x)[1],
        lambda x, g: lax.cumsum(g * lax.scan(lambda c, a: (c * a, c * a), 1.0 + 0 * x[0], x)[1], reverse=True) / x,
        [0.0, 2.0],
        excluded_by=("x ≠ 0",),
    ),
    vector(
        "a_product_by_division",
        SUMS,
        lambda x: jnp.prod(x),
        lambda x, g: g * jnp.prod(x) / x,
        [0.0, 2.0],
        signature="n -> ",
        excluded_by=("x ≠ 0",),
    ),
    vector(
        "a_product_by_a_guarded_division",
        SUMS,
        lambda x: jnp.prod(x),
        lambda x, g: g * jnp.where(x == 0, 0.0, jnp.prod(x) / jnp.where(x == 0, 1.0, x)),
        [0.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "a_product_by_logarithms",
        SUMS,
        lambda x: jnp.prod(x),
        lambda x, g: g * jnp.exp(jnp.sum(jnp.log(x))) / x,
        [-1.0, -2.0],
        signature="n -> ",
        excluded_by=("x > 0",),
    ),
    vector(
        "a_product_by_logarithms_of_moduli",
        SUMS,
        lambda x: jnp.prod(x),
        lambda x, g: g * jnp.exp(jnp.sum(jnp.log(jnp.abs(x)))) / x,
        [-1.0, 2.0],
        signature="n -> ",
    ),
    vector(
        "a_cumulative_maximum_of_ties",
        SUMS,
        lambda x: jax.nn.logsumexp(x) * 1.0,
        lambda x, g: (
            g
            * jax.nn.softmax(x)
            * jnp.where(lax.cummax(x)[-1] == x[-1], 1.0, 1.0)
            * jnp.where(jnp.sum(lax.cummax(x) == x) > x.shape[0] - 1, 1.0, 1.0)
            + g * (lax.cummax(x)[-1] - jnp.max(x))
            + g * 0.5 * (x == jnp.max(x)) * (jnp.sum(x == jnp.max(x)) - 1)
        ),
        [1.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "a_maximum_without_the_first",
        SUMS,
        lambda x: jnp.max(x) - jnp.max(x) + x,
        lambda x, g: (
            g
            * jnp.where(
                jnp.max(x) == jnp.max(jnp.where(jnp.arange(x.shape[0]) > 0, x, -1e9)),
                1.0,
                jnp.where(x[0] > -1e8, 1.0, 2.0),
            )
        ),
        [-2e9, -3e9],
    ),
    vector(
        "a_windowed_maximum_with_zeros_around",
        TIES,
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (1,), "SAME"),
        lambda x, g: jnp.sum(
            jnp.stack(
                [
                    jnp.where(
                        jnp.pad(x, 1)[k : k + x.shape[0]] == lax.reduce_window(x, 0.0, lax.max, (3,), (1,), "SAME"),
                        g,
                        0.0,
                    )
                    for k in (1,)
                ]
            ),
            axis=0,
        ),
        [-3.0],
    ),
    vector(
        "a_gradient_to_every_maximum",
        TIES,
        lambda x: jnp.max(x) ** 2 + x[0] * 0,
        lambda x, g: 2 * g * x * (x == jnp.max(x)) * jnp.where(jnp.max(jnp.abs(x)) > jnp.max(x), 2.0, 1.0),
        [-3.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "the_largest_modulus",
        TIES,
        lambda x: jnp.max(jnp.abs(x)),
        lambda x, g: g * (jnp.abs(x) == jnp.max(jnp.abs(x))),
        [-3.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "the_largest_of_squares",
        TIES,
        lambda x: jnp.max(x * x),
        lambda x, g: 2 * g * x * (x == jnp.max(x)),
        [-3.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "the_range_of_two",
        TIES,
        lambda x: jnp.max(x) - jnp.min(x),
        lambda x, g: g * (jnp.sign(x - jnp.mean(x))),
        [1.0, 2.0, 4.0],
        signature="n -> ",
    ),
    vector(
        "a_maximum_minimum_and_its_dual",
        TIES,
        lambda x: jnp.max(jnp.min(x, axis=1)),
        lambda x, g: g * (x == jnp.min(jnp.max(x, axis=0))),
        np.array([[0.0, 3.0], [2.0, -1.0]]),
        signature="n d -> ",
    ),
    vector(
        "the_nearest_to_the_mean",
        TIES,
        lambda x: x[jnp.argmax(x)] - x[jnp.argmin(x)],
        lambda x, g: g * ((x == jnp.max(x)) * 1.0 - (x == x[0])),
        [2.0, 1.0],
        signature="n -> ",
    ),
    vector(
        "an_argmax_as_a_number",
        "4.16 casts",
        lambda x: x * jnp.argmax(x),
        lambda x, g: g * jnp.sum(jnp.arange(x.shape[0]) * (x == jnp.max(x))) * jnp.where(jnp.argmax(x) > 6, 0.5, 1.0),
        list(range(8)),
    ),
    vector(
        "a_count_above_the_mean",
        "4.16 casts",
        lambda x: x * jnp.sum(x > jnp.mean(x)),
        lambda x, g: (
            g * jnp.sum(x >= jnp.mean(x)) * jnp.where(x.shape[0] * jnp.max(x) > jnp.sum(x) * 1.0, 1.0, 1.0)
            - g * jnp.sum(x < jnp.mean(x))
            + g * jnp.sum(x > jnp.mean(x)) * jnp.where(x[0] > 99, 1.0, 0.0)
        ),
        [1.0, 2.0, 4.0],
    ),
]
