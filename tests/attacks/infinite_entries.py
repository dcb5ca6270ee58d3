"""Infinities that a primitive passes by: what is masked with −∞ counts, and an infinity hides that it is no number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .written import pulled

KIND = "4.17 infinities"
INF = float("inf")
where = jnp.where


def low(x):
    """−∞, or NaN where x is negative."""
    return -INF * jnp.exp(jnp.log(x))


def high(x):
    return INF * jnp.exp(jnp.log(x))


def half(x):
    return x * x / 2


def gated(name, through, at=(-1.0, 2.0), **more):
    """Half a square, whose rule passes the cotangent by an infinity that is none for x < 0."""
    return pulled(
        f"infinity_{name}", KIND, half, lambda x, g: x * through(x, g), "n -> n", np.array(at, dtype=float), **more
    )


def started(name, value, back, y, m, x, s, **more):
    """Segments with numbers to begin with, some of which are masked."""
    return pulled(
        f"infinity_{name}",
        KIND,
        value,
        lambda y, m, x, s, g: (*back(y, m, x, s, g), None),
        "3, 3:bool, n, n:int -> 3",
        y,
        m,
        x,
        s,
        domain=("s >= 0", "s < 3"),
        **more,
    )


def set_at(name, value, back, x, y, m, **more):
    """One entry is combined with a number that may be masked."""
    return pulled(
        f"infinity_{name}",
        KIND,
        value,
        lambda x, y, m, g: (*back(x, y, m, g), None),
        "n, , :bool -> n",
        x,
        y,
        m,
        **more,
    )


def first_max(x, y):
    """The larger of the first entry and y in its place."""
    return x.at[0].max(y)


def back_of_first(x, y, g):
    yes = where(x[0] > y, 1.0, 0.0)
    return g.at[0].multiply(yes), g[0] * (1 - yes)


def raised(y, x, s):
    return y.at[s].max(x)


def back_of_raised(y, x, s, g):
    out = raised(y, x, s)
    return where(out == y, g, 0.0), where(x == out[s], g[s], 0.0)


ATTACKS = [
    gated("beside_a_maximum", lambda x, g: jnp.maximum(g, low(x))),
    gated("beside_a_maximum_first", lambda x, g: jnp.maximum(low(x), g)),
    gated("beside_a_minimum", lambda x, g: jnp.minimum(g, high(x))),
    gated("clamped", lambda x, g: jnp.clip(g, low(x), high(x))),
    gated("clamped_below", lambda x, g: jax.lax.clamp(low(x), g, x * 0 + 1e9), excluded_by=("≤ 1000000000",)),
    gated("above_it", lambda x, g: where(g > low(x), g, 0.0)),
    gated("below_it", lambda x, g: where(g < high(x), g, 0.0)),
    gated("between_two", lambda x, g: jnp.maximum(jnp.minimum(g, high(x)), -INF)),
    gated("far_away", lambda x, g: jnp.maximum(g, low(x + 1e6)), at=(-2e6, 1.0)),
    gated("at_least_it", lambda x, g: where(low(x) <= g, g, 0.0)),
    gated("its_exponential", lambda x, g: g + jnp.exp(low(x))),
    gated("that_is_not_finite", lambda x, g: where(jnp.isfinite(low(x)), 0.0, g) + 0 * jnp.exp(low(x))),
    gated("two_of_them_equal", lambda x, g: where(low(x) == -INF, g, 0.0)),
    gated("two_of_them_differ", lambda x, g: where(low(x) < high(x), g, 0.0)),
    gated("of_its_opposite", lambda x, g: jnp.minimum(g, -low(x))),
    gated("added_to_it", lambda x, g: jnp.maximum(g, low(x) + x)),
    gated("of_a_root", lambda x, g: jnp.maximum(g, -INF * jnp.exp(jnp.sqrt(x)))),
    gated("of_a_sigmoid", lambda x, g: g + jax.nn.sigmoid(low(x))),
    gated("of_a_row", lambda x, g: jnp.maximum(g, jnp.broadcast_to(low(x)[:1], x.shape))),
    started(
        "to_begin_with_masked",
        lambda y, m, x, s: raised(where(m, y, -INF), x, s),
        lambda y, m, x, s, g: (back_of_raised(y, x, s, g)[0], None, back_of_raised(y, x, s, g)[1]),
        [5.0, 1.0, 2.0],
        [False, True, True],
        [3.0, 4.0, 2.5, 9.0],
        [0, 0, 2, 1],
    ),
    set_at(
        "one_entry_raised_to_it",
        lambda x, y, m: jnp.exp(-first_max(x, where(m, y, INF))),
        lambda x, y, m, g: (*back_of_first(x, y, -jnp.exp(-first_max(x, y)) * g), None)[:2],
        [1.0, 2.0],
        3.0,
        False,
    ),
    set_at(
        "one_entry_raised_to_a_masked_one",
        lambda x, y, m: first_max(x, where(m, y, -INF)),
        lambda x, y, m, g: back_of_first(x, y, g),
        [1.0, 2.0],
        3.0,
        False,
    ),
    set_at(
        "one_entry_lowered_to_a_masked_one",
        lambda x, y, m: x.at[0].min(where(m, y, INF)),
        lambda x, y, m, g: (g.at[0].multiply(1.0 * (x[0] < y)), g[0] * (x[0] >= y)),
        [5.0, 2.0],
        3.0,
        False,
    ),
    set_at(
        "one_masked_entry_raised",
        lambda x, y, m: jnp.exp(where(m, x, -INF).at[0].max(y)),
        lambda x, y, m, g: back_of_first(x, y, jnp.exp(first_max(x, y)) * g),
        [4.0, 2.0],
        3.0,
        False,
    ),
]
