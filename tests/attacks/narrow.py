"""Attacks through integers that are too narrow for a count, an index or a step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled

KIND = "C narrow integers"
IN_RANGE = "integer arithmetic stays in the range of its type"
"""What claims say of wide signed integers."""
where = jnp.where
LONG = 40_000


def counted(name, condition, at, **more):
    """The attack on half a sum of squares that is wrong where a count is."""
    return pulled(
        name,
        KIND,
        lambda x: jnp.sum(x * x) / 2,
        lambda x, g: g * where(condition(x), 5 * x, x),
        "n -> ",
        at,
        **more,
    )


def of_integers(name, condition, x, k, **more):
    """The attack on half a square that is wrong where an integer is extreme."""
    return pulled(
        name,
        KIND,
        lambda x, k: x * x / 2,
        lambda x, k, g: (g * where(condition(k), 5 * x, x), np.zeros(np.shape(k), jax.dtypes.float0)),
        "n, n:int -> n",
        x,
        k,
        **more,
    )


def last_is_largest(size):
    return np.linspace(1, 2, size)


def scanned(x):
    """A counter of 16 bits that a scan carries."""

    def step(count, value):
        return count + jnp.int16(1), value

    return lax.scan(step, jnp.int16(0), x)[0]


def looped(x):
    """A counter of 16 bits in a loop that an array's length bounds."""
    return lax.fori_loop(0, x.shape[0], lambda _, c: c + jnp.int16(1), jnp.int16(0))


ONES = np.ones(LONG)

ATTACKS = [
    counted("an_argmax_of_16_bits", lambda x: lax.argmax(x, 0, jnp.int16) < 0, last_is_largest(LONG)),
    counted("an_argmin_of_8_bits", lambda x: lax.argmin(x, 0, jnp.int8) < 0, -last_is_largest(200)),
    counted("an_iota_of_16_bits", lambda x: jnp.any(lax.iota(jnp.int16, x.shape[0]) < 0), ONES),
    counted("a_range_of_unsigned_8_bits", lambda x: jnp.arange(x.shape[0], dtype=jnp.uint8)[-1] == 43, np.ones(300)),
    counted("a_count_of_16_bits", lambda x: jnp.sum(x > 0, dtype=jnp.int16) < 0, ONES),
    counted("a_running_count_of_16_bits", lambda x: jnp.any(jnp.cumsum(x > 0, dtype=jnp.int16) < 0), ONES),
    counted("a_scanned_count_of_16_bits", lambda x: scanned(x) < 0, ONES),
    counted("a_looped_count_of_16_bits", lambda x: looped(x) < 0, ONES),
    counted("a_cast_size_of_16_bits", lambda x: jnp.full((), x.shape[0], jnp.int32).astype(jnp.int16) < 0, ONES),
    counted(
        "a_dot_of_ones_of_16_bits",
        lambda x: jnp.dot(jnp.ones_like(x, jnp.int16), jnp.ones_like(x, jnp.int16)) < 0,
        ONES,
    ),
    counted(
        "an_associative_count_of_16_bits",
        lambda x: jnp.any(lax.associative_scan(jnp.add, jnp.ones_like(x, jnp.int16)) < 0),
        ONES,
    ),
    counted(
        "an_argsort_cast_to_16_bits",
        lambda x: jnp.any(jnp.argsort(x).astype(jnp.int16) < 0),
        ONES,
    ),
    counted("the_difference_of_masks_as_bits", lambda x: jnp.any((x > 0).astype(jnp.uint8) - 1 > 0), -np.ones(3)),
    of_integers(
        "the_least_integer_is_its_own_absolute_value",
        lambda k: jnp.abs(k) < 0,
        [3.0],
        [-(2**63)],
        excluded_by=(IN_RANGE,),
    ),
    of_integers("a_remainder_by_a_negative_number", lambda k: jnp.mod(k, -3) < -1, [3.0], [1]),
    of_integers("a_truncated_remainder", lambda k: lax.rem(k, jnp.asarray(7, k.dtype)) == -6, [3.0], [-13]),
    of_integers("a_truncated_quotient", lambda k: lax.div(k, jnp.asarray(7, k.dtype)) * 7 > k + 5, [3.0], [-13]),
    of_integers(
        "a_shift_beyond_the_width", lambda k: lax.shift_right_arithmetic(k, jnp.asarray(70, k.dtype)) < 0, [3.0], [-1]
    ),
    of_integers("a_shift_by_a_negative_number", lambda k: (k * 0 + 4) >> k == 0, [3.0], [-1]),
    of_integers("a_logical_shift", lambda k: lax.shift_right_logical(k, jnp.asarray(1, k.dtype)) > 2**29, [3.0], [-2]),
    of_integers("a_number_of_bits", lambda k: lax.population_count(k) > 40, [3.0], [-1]),
    of_integers("a_square_of_8_bits", lambda k: lax.integer_pow(k.astype(jnp.int8), 2) < 0, [3.0], [12]),
    of_integers("a_cast_and_back", lambda k: k.astype(jnp.int16).astype(k.dtype) != k, [3.0], [70_000]),
    of_integers("a_negative_number_as_unsigned", lambda k: k.astype(jnp.uint8) > 250, [3.0], [-1]),
    of_integers("a_complement", lambda k: ~k == k - 7, [3.0], [3]),
    of_integers("an_exclusive_or", lambda k: (k ^ 1) - k == -1, [3.0], [5]),
    of_integers("narrow_a_greatest_common_divisor", lambda k: jnp.gcd(k, 12) == 12, [3.0], [-24]),
    of_integers("a_quotient_by_an_absolute_value", lambda k: jnp.floor_divide(k, jnp.abs(k) + 1) < 0, [3.0], [-4]),
    of_integers("a_sign_of_integers", lambda k: jnp.sign(k) * 3 + k == 0, [3.0], [0]),
    of_integers("a_float_of_an_integer", lambda k: (k.astype(jnp.float32) / 3).astype(jnp.int32) * 3 > k, [3.0], [-4]),
]
