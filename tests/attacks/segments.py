"""Segments: entries that are masked, segments that are empty, numbers of segments out of range, sorted promises."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .written import pulled

KIND = "B segments"
WITHIN = ("s >= 0", "s < 3")
WITHIN_M = ("s >= 0", "s < 3")
X = [1.0, 5.0, 2.0, 4.0]
S = [0, 0, 2, 2]
M = [True, False, True, True]


def largest(x, s):
    return jax.ops.segment_max(x, s, num_segments=3)


def smallest(x, s):
    return jax.ops.segment_min(x, s, num_segments=3)


def filled(y, by=0.0):
    return jnp.where(jnp.isfinite(y), y, by)


def masked(name, value, back, x=X, m=M, s=S, domain=WITHIN, signature="n, n:bool, n:int -> 3", **more):
    """Of entries that a mask keeps."""
    return pulled(
        f"segments_{name}",
        KIND,
        value,
        lambda x, m, s, g: (back(x, m, s, g), None, None),
        signature,
        x,
        m,
        s,
        domain=domain,
        **more,
    )


def segments(name, value, back, x=X, s=S, domain=WITHIN, signature="n, n:int -> 3", **more):
    return pulled(
        f"segments_{name}",
        KIND,
        value,
        lambda x, s, g: (back(x, s, g), None),
        signature,
        x,
        s,
        domain=domain,
        **more,
    )


def kept(x, m):
    return jnp.where(m, x, -jnp.inf)


def to_largest(x, s, g):
    return jnp.where(x == largest(x, s)[s], g[s], 0.0)


def to_smallest(x, s, g):
    return jnp.where(x == smallest(x, s)[s], g[s], 0.0)


ATTACKS = [
    masked("mask_ignored", lambda x, m, s: filled(largest(kept(x, m), s)), lambda x, m, s, g: to_largest(x, s, g)),
    masked(
        "mask_ignored_below",
        lambda x, m, s: filled(smallest(jnp.where(m, x, jnp.inf), s)),
        lambda x, m, s, g: to_smallest(x, s, g),
        m=[False, True, True, True],
    ),
    masked(
        "mask_after_the_maximum",
        lambda x, m, s: filled(largest(kept(x, m), s)),
        lambda x, m, s, g: jnp.where(m, to_largest(x, s, g), 0.0),
    ),
    masked(
        "mask_on_empty_segments_alone",
        lambda x, m, s: jnp.where(largest(1.0 * m, s) > 0, filled(largest(kept(x, m), s)), 0.0),
        lambda x, m, s, g: to_largest(x, s, g),
    ),
    masked(
        "mask_ignored_one_entry_each",
        lambda x, m, s: jnp.exp(largest(kept(x, m), s)),
        lambda x, m, s, g: to_largest(x, s, jnp.exp(largest(x, s)) * g),
        s=[0, 0, 1, 2],
    ),
]


# --- without masks ---------------------------------------------------------------------------------------------------


def total(x, s, **how):
    return jax.ops.segment_sum(x, s, num_segments=3, **how)


def count(x, s):
    return total(jnp.ones_like(x), s)


def mean(x, s):
    return total(x, s) / jnp.maximum(count(x, s), 1.0)


def shares(x, s):
    """The softmax of each segment."""
    e = jnp.exp(x - largest(x, s)[s])
    return e / total(e, s)[s]


def anywhere(name, value, back, s, x=X, domain=(), **more):
    return segments(name, value, back, x=x, s=s, domain=domain, **more)


ATTACKS += [
    segments(
        "first_of_ties",
        lambda x, s: filled(largest(x, s)),
        lambda x, s, g: to_largest(x, s, g),
        [2.0, 2.0, 1.0],
        [0, 0, 1],
        excluded_by=("is unique",),
    ),
    segments("largest_for_smallest", lambda x, s: filled(smallest(x, s)), to_largest),
    segments("largest_of_all", lambda x, s: filled(largest(x, s)), lambda x, s, g: where_largest(x, g, s)),
    segments("empty_ones_filled_with_the_first", lambda x, s: filled(largest(x, s), x[0]), to_largest),
    segments(
        "empty_ones_filled_with_a_square",
        lambda x, s: jnp.where(count(x, s) > 0, largest(x, s), jnp.sum(x * x)),
        to_largest,
    ),
    segments(
        "one_too_many_counted",
        mean,
        lambda x, s, g: (g / jnp.maximum(count(x, s) + (count(x, s) == 3), 1.0))[s],
        [1.0, 2.0, 3.0],
        [1, 1, 1],
    ),
    segments("the_mean_of_all", mean, lambda x, s, g: g[s] / x.shape[0]),
    segments(
        "a_mean_whose_count_is_not_clipped",
        lambda x, s: total(x, s) / count(x, s).clip(1.0),
        lambda x, s, g: (g / (count(x, s) + 1e-3 * (count(x, s) > 3)))[s],
        [1.0] * 4,
        [2] * 4,
    ),
    segments("sums_that_are_averaged", total, lambda x, s, g: (g / jnp.maximum(count(x, s), 1.0))[s]),
    segments(
        "shares_of_all",
        shares,
        lambda x, s, g: shares(x, s) * (g - jnp.sum(shares(x, s) * g)),
        signature="n, n:int -> n",
    ),
    segments(
        "moved_by_the_maximum_of_each", lambda x, s: x - largest(x, s)[s], lambda x, s, g: g, signature="n, n:int -> n"
    ),
    segments(
        "moved_by_the_mean_of_each",
        lambda x, s: x - mean(x, s)[s],
        lambda x, s, g: g - jnp.mean(g),
        signature="n, n:int -> n",
    ),
    segments("the_spread_of_each", lambda x, s: total((x - mean(x, s)[s]) ** 2, s), lambda x, s, g: 2 * x * g[s]),
    segments(
        "largest_raised_by_one_place",
        lambda x, s: filled(largest(x, s)),
        lambda x, s, g: jnp.where(x == largest(x, s)[s], g[jnp.maximum(s - 1, 0)], 0.0),
        s=[0, 1, 2, 2],
    ),
    anywhere("sums_below_zero", total, lambda x, s, g: g[s], [-1, 0, 1, 2], excluded_by=("s ≥ -3", "s ≥ −3", "x1")),
    anywhere(
        "sums_far_below_zero", total, lambda x, s, g: g[s], [-7, 0, 1, 2], excluded_by=("s ≥ -3", "s ≥ −3", "x1` ≥")
    ),
    anywhere("sums_above", total, lambda x, s, g: g.at[s].get(mode="clip"), [3, 0, 1, 2]),
    anywhere("sums_above_filled", total, lambda x, s, g: g.at[s].get(mode="fill", fill_value=0.0), [-1, 0, 1, 2]),
    anywhere(
        "sums_clipped",
        lambda x, s: total(x, s, mode="clip"),
        lambda x, s, g: g.at[s].get(mode="fill", fill_value=0.0),
        [4, 0, 1, 2],
    ),
    anywhere(
        "sorted_by_promise",
        lambda x, s: total(x, s, indices_are_sorted=True),
        lambda x, s, g: (
            2 * g.at[s].get(mode="fill", fill_value=0.0, indices_are_sorted=True) - g.at[s].get(mode="clip")
        ),
        [0, 0, 1, 3],
    ),
    anywhere(
        "unique_by_promise",
        lambda x, s: total(x, s),
        lambda x, s, g: jnp.where(
            jnp.zeros(3).at[s].add(1.0, mode="drop").at[s].get(mode="clip") > 1.5,
            0.0,
            g.at[s].get(mode="fill", fill_value=0.0),
        ),
        [0, 0, 1, 2],
    ),
    anywhere(
        "largest_above",
        lambda x, s: filled(largest(x, s)),
        lambda x, s, g: jnp.where(x == largest(x, s).at[s].get(mode="clip"), g.at[s].get(mode="clip"), 0.0),
        [3, 0, 1, 2],
        x=[9.0, 1.0, 2.0, 9.0],
    ),
    anywhere(
        "by_rounded_numbers",
        lambda x, s: total(x, jnp.round(s / 2).astype(jnp.int32)),
        lambda x, s, g: g.at[jnp.floor((s + 1) / 2).astype(jnp.int32)].get(mode="fill", fill_value=0.0),
        [1, 0, 1, 2],
    ),
    anywhere(
        "by_quotients",
        lambda x, s: total(x, s // 2),
        lambda x, s, g: g.at[jax.lax.div(s, 2 + 0 * s)].get(mode="fill", fill_value=0.0),
        [-1, 0, 1, 2],
    ),
]


def where_largest(x, g, s):
    return jnp.where(x == jnp.max(x), g[s], 0.0)
