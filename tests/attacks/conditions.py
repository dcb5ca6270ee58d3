"""Attacks on conditions: forgotten by cancellation, inside branches, loops and maps; empty ranges; infinities."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom
from .written import pulled, sloped

where = jnp.where
FORGOTTEN = "4.1 conditions forgotten"
RUNS = "4.2 the rule itself is defined"
EMPTY = "4.7 empty ranges"
INFINITE = "4.17 infinities"


def identity(x):
    return x * 1.0


def half_square(x):
    return x * x / 2


def one(name, kind, factor, *at, **more):
    """The attack on the identity whose rule has a factor that is one, where it is defined."""
    return sloped(name, kind, identity, factor, at, **more)


def row(name, kind, factor, at, **more):
    """The attack on the identity of a vector, whose rule has a factor that is one where it is defined."""
    return pulled(name, kind, identity, lambda x, g: g * factor(x), "n -> n", np.array(at, dtype=float), **more)


def plain_vjp(name, kind, function, signature, *at, rule=None, **more):
    """The attack whose rule is JAX's own of another way to write the function."""
    other = rule or function

    def make():
        return custom(function, lambda *x: (function(*x), x), lambda x, g: jax.vjp(other, *x)[1](g))

    values = tuple(np.asarray(v) for v in at)
    return Attack(name, kind, make, more.pop("plain", function), signature, lambda: values, **more)


def summed(mask_or_part):
    """The sum of exponentials of a part, which is positive where the part is not empty."""
    return lambda x: jnp.sum(jnp.exp(mask_or_part(x)))


def ratio(f):
    return lambda x: f(x) / f(x)


def by_scan(x, step):
    """Steps over the entries of a vector, from 0."""
    return lax.scan(step, jnp.zeros_like(x[0]), x)


