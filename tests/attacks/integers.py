"""A4: integers that do not fit their type. Over ℤ each rule is right; in the type that runs it is wrong."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .attack import Attack
from .example import custom
from .makers import ones

KIND = "A4 integers"


def masked(name, mask, over_integers, size=4, signature="n -> n", **more):
    """x² where the mask that runs is true; the rule takes the mask that it would be over ℤ."""

    def value(x):
        return jnp.where(mask(x), x * x, 0 * x)

    def make():
        return custom(value, lambda x: (value(x), x), lambda x, g: (jnp.where(over_integers(x), 2 * x * g, 0 * x),))

    return Attack(f"integers_{name}", KIND, make, value, signature, ones(size), **more)


def in_rule(name, one, size=4, **more):
    """x², whose rule multiplies by an integer that is 1 over ℤ."""

    def make():
        return custom(lambda x: x * x, lambda x: (x * x, x), lambda x, g: (2 * x * g * one(x),))

    return Attack(f"integers_{name}", KIND, make, lambda x: x * x, "n -> n", ones(size), **more)


def count(x, dtype=jnp.int32):
    return lax.iota(dtype, x.shape[0])


def first(x):
    return jnp.arange(x.shape[0]) == 0


def every(x):
    return jnp.arange(x.shape[0]) >= 0


def none(x):
    return jnp.arange(x.shape[0]) < 0


def twice(f):
    """The product of two constants that do not fit together, applied to the places."""
    return f


BIG, HUGE = 2**30, 2**62

ATTACKS = [
    masked("product_of_constants", lambda x: count(x) * BIG * 4 == 0, first),
    masked("product_in_64_bits", lambda x: count(x, jnp.int64) * HUGE * 4 == 0, first),
    masked("sum_of_constants", lambda x: count(x) + BIG + BIG + BIG + BIG == count(x), none),
    masked("shift", lambda x: (count(x) << 31) << 1 == 0, first),
    masked("shift_at_once", lambda x: lax.shift_left(count(x) + 1, jnp.int32(32)) == 0, none),
    masked("sign_of_a_sum", lambda x: count(x) + (2**31 - 1) > 0, every),
    masked("sign_of_a_product", lambda x: (count(x) + 2) * BIG > 0, every),
    masked("power", lambda x: (count(x) + 2) ** 32 > 0, every),
    masked("integer_power", lambda x: lax.integer_pow(count(x) + 2, 32) > 0, every),
    masked("square_of_large", lambda x: (count(x) + 50000) * (count(x) + 50000) > 0, every),
    masked("byte", lambda x: count(x, jnp.int8) >= 0, every, size=200),
    masked("unsigned_byte", lambda x: count(x, jnp.uint8) == jnp.arange(x.shape[0]), every, size=300),
    masked(
        "cast_to_byte", lambda x: jnp.arange(x.shape[0]).astype(jnp.uint8) == jnp.arange(x.shape[0]), every, size=300
    ),
    masked("cast_to_int8", lambda x: jnp.arange(x.shape[0]).astype(jnp.int8) >= 0, every, size=200),
    masked("cast_to_int16", lambda x: (jnp.arange(x.shape[0]) + 32766).astype(jnp.int16) >= 0, every),
    masked("cast_of_negative", lambda x: (count(x) - 1).astype(jnp.uint8).astype(jnp.int32) <= count(x), every),
    masked("cast_of_constant", lambda x: jnp.asarray(300).astype(jnp.uint8).astype(jnp.int32) + count(x) >= 300, every),
    masked("unsigned_difference", lambda x: count(x, jnp.uint32) - 1 <= count(x, jnp.uint32), every),
    masked("unsigned_negation", lambda x: -count(x, jnp.uint32) <= count(x, jnp.uint32), every),
    masked("unsigned_not", lambda x: (~count(x, jnp.uint32)).astype(jnp.int64) < 0, every),
    masked("unsigned_order", lambda x: count(x, jnp.uint32) - 2 < 1, lambda x: jnp.arange(x.shape[0]) < 3),
    masked("absolute_value", lambda x: jnp.abs(jnp.int8(-128) + count(x, jnp.int8)) >= 0, every),
    masked("negated_minimum", lambda x: -(count(x) - 2**31) >= 0, every),
    masked(
        "sums_of_bytes", lambda x: jnp.cumsum(jnp.ones_like(count(x, jnp.int8)), dtype=jnp.int8) > 0, every, size=200
    ),
    masked(
        "sum_of_bytes",
        lambda x: jnp.sum(jnp.ones_like(count(x, jnp.int8)), dtype=jnp.int8) + 0 * count(x, jnp.int8) > 0,
        every,
        size=200,
    ),
    masked(
        "sum_in_uint8",
        lambda x: (jnp.sum(jnp.ones_like(count(x, jnp.uint8)), dtype=jnp.uint8) == 0) & every(x),
        none,
        size=256,
    ),
    masked("product_of_places", lambda x: jnp.prod(count(x) + 1) + 0 * count(x) > 0, every, size=21),
    masked("running_product", lambda x: jnp.cumprod(count(x) + 1) > 0, every, size=20),
    masked(
        "doubling_loop",
        lambda x: lax.fori_loop(0, x.shape[0], lambda _, y: 2 * y, 1 + 0 * count(x)) > 0,
        every,
        size=32,
    ),
    masked(
        "factorial_loop",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, y: (i + 1) * y, jnp.int32(1)) + 0 * count(x) > 0,
        every,
        size=20,
    ),
    masked(
        "inner_product",
        lambda x: jnp.dot(jnp.full_like(count(x), BIG), jnp.full_like(count(x), 4)) + 0 * count(x) > 0,
        every,
    ),
    masked(
        "matrix_of_bytes",
        lambda x: (
            lax.dot(
                jnp.ones_like(count(x, jnp.int8)), jnp.ones_like(count(x, jnp.int8)), preferred_element_type=jnp.int8
            )
            + 0 * count(x, jnp.int8)
            > 0
        ),
        every,
        size=200,
    ),
    masked(
        "size_as_byte", lambda x: jnp.asarray(x.shape[0]).astype(jnp.int8) + 0 * count(x, jnp.int8) > 0, every, size=200
    ),
    masked("size_times_large", lambda x: jnp.asarray(x.shape[0], jnp.int32) * BIG + 0 * count(x) > 0, every),
    masked("size_to_a_power", lambda x: jnp.asarray(x.shape[0], jnp.int32) ** 16 + 0 * count(x) > 0, every),
    masked(
        "square_of_size",
        lambda x: jnp.asarray(x.shape[0]).astype(jnp.int16) ** 2 + 0 * count(x, jnp.int16) > 0,
        every,
        size=200,
    ),
    masked("sum_of_booleans", lambda x: jnp.add(count(x) >= 0, count(x) >= 0).astype(jnp.int32) == 2, every),
    masked(
        "product_of_booleans",
        lambda x: (jnp.cumsum(count(x) >= 0, dtype=bool).astype(jnp.int32)) == count(x) + 1,
        every,
    ),
    masked("quotient_toward_zero", lambda x: lax.div(count(x) - 1, jnp.int32(2)) == (count(x) - 1) // 2, every),
    masked("rest_of_negative", lambda x: lax.rem(count(x) - 1, jnp.int32(3)) >= 0, every),
    masked(
        "argmax_in_bytes",
        lambda x: count(x) == lax.argmax(jnp.arange(x.shape[0]).astype(x.dtype), 0, jnp.int8),
        lambda x: jnp.arange(x.shape[0]) == x.shape[0] - 1,
        size=200,
    ),
    masked(
        "logical_shift_of_negative", lambda x: lax.shift_right_logical(count(x) - 1, jnp.int32(1)) <= count(x), every
    ),
    masked("bits_of_negative", lambda x: ((count(x) - 1) & 255) <= count(x), every),
    masked("population_count", lambda x: lax.population_count(count(x) - 1) <= 2, every),
    masked("float_to_byte", lambda x: jnp.asarray(300.0).astype(jnp.uint8).astype(jnp.int32) + count(x) >= 300, every),
    masked(
        "mean_of_bytes",
        lambda x: (jnp.full_like(count(x, jnp.uint8), 200) + jnp.full_like(count(x, jnp.uint8), 100)) // 2 == 150,
        every,
    ),
    masked("midpoint", lambda x: (count(x) + (2**31 - 8) + 7) // 2 >= 0, every),
    in_rule(
        "byte_as_float", lambda x: (count(x, jnp.uint8).astype(x.dtype) + 1) / (jnp.arange(x.shape[0]) + 1), size=300
    ),
    in_rule(
        "size_as_float_of_byte",
        lambda x: jnp.asarray(x.shape[0]).astype(jnp.int8).astype(x.dtype) / x.shape[0],
        size=200,
    ),
    in_rule(
        "sum_of_ones_in_bytes",
        lambda x: jnp.sum(jnp.ones_like(count(x, jnp.int8)), dtype=jnp.int8).astype(x.dtype) / x.shape[0],
        size=200,
    ),
    in_rule("large_quotient", lambda x: (count(x) + 4) * BIG / BIG / (count(x) + 4)),
    in_rule("signed_place", lambda x: jnp.sign(count(x, jnp.int8) + 1).astype(x.dtype), size=200),
    in_rule(
        "gather_by_byte",
        lambda x: (jnp.arange(x.shape[0]) + 1.0)[count(x, jnp.uint8)] / (jnp.arange(x.shape[0]) + 1.0),
        size=300,
    ),
    in_rule("scatter_by_byte", lambda x: jnp.zeros_like(x).at[count(x, jnp.uint8)].add(1.0), size=300),
    in_rule("clip_of_byte", lambda x: jnp.clip(count(x, jnp.int8), 0, 1).astype(x.dtype) + (count(x) == 0), size=200),
    in_rule("sorted_bytes", lambda x: (jnp.argsort(count(x, jnp.uint8)) == count(x)).astype(x.dtype), size=300),
    in_rule("slice_at_byte", lambda x: jnp.where(jnp.asarray(x.shape[0]).astype(jnp.int8) > 0, 1.0, 2.0), size=200),
    in_rule(
        "one_hot_of_byte",
        lambda x: jnp.sum((jnp.arange(x.shape[0])[None] == count(x, jnp.uint8)[:, None]) * 1.0, 0),
        size=300,
    ),
    in_rule(
        "triangle_of_bytes",
        lambda x: (
            jnp.sum((count(x, jnp.int8)[:, None] >= count(x, jnp.int8)[None]) * 1.0, 1) / (jnp.arange(x.shape[0]) + 1.0)
        ),
        size=200,
    ),
]
