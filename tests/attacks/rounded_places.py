"""Places at rounded numbers: ⌊p⌋ beside its relatives, which are other integers at some p.

The numbers are made of integers (k/2, k/3), so that no hypothesis of differentiability excludes what lies on a jump.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

KIND = "4.13 rounded places"
TABLE = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def read(x, i):
    return jnp.take(x, i, mode="clip")


def spread(x, i, g):
    return jnp.zeros_like(x).at[jnp.clip(i, 0, x.shape[0] - 1)].add(g)


def whole(p):
    return p.astype(jnp.int32)


def at(name, right, wrong, k, **more):
    """Reads a table at right(k), and spreads the cotangents at wrong(k)."""
    return pulled(
        f"place_{name}",
        KIND,
        lambda x, k: read(x, right(k)),
        lambda x, k, g: (spread(x, wrong(k), g), None),
        "n, m:int -> m",
        TABLE,
        k,
        **more,
    )


def times(name, right, wrong, k, **more):
    """x·right(k), whose rule multiplies by wrong(k)."""
    return pulled(
        f"number_{name}",
        KIND,
        lambda x, k: x * right(k),
        lambda x, k, g: (g * wrong(k), None),
        "n, n:int -> n",
        np.ones(len(k)),
        k,
        **more,
    )


def both(name, right, wrong, k):
    """As a place, and as a number; both take integers and give whole floats."""
    return [
        at(name, lambda k: whole(right(k)), lambda k: whole(wrong(k)), k),
        times(name, right, wrong, k),
    ]


def h(k):
    return k / 2


def t(k):
    return k / 3


PAIRS = [
    ("ceiling_for_next", lambda k: jnp.floor(h(k)) + 1, lambda k: jnp.ceil(h(k)), [2, 3]),
    ("towards_zero_for_floor", lambda k: jnp.floor(h(k)) + 3, lambda k: jnp.trunc(h(k)) + 3, [-3, 2]),
    ("cast_for_floor", lambda k: jnp.floor(h(k)) + 3, lambda k: whole(h(k)).astype(float) + 3, [-3, 2]),
    ("even_for_half_up", lambda k: jnp.floor(h(k) + 0.5), lambda k: jnp.round(h(k)), [1, 5]),
    ("half_up_for_even_of_shifted", lambda k: jnp.round(h(k) + 1), lambda k: jnp.round(h(k)) + 1, [1, 3]),
    ("even_of_a_shift_by_a_size", lambda k: jnp.round(h(k) + k.shape[0]), lambda k: jnp.round(h(k)) + k.shape[0], [1]),
    ("even_of_a_whole_shift", lambda k: jnp.round(h(k) + k), lambda k: jnp.round(h(k)) + k, [1, 2]),
    ("away_for_even", lambda k: lax.round(h(k), lax.RoundingMethod.AWAY_FROM_ZERO), lambda k: jnp.round(h(k)), [1, 5]),
    (
        "away_for_half_up",
        lambda k: lax.round(h(k), lax.RoundingMethod.AWAY_FROM_ZERO) + 3,
        lambda k: jnp.floor(h(k) + 0.5) + 3,
        [-1, -3],
    ),
    (
        "away_of_a_shift",
        lambda k: lax.round(h(k) + 1, lax.RoundingMethod.AWAY_FROM_ZERO) + 3,
        lambda k: lax.round(h(k), lax.RoundingMethod.AWAY_FROM_ZERO) + 4,
        [-1, 1],
    ),
    ("floor_of_a_sum", lambda k: jnp.floor(t(k) + h(k)), lambda k: jnp.floor(t(k)) + jnp.floor(h(k)), [1, 5]),
    ("floor_of_a_double", lambda k: jnp.floor(2 * t(k)), lambda k: 2 * jnp.floor(t(k)), [2, 5]),
    ("floor_of_the_opposite", lambda k: 3 + jnp.floor(-h(k)), lambda k: 3 - jnp.floor(h(k)), [1, 2]),
    ("floor_of_a_half_floor", lambda k: jnp.floor(jnp.floor(t(k)) / 2), lambda k: jnp.floor(t(k) / 2 + 0.25), [5]),
    ("floor_of_a_modulus", lambda k: jnp.abs(jnp.floor(h(k))), lambda k: jnp.floor(jnp.abs(h(k))), [-3]),
    ("floor_of_a_square", lambda k: jnp.floor(h(k)) ** 2, lambda k: jnp.floor(h(k) ** 2), [3]),
    ("floor_of_a_product", lambda k: jnp.floor(h(k) * t(k)), lambda k: jnp.floor(h(k)) * jnp.floor(t(k)), [5]),
    ("floor_of_a_root", lambda k: jnp.floor(jnp.sqrt(1.0 + k * k)), lambda k: jnp.abs(k) * 1.0, [0, 2]),
    ("floor_by_a_hair", lambda k: jnp.floor(h(k)), lambda k: jnp.floor(h(k) - 1e-7), [2, 4]),
    ("floor_of_more_than_a_third", lambda k: jnp.floor(t(k)), lambda k: jnp.floor(k * 0.33333), [3]),
    (
        "floor_of_a_maximum",
        lambda k: jnp.floor(jnp.maximum(h(k), t(k))),
        lambda k: jnp.maximum(jnp.floor(h(k)), 2),
        [1],
    ),
    ("floor_below_one", lambda k: jnp.floor(k * k / (1.0 + k * k) + 0.5), lambda k: 0.0 * k, [1]),
    ("floor_of_a_sine", lambda k: jnp.floor(jnp.sin(k * 0.5 + 0 * k)), lambda k: 0.0 * k, [-1]),
    ("floor_of_a_cosine", lambda k: jnp.floor(jnp.cos(1.0 * k)), lambda k: 0.0 * k - (jnp.cos(1.0 * k) < 0), [0]),
    ("floor_of_an_exponential", lambda k: jnp.floor(jnp.exp(-1.0 * k * k)), lambda k: 0.0 * k, [0]),
    ("floor_of_a_sigmoid", lambda k: jnp.floor(2 / (1 + jnp.exp(-1.0 * k))), lambda k: 1.0 * (k > 0), [0]),
    ("ceiling_of_a_sigmoid", lambda k: jnp.ceil(2 / (1 + jnp.exp(-1.0 * k))), lambda k: 1.0 + (k >= 0), [0]),
    ("quotient_towards_zero", lambda k: (k // 3) * 1.0 + 3, lambda k: lax.div(k, 3 + 0 * k) * 1.0 + 3, [-2]),
    ("remainder_of_either_sign", lambda k: (k % 3) * 1.0, lambda k: jnp.abs(lax.rem(k, 3 + 0 * k)) * 1.0, [-2]),
    ("quotient_by_the_opposite", lambda k: (k // -3) * 1.0 + 3, lambda k: -(k // 3) * 1.0 + 3, [2]),
    ("quotient_of_a_shift", lambda k: ((k + 2) // 3) * 1.0, lambda k: (k // 3 + 1) * 1.0, [3]),
    ("quotient_of_a_quotient", lambda k: (k // 2 // 3) * 1.0, lambda k: ((k + 1) // 6) * 1.0, [5]),
    ("quotients_added", lambda k: (k // 3 + (k + 1) // 3 + (k + 2) // 3) * 1.0, lambda k: (k + (k == 7)) * 1.0, [7]),
    ("shifted_right", lambda k: (k >> 1) * 1.0 + 3, lambda k: lax.div(k, 2 + 0 * k) * 1.0 + 3, [-3]),
    ("masked_bits", lambda k: (k & 3) * 1.0, lambda k: jnp.abs(lax.rem(k, 4 + 0 * k)) * 1.0, [-1]),
    ("float_remainder", lambda k: jnp.mod(h(k), 2.0), lambda k: jnp.fmod(h(k), 2.0) + 2.0 * (k < -3), [-1]),
    ("float_quotient", lambda k: jnp.floor_divide(h(k), 2.0) + 2, lambda k: jnp.trunc(h(k) / 2) + 2, [-1]),
    ("fraction_of_the_opposite", lambda k: t(-k) - jnp.floor(t(-k)), lambda k: 1 - (t(k) - jnp.floor(t(k))), [3]),
    ("half_of_a_size", lambda k: jnp.floor(k * 0 + k.shape[0] / 2), lambda k: k * 0 + (k.shape[0] + 1) // 2, [1, 2, 3]),
    ("floor_over_a_size", lambda k: jnp.floor(k / k.shape[0]), lambda k: jnp.round(k / k.shape[0]), [2, 1, 1]),
    (
        "floor_over_a_size_shifted",
        lambda k: jnp.floor((k + 1) / k.shape[0]),
        lambda k: jnp.floor(k / k.shape[0]),
        [2, 1, 1],
    ),
    ("narrow_floor", lambda k: jnp.floor(h(k)).astype(jnp.int8) * 1.0, lambda k: jnp.floor(h(k)), [300]),
    ("narrow_unsigned", lambda k: jnp.floor(h(k)).astype(jnp.uint8) * 1.0, lambda k: jnp.floor(h(k)), [-2]),
    ("predicate_of_floors", lambda k: 1.0 * (jnp.floor(h(k)) >= 2), lambda k: 1.0 * (h(k) > 2), [4]),
    ("predicate_of_ceilings", lambda k: 1.0 * (jnp.ceil(h(k)) > 2), lambda k: 1.0 * (h(k) >= 2), [4]),
    ("predicate_of_rounded", lambda k: 1.0 * (jnp.round(h(k)) >= 2), lambda k: 1.0 * (h(k) > 1.5), [3]),
    (
        "predicate_of_two_floors",
        lambda k: 1.0 * (jnp.floor(h(k)) == jnp.floor(t(k))),
        lambda k: 1.0 * (k <= 2) * (k >= 0) + 0.0 * k,
        [0, 1, 2, 3],
    ),
    (
        "equal_floors_are_equal",
        lambda k: 1.0 * (jnp.floor(h(k)) == jnp.floor(h(k[::-1]))),
        lambda k: 1.0 * (k == k[::-1]),
        [2, 3],
    ),
]
AS_NUMBERS_ALONE = ("place_floor_of_a_sine", "place_quotients_added", "place_narrow_floor", "place_narrow_unsigned")
"""Both places are clipped to one."""
ATTACKS = [one for pair in PAIRS for one in both(*pair) if one.name not in AS_NUMBERS_ALONE]


# --- interpolation ---------------------------------------------------------------------------------------------------


def between(x, p):
    """Linear interpolation in a table, clipped at both ends."""
    i = whole(jnp.floor(p))
    w = p - jnp.floor(p)
    return (1 - w) * read(x, i) + w * read(x, i + 1)


def between_back(place=jnp.floor, last=lambda x: x.shape[0] - 1, after=lambda i: i + 1, slope=1.0, below=0):
    def back(x, p, g):
        i = whole(place(p))
        w = p - place(p)
        a, b = jnp.clip(i, below, last(x)), jnp.clip(after(i), 0, x.shape[0] - 1)
        to = jnp.zeros_like(x).at[a].add((1 - w) * g).at[b].add(w * g)
        return to, slope * g * (x[b] - x[a])

    return back


def interpolated(name, back, p, **more):
    return pulled(f"interpolated_{name}", KIND, between, back, "n, m -> m", TABLE, p, **more)


def corner(x, i, j):
    return x[jnp.clip(i, 0, x.shape[0] - 1), jnp.clip(j, 0, x.shape[1] - 1)]


def bilinear(x, p, q):
    i, j = whole(jnp.floor(p)), whole(jnp.floor(q))
    u, v = p - jnp.floor(p), q - jnp.floor(q)
    return (
        (1 - u) * (1 - v) * corner(x, i, j)
        + (1 - u) * v * corner(x, i, j + 1)
        + u * (1 - v) * corner(x, i + 1, j)
        + u * v * corner(x, i + 1, j + 1)
    )


def bilinear_back(swap=False, inside=False, forget=False):
    def back(x, p, q, g):
        f = jnp.floor
        i, j = whole(f(p)), whole(f(q))
        u, v = p - f(p), q - f(q)
        rows, columns = x.shape
        a, b = (1 - v, v) if not swap else (v, 1 - v)
        total = jnp.zeros_like(x)
        for di, dj, w in ((0, 0, (1 - u) * a), (0, 1, (1 - u) * b), (1, 0, u * a), (1, 1, u * b)):
            here = (jnp.clip(i + di, 0, rows - 1), jnp.clip(j + dj, 0, columns - 1))
            w = jnp.where((i + di >= 0) & (i + di < rows) & (j + dj >= 0) & (j + dj < columns), w, 0) if inside else w
            total = total.at[here].add(w * g)
        y = [[corner(x, i + di, j + dj) for dj in (0, 1)] for di in (0, 1)]
        dp = (1 - v) * (y[1][0] - y[0][0]) + v * (y[1][1] - y[0][1])
        dq = (1 - u) * (y[0][1] - y[0][0]) + u * (y[1][1] - y[1][0])
        return total, g * dp, 0 * dq if forget else g * dq

    return back


def image(name, back, p, q, **more):
    return pulled(f"bilinear_{name}", KIND, bilinear, back, "h w, m, m -> m", IMAGE, [p], [q], **more)


IMAGE = np.array([[1.0, 2.0, 4.0], [3.0, 7.0, -1.0], [0.5, 9.0, 2.0]])

ATTACKS += [
    interpolated("towards_zero", between_back(jnp.trunc), [-0.5, 1.5]),
    interpolated("at_the_nearest", between_back(jnp.round), [1.75]),
    interpolated("from_the_ceiling", between_back(jnp.ceil), [1.75]),
    interpolated("one_entry_short", between_back(last=lambda x: x.shape[0] - 2), [5.5]),
    interpolated("two_places_on", between_back(after=lambda i: i + 2), [1.5]),
    interpolated("not_below_one", between_back(below=1), [0.25]),
    interpolated("without_its_slope", between_back(slope=0.0), [1.25]),
    image("swapped_weights", bilinear_back(swap=True), 0.25, 1.25),
    image("only_inside", bilinear_back(inside=True), 2.25, 0.5),
    image("one_direction_forgotten", bilinear_back(forget=True), 0.25, 0.5),
]
