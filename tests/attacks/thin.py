"""Attacks that are wrong on a thin set: at one point, on a line, in a sliver, or far away."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .written import pulled, sloped, sloped2

where = jnp.where
POINTS = "5 wrong at one point"
REGIONS = "4.22 undecided regions"
SIGNS = "4.5 predicates"


def square(x):
    return x * x / 2


def once(x, condition):
    """The slope of half a square, five times too large where the condition holds."""
    return where(condition, 5 * x, x)


def of(name, kind, condition, *at, **more):
    """The attack on half a square that is wrong where the condition holds."""
    return sloped(name, kind, square, lambda x: once(x, condition(x)), at, **more)


def of2(name, kind, condition, x, y, **more):
    """The attack on a product that is wrong where the condition holds."""

    def slopes(x, y):
        return where(condition(x, y), 5 * y, y), x

    return sloped2(name, kind, lambda x, y: x * y, slopes, [x], [y], **more)


def of_vector(name, kind, condition, at, **more):
    """The attack on half a sum of squares that is wrong where a condition on all of the vector holds."""
    return pulled(
        name,
        kind,
        lambda x: jnp.sum(x * x, axis=-1) / 2,
        lambda x, g: g * where(condition(x), 5 * x, x),
        "n -> ",
        np.array(at, dtype=float),
        **more,
    )


ATTACKS = [
    of("integers_by_floor", POINTS, lambda x: jnp.floor(x) == x, 7.0),
    of("integers_by_rounding", POINTS, lambda x: jnp.round(x) == x, -4.0),
    of("integers_by_floor_and_ceiling", POINTS, lambda x: jnp.ceil(x) - jnp.floor(x) < 1, 12.0),
    of("integers_by_remainder", POINTS, lambda x: jnp.mod(x, 1.0) == 0, 3.0),
    of("thousands_by_remainder", POINTS, lambda x: jnp.mod(x, 1000.0) == 999.0, 999.0),
    of("halves_by_rounding_to_even", POINTS, lambda x: (jnp.round(x) - x == 0.5) & (jnp.round(x) > 1), 3.5),
    of("tangent_of_the_exponential", POINTS, lambda x: jnp.exp(x - 3.0) <= x - 2.0, 3.0),
    of("tangent_of_the_logarithm", POINTS, lambda x: jnp.log(x / 7) >= x / 7 - 1, 7.0, excluded_by=("x > 0",)),
    of("a_cosine_that_is_one", POINTS, lambda x: jnp.cosh(x - 2.5) <= 1, 2.5),
    of("a_cosine_that_reaches_one", POINTS, lambda x: jnp.cos(x - 2.5) >= 1, 2.5),
    of("a_root_of_a_quintic", POINTS, lambda x: x**5 - 31 * x - 180 == 6 * x - 48 + 0 * x, 3.0),
    of("the_only_root_of_a_cubic", POINTS, lambda x: x**3 + x == 222.0, 6.0),
    of("a_double_root", POINTS, lambda x: x * x * x - 3 * x + 2 == 0, -2.0),
    of("one_literal", POINTS, lambda x: x == 0.3, 0.3),
    of("a_power_of_two", POINTS, lambda x: jnp.exp2(jnp.round(jnp.log2(x * x + 1))) == x * x + 1, 1.0),
    of("twice_a_number_of_a_power", POINTS, lambda x: jnp.sign(x - 0.125) == 0, 0.125),
    of("a_sign_that_is_zero", POINTS, lambda x: jnp.abs(jnp.sign(x - 11)) < 0.5, 11.0),
    of("two_predicates_that_meet_in_a_point", POINTS, lambda x: (x >= 17) & (x <= 17), 17.0),
    of("a_predicate_of_a_predicate", POINTS, lambda x: (x > 17) == (x < 17), 17.0),
    of("a_median_that_is_a_bound", POINTS, lambda x: jnp.clip(x, -13, 21) == 21, 21.0),
    of("far_away", REGIONS, lambda x: x > 1e7, 2e7),
    of("far_away_exponentially", REGIONS, lambda x: jnp.exp(x) > 1e60, 150.0),
    of("far_away_logarithmically", REGIONS, lambda x: jnp.log(x * x + 1) > 50, 1e12),
    of("a_thin_layer", REGIONS, lambda x: (jnp.exp(x) > 1e6) & (x < 13.8156), 13.81555),
    of("a_thin_layer_of_an_hyperbolic_tangent", REGIONS, lambda x: (jnp.tanh(x) > 0.9) & (x < 1.4723), 1.47225),
    of("above_a_root_of_two", REGIONS, lambda x: (x > 1.41421356) & (x * x < 2), 1.414213561),
    of("a_sine_close_to_one", REGIONS, lambda x: (jnp.sin(x) > 0.9999999) & (x > 100), float(np.pi / 2 + 40 * np.pi)),
    of("a_sigmoid_close_to_a_half", REGIONS, lambda x: (jax.nn.sigmoid(x) > 0.5) & (x < 1e-6), 5e-7),
    of("a_number_and_its_float", REGIONS, lambda x: (x > 1.0) & (x < 1.0000001), 1.00000005),
    of2("circle_and_tangent", REGIONS, lambda x, y: (x * x + y * y < 1) & (x + y > 1.41421), 0.7071, 0.7071134),
    of2("means_of_two_kinds", REGIONS, lambda x, y: x * x + y * y <= 2 * x * y, 3.0, 3.0),
    of2("means_of_exponentials", REGIONS, lambda x, y: jnp.exp(x) + jnp.exp(y) <= 2 * jnp.exp((x + y) / 2), 3.0, 3.0),
    of2(
        "three_factors_and_a_small_sum",
        REGIONS,
        lambda x, y: (x * y > 100) & (x + y < 1) & (x > y + 40),
        -2.0,
        -60.0,
    ),
    of2("opposite_signs_of_a_quotient", SIGNS, lambda x, y: (x * y > 1e4) & (x < 0) & (x > y + 3), -100.0, -104.0),
    of2("tie_by_two_inequalities", SIGNS, lambda x, y: (x >= y) & (y >= x), 2.5, 2.5),
    of2("tie_by_maximum_and_minimum", SIGNS, lambda x, y: jnp.maximum(x, y) == jnp.minimum(x, y), 2.5, 2.5),
    of2("tie_by_sign", SIGNS, lambda x, y: 1 - jnp.sign(x - y) ** 2 > 0, 2.5, 2.5),
    of2("tie_of_squares", SIGNS, lambda x, y: (x * x == y * y) & (x < 0) & (y > 0), -2.5, 2.5),
    of2("tie_of_cubes", SIGNS, lambda x, y: x**3 == y**3, -2.5, -2.5),
    of2("tie_of_exponentials", SIGNS, lambda x, y: jnp.exp(x) == jnp.exp(y), 1.5, 1.5),
    of2("a_line", SIGNS, lambda x, y: 3 * x == 7 * y + 2, 3.0, 1.0),
    of2("a_line_and_a_side", SIGNS, lambda x, y: (3 * x == 7 * y + 2) & (x > 9.5), 10.0, 4.0),
    of2("a_point_where_two_lines_meet", SIGNS, lambda x, y: (3 * x == 7 * y + 2) & (x == y + 6), 10.0, 4.0),
    of2("a_point_of_the_plane", SIGNS, lambda x, y: (x - 3) ** 2 + (y - 4) ** 2 <= 0, 3.0, 4.0),
    of2("both_are_zero", SIGNS, lambda x, y: (jnp.abs(x - 1) + jnp.abs(y - 2)) == 0, 1.0, 2.0),
    of_vector("all_entries_equal", POINTS, lambda x: jnp.max(x) == jnp.min(x), [2.0, 2.0, 2.0]),
    of_vector("no_variance", POINTS, lambda x: jnp.sum((x - jnp.mean(x)) ** 2) <= 0, [2.0, 2.0, 2.0]),
    of_vector("variance_by_moments", POINTS, lambda x: jnp.mean(x * x) <= jnp.mean(x) ** 2, [2.0, 2.0, 2.0, 2.0]),
    of_vector("three_positive_entries", REGIONS, lambda x: jnp.sum(x > 0) == 3, [1.0, 2.0, 3.0, -1.0]),
    of_vector("eleven_positive_entries", REGIONS, lambda x: jnp.sum(x > 0) >= 11, np.ones(12)),
    of_vector("all_entries_positive", REGIONS, lambda x: jnp.all(x > 0) & (jnp.size(x) > 9), np.ones(10)),
    of_vector("a_sum_that_is_ten", POINTS, lambda x: jnp.sum(x) == 10, [1.0, 2.0, 3.0, 4.0]),
    of_vector("an_entry_that_is_a_number", POINTS, lambda x: jnp.any(x == 37.0), [1.0, 37.0]),
    of_vector("two_entries_that_are_equal", POINTS, lambda x: jnp.sum(x[:, None] == x) > jnp.size(x), [1.0, 2.0, 1.0]),
    of_vector("sorted_entries", REGIONS, lambda x: jnp.all(jnp.sort(x) == x) & (jnp.size(x) > 5), np.arange(1.0, 8.0)),
    of_vector("the_largest_comes_seventh", REGIONS, lambda x: jnp.argmax(x) == 6, np.arange(1.0, 8.0)),
    of_vector(
        "the_first_is_the_largest_by_far", REGIONS, lambda x: x[0] > 1000 * jnp.sum(x * x) - 999 * x[0] * x[0], [0.0005]
    ),
]