ATTACKS = [
    one(
        "a_logarithm_that_vanishes_at_two_points",
        FORGOTTEN,
        lambda x: jnp.log(x * x) / jnp.log(x * x),
        -1.0,
        excluded_by=("log(x^2) ≠ 0", "2*log(abs(x)) ≠ 0", "x ≠ -1"),
    ),
    one(
        "a_factor_of_a_polynomial",
        FORGOTTEN,
        lambda x: (x * x - 4) / ((x - 2) * (x + 2)),
        -2.0,
        excluded_by=("x ≠ −2", "`x0` ≠ -2"),
    ),
    one(
        "a_difference_of_logarithms",
        FORGOTTEN,
        lambda x: jnp.exp(jnp.log(x) - jnp.log(x)),
        -1.0,
        excluded_by=("x > 0",),
    ),
    one(
        "a_root_times_its_inverse",
        FORGOTTEN,
        lambda x: jnp.sqrt(x + 3) * lax.rsqrt(x + 3),
        -3.0,
        excluded_by=("x > −3", "`x0` > -3"),
    ),
    one("a_difference_of_inverses", FORGOTTEN, lambda x: 1 + (1 / x - 1 / x), 0.0, excluded_by=("x ≠ 0",)),
    one(
        "a_sine_over_itself",
        FORGOTTEN,
        lambda x: jnp.sin(x) ** 2 / (1 - jnp.cos(x) ** 2),
        0.0,
        excluded_by=("cos(x) ≠ 1",),
    ),
    one(
        "an_arcsine_outside_of_its_domain",
        FORGOTTEN,
        lambda x: 1 + jnp.arcsin(x) - jnp.arcsin(x),
        2.0,
        excluded_by=("x ≤ 1", "x < 1", "-1 ≤ x ≤ 1", "1 - x^2 ≥ 0"),
    ),
    one(
        "a_hyperbolic_arctangent_outside",
        FORGOTTEN,
        lambda x: 1 + 0 * jnp.arctanh(x),
        2.0,
        excluded_by=("x < 1", "1 - x^2 > 0"),
    ),
    one(
        "an_exponential_less_one",
        FORGOTTEN,
        lambda x: jnp.expm1(x) / (jnp.exp(x) - 1),
        0.0,
        excluded_by=("exp(x) - 1 ≠ 0", "exp(x) ≠ 1", "x ≠ 0"),
    ),
    one(
        "a_product_that_vanishes_on_a_line",
        FORGOTTEN,
        lambda x: (x[::-1] - x + 1e-3 - 1e-3) / (x[::-1] - x),
        1.0,
        1.0,
        excluded_by=("x[-i+n - 1] ≠ x[i]",),
    ),
    row("an_entry_that_is_zero_somewhere", FORGOTTEN, lambda x: jnp.prod(x / x), [1.0, 0.0], excluded_by=("x ≠ 0",)),
    row(
        "a_sum_that_vanishes", FORGOTTEN, lambda x: jnp.sum(x / jnp.sum(x)), [1.0, -1.0], excluded_by=("(Σi x[i]) ≠ 0",)
    ),
    row(
        "a_deviation_that_vanishes",
        FORGOTTEN,
        lambda x: ratio(lambda x: jnp.sum((x - jnp.mean(x)) ** 2))(x),
        [1.0, 1.0],
        excluded_by=("(Σi x[i])^2 ≠ n·(Σi x[i]^2)",),
    ),
    row(
        "a_range_that_vanishes",
        FORGOTTEN,
        lambda x: ratio(lambda x: jnp.max(x) - jnp.min(x))(x),
        [1.0, 1.0],
        excluded_by=("maxi(x[i]) + maxi(−x[i]) ≠ 0",),
    ),
    row(
        "a_norm_that_vanishes",
        FORGOTTEN,
        lambda x: ratio(lambda x: jnp.linalg.norm(x))(x),
        [0.0, 0.0],
        excluded_by=("(Σi x[i]^2) ≠ 0",),
    ),
    row("nothing_times_an_inverse", RUNS, lambda x: 1 + 0.0 / x, [0.0], excluded_by=("x ≠ 0",)),
    row(
        "a_mask_on_the_wrong_lane",
        RUNS,
        lambda x: where(x > 0, 1.0, where(x < 0, 1.0, x / x)),
        [0.0],
        excluded_by=("x ≠ 0",),
    ),
    row(
        "a_mask_that_leaves_one_point",
        RUNS,
        lambda x: where(x == 2, 1.0, (x * x - 5 * x + 6) / ((x - 2) * (x - 3))),
        [3.0],
        excluded_by=("x^2/6 ≠ 5·x/6 − 1 wherever 1 − [x/2 < 1] − [x/2 > 1] = 0",),
    ),
    row(
        "a_guard_on_another_entry",
        RUNS,
        lambda x: where(x[::-1] != 0, x / x, 1.0),
        [0.0, 1.0],
        excluded_by=("x[i] ≠ 0 wherever x[-i+n - 1] ≠ 0",),
    ),
    row(
        "a_guard_by_a_weaker_comparison",
        RUNS,
        lambda x: where(x >= 0, jnp.sqrt(x) * lax.rsqrt(x), 1.0),
        [0.0],
        excluded_by=("x > 0 wherever x ≥ 0",),
    ),
    row(
        "a_guard_by_the_sum",
        RUNS,
        lambda x: where(jnp.sum(x * x) > 0, x / x, 1.0),
        [0.0, 1.0],
        excluded_by=("x[i] ≠ 0 wherever (Σj x[j]^2) > 0",),
    ),
    row(
        "a_guard_by_all_of_them",
        RUNS,
        lambda x: where(jnp.any(x != 0), x / x, 1.0),
        [0.0, 1.0],
        excluded_by=("x[i] ≠ 0 wherever (Σj [x[j] < 0]) + (Σj [x[j] > 0]) > 0",),
    ),
    plain_vjp(
        "a_selection_between_powers",
        RUNS,
        lambda x, y: where(x > 0, jnp.power(x, y), y),
        "n, n -> n",
        [-1.0],
        [2.0],
        plain=lambda x, y: where(x > 0, jnp.power(where(x > 0, x, 1.0), y), y),
        excluded_by=("x > 0", "`x0` > 0"),
    ),
    plain_vjp(
        "a_norm_guarded_outside",
        RUNS,
        lambda x: where(jnp.sum(x * x) > 0, jnp.sqrt(jnp.sum(x * x)) ** 2, 0.0),
        "n -> ",
        [0.0, 0.0],
        plain=lambda x: jnp.sum(x * x),
        excluded_by=("(Σi x[i]^2) ≠ 0",),
    ),
    plain_vjp(
        "a_scan_with_a_root_in_a_branch",
        RUNS,
        lambda x: by_scan(x, lambda c, a: (c + where(a > 0, jnp.sqrt(a), a), c))[0],
        "n -> ",
        [-1.0, 2.0],
        plain=lambda x: jnp.sum(where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)), x)),
        excluded_by=("x > 0", "`x0` ≥ 0"),
    ),
    plain_vjp(
        "a_map_with_an_inverse_in_a_branch",
        RUNS,
        lambda x: lax.map(lambda a: where(a == 0, 0 * a, a * a * (1 / a)), x),
        "n -> n",
        [0.0, 2.0],
        plain=lambda x: x,
        excluded_by=("x ≠ 0",),
    ),
    row(
        "a_division_inside_a_scan",
        FORGOTTEN,
        lambda x: by_scan(x, lambda c, a: (a / a, a / a))[1],
        [0.0, 1.0],
        excluded_by=("x ≠ 0",),
    ),
    row(
        "a_division_by_the_carry_of_a_scan",
        FORGOTTEN,
        lambda x: by_scan(x, lambda c, a: (c + a, (c + a) / (c + a)))[1],
        [1.0, -1.0, 3.0],
        excluded_by=("c[i] + x[i] ≠ 0 where c[0] = 0, c[s+1] = c[s] + x[s]",),
    ),
    row(
        "a_division_in_a_cond",
        FORGOTTEN,
        lambda x: lax.cond(jnp.sum(x) > 3, lambda x: x / x, jnp.ones_like, x),
        [0.0, 4.0],
        excluded_by=("x[i] ≠ 0 wherever (Σj x[j])/3 > 1",),
    ),
    row(
        "a_division_in_a_switch",
        FORGOTTEN,
        lambda x: lax.switch(jnp.size(x) - 1, [jnp.ones_like, lambda x: x / x], x),
        [0.0, 4.0],
        excluded_by=("x ≠ 0 wherever n ≥ 2",),
    ),
    row(
        "a_division_in_a_loop",
        FORGOTTEN,
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * (x[i] / x[i]), jnp.ones_like(x[0])),
        [0.0, 4.0],
        excluded_by=("x[i] + x[n - 1]·[i-n ≥ 0] ≠ x[i]·[i-n ≥ 0]",),
    ),
    row(
        "all_but_the_first", EMPTY, ratio(summed(lambda x: x[1:])), [1.0], excluded_by=("(Σi exp(x[i+1])) ≠ 0", "n ≥ 2")
    ),
    row("all_but_the_last", EMPTY, ratio(summed(lambda x: x[:-1])), [1.0], excluded_by=("(Σi exp(x[i])) ≠ 0", "n ≥ 2")),
    row(
        "the_first_half",
        EMPTY,
        ratio(summed(lambda x: x[: x.shape[0] // 2])),
        [1.0],
        excluded_by=("(Σi exp(x[i])) ≠ 0", "n ≥ 2"),
    ),
    row(
        "every_second_from_the_second",
        EMPTY,
        ratio(summed(lambda x: x[1::2])),
        [1.0],
        excluded_by=("(Σi exp(x[2i+1])) ≠ 0", "n ≥ 2"),
    ),
    row(
        "the_third_and_later_by_a_mask",
        EMPTY,
        ratio(lambda x: jnp.sum(where(jnp.arange(x.shape[0]) >= 2, jnp.exp(x), 0.0))),
        [1.0, 2.0],
        excluded_by=("(Σi [i-2 ≥ 0]·exp(x[i])) ≠ 0", "n ≥ 3"),
    ),
    row(
        "what_comes_before",
        EMPTY,
        lambda x: ratio(
            lambda x: jnp.sum(where(jnp.arange(x.shape[0])[:, None] > jnp.arange(x.shape[0]), jnp.exp(x), 0.0), axis=1)
        )(x),
        [1.0, 2.0],
    ),
    row(
        "differences_of_neighbours",
        EMPTY,
        ratio(lambda x: jnp.sum(jnp.exp(jnp.diff(x)))),
        [1.0],
        excluded_by=("(Σi exp(x[i+1])·exp(−x[i])) ≠ 0", "n ≥ 2"),
    ),
    row(
        "pairs_of_different_entries",
        EMPTY,
        ratio(lambda x: jnp.sum(where(jnp.eye(x.shape[0]) > 0, 0.0, jnp.exp(x[:, None] + x)))),
        [1.0],
        excluded_by=("(Σi exp(x[i]))^2 ≠ (Σi exp(2·x[i]))", "n ≥ 2"),
    ),
    row(
        "an_unbiased_count",
        EMPTY,
        lambda x: (jnp.size(x) - 1) / (jnp.asarray(x.shape[0]) - 1.0),
        [1.0],
        excluded_by=("n ≥ 2", "n ≠ 1"),
    ),
    row(
        "a_window_that_does_not_fit",
        EMPTY,
        ratio(lambda x: jnp.sum(lax.reduce_window(jnp.exp(x), 0.0, lax.add, (3,), (1,), "VALID"))),
        [1.0, 2.0],
        excluded_by=("n ≥ 3",),
    ),
    row(
        "odd_places_counted_from_the_end",
        EMPTY,
        ratio(summed(lambda x: x[::-1][1::2])),
        [1.0],
        excluded_by=("(Σi exp(x[-2i+n - 2])) ≠ 0", "n ≥ 2"),
    ),
    row(
        "places_over_seven",
        EMPTY,
        ratio(lambda x: jnp.sum(where(jnp.arange(x.shape[0]) == 7, jnp.exp(x), 0.0))),
        [1.0, 2.0, 4.0],
        excluded_by=("n ≥ 8",),
    ),
    pulled(
        "a_mean_of_nothing",
        EMPTY,
        lambda x, y: x * y,
        lambda x, y, g: (g * y * ratio(lambda z: jnp.sum(jnp.exp(z[y.shape[0] // 3 :][: y.shape[0] // 3])))(x), g * x),
        "n, n -> n",
        [1.0, 2.0],
        [1.0, 2.0],
        excluded_by=("(Σi exp(x[i+floordiv(n, 3)])) ≠ 0", "n ≥ 3"),
    ),
    row(
        "nothing_times_infinity",
        INFINITE,
        lambda x: 1 + 0 * where(x > 0, jnp.inf, 1.0),
        [1.0],
        excluded_by=("x ≤ 0", "`x0` ≤ 0"),
    ),
    row(
        "a_logarithm_of_nothing",
        INFINITE,
        lambda x: 1 + 0 * jnp.log(jnp.maximum(x, 0.0)),
        [-1.0],
        excluded_by=("x·[x > 0] > 0",),
    ),
    row(
        "the_largest_of_a_masked_row",
        INFINITE,
        lambda x: jnp.exp(jnp.max(where(x > 0, x, -jnp.inf)) - jnp.max(where(x > 0, x, -jnp.inf))),
        [-1.0, -2.0],
        excluded_by=("(Σi [x[i] > 0]) > 0",),
    ),
    row(
        "a_masked_softmax_of_nothing",
        INFINITE,
        lambda x: jnp.sum(jax.nn.softmax(where(x > 0, x, -jnp.inf))),
        [-1.0, -2.0],
        excluded_by=("(Σi [x[i] > 0]) > 0",),
    ),
    pulled(
        "a_masked_softmax_with_an_empty_row",
        INFINITE,
        lambda x, m: jax.nn.softmax(where(m, x, -30.0)),
        lambda x, m, g: ((p := jax.nn.softmax(where(m, x, -30.0))) * (g - jnp.sum(p * g)), None),
        "n, n:bool -> n",
        [1.0, 2.0],
        [False, False],
    ),
    pulled(
        "a_masked_logarithm_of_a_sum",
        INFINITE,
        lambda x, m: jax.nn.logsumexp(where(m, x, -2.0)),
        lambda x, m, g: (g * jax.nn.softmax(where(m, x, -2.0)), None),
        "n, n:bool -> ",
        [1.0, 2.0],
        [True, False],
    ),
    pulled(
        "an_average_of_what_is_kept",
        INFINITE,
        lambda x, m: jnp.sum(where(m, x, 0.0)) / jnp.maximum(jnp.sum(m), 1),
        lambda x, m, g: (g * m / jnp.sum(m), None),
        "n, n:bool -> ",
        [1.0, 2.0],
        [False, False],
    ),
    row("not_a_number_replaced", INFINITE, lambda x: jnp.nan_to_num(x / x, nan=3.0), [0.0], excluded_by=("x ≠ 0",)),
    row("what_is_finite", INFINITE, lambda x: where(jnp.isfinite(1 / x), 1.0, 2.0), [0.0], excluded_by=("x ≠ 0",)),
    row("an_infinite_bound", INFINITE, lambda x: 1 + jnp.minimum(jnp.inf * x, 0.0) * 0, [-1.0, 0.0]),
]
