"""Exponentials in selections, masks by infinities, and norms that are scaled: rows of which nothing is left, zeros,
the side on which a mask is read."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

CHOSEN = "B exponentials in selections"
NORMS = "B scaled norms"
where = jnp.where
INF = float("inf")
X3, G3 = np.array([1.0, -2.0, 0.5]), np.array([True, False, True])
ZEROS = np.zeros(3)


def at(kind, name, value, back, signature, *values, **more):
    return Attack(name, kind, saved(value, back), value, signature, lambda: values, **more)


def by(kind, name, value, twin, signature, *values, **more):
    def back(args, g):
        found = jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)
        return tuple(None if v.dtype == jax.dtypes.float0 else v for v in found)

    return at(kind, name, value, back, signature, *values, **more)


def chosen(name, value, twin, *values, signature="n, n:bool -> n", **more):
    return by(CHOSEN, f"chosen_{name}", value, twin, signature, *values, **more)


def soft(x, m, low=-INF):
    return jax.nn.softmax(where(m, x, low))


def sums(x, m, low=-INF):
    return jax.nn.logsumexp(where(m, x, low))


def masked(x, m):
    return soft(x, m)


def logarithm(x, m):
    return sums(x, m)


def over(x, m):
    """Masked after the exponential."""
    e = where(m, jnp.exp(x), 0.0)
    return e / jnp.sum(e)


ATTACKS = [
    chosen("mask_forgotten", masked, lambda x, m: jax.nn.softmax(x) + 0 * m, X3, G3),
    chosen("mask_after_the_sum", over, lambda x, m: where(m, jax.nn.softmax(x), 0.0), X3, G3),
    chosen("mask_by_ten", masked, lambda x, m: soft(x, m, -3.0), X3, G3),
    chosen("mask_by_a_product", masked, lambda x, m: jax.nn.softmax(x * m), X3, G3),
    chosen("mask_added", masked, lambda x, m: jax.nn.softmax(x + where(m, 0.0, -4.0)), X3, G3),
    chosen("mask_the_other_way", masked, lambda x, m: soft(x, ~m), X3, G3, excluded_by=("¬m", "1 − m", "1-m")),
    chosen(
        "logarithm_without_its_mask",
        logarithm,
        lambda x, m: jax.nn.logsumexp(x) + 0.0 * jnp.sum(m),
        X3,
        G3,
        signature="n, n:bool -> ",
    ),
    chosen(
        "logarithm_of_products",
        logarithm,
        lambda x, m: jnp.log(jnp.sum(jnp.exp(x) * m) + jnp.sum(~m) * 1e-2),
        X3,
        G3,
        signature="n, n:bool -> ",
        excluded_by=("0.01",),
    ),
    chosen(
        "exponential_of_a_product",
        lambda x, m: where(m, jnp.exp(m * x), x),
        lambda x, m: where(m, jnp.exp(x), 2 * x),
        X3,
        G3,
    ),
    chosen(
        "exponential_of_a_product_below",
        lambda x, m: where(m, x, jnp.exp(m * x)),
        lambda x, m: where(m, x, jnp.exp(x)),
        X3,
        G3,
    ),
    chosen(
        "exponential_of_a_product_elsewhere",
        lambda x, m: jnp.exp(m * x) + where(m, x, 0.0),
        lambda x, m: where(m, jnp.exp(x) + x, x),
        X3,
        G3,
    ),
    chosen(
        "exponential_chosen_twice",
        lambda x, m: where(m, jnp.exp(m * x), 0.0) + jnp.exp(m * x),
        lambda x, m: where(m, 2 * jnp.exp(x), 1.0 + x),
        X3,
        G3,
    ),
    chosen(
        "exponential_of_two_masks",
        lambda x, m: where(m, jnp.exp(m * x * m[::-1]), 0.0),
        lambda x, m: where(m, jnp.exp(x), 0.0),
        X3[:2],
        np.array([True, False]),
    ),
    chosen(
        "exponential_under_a_sum",
        lambda x, m: where(m, jnp.sum(jnp.exp(x * m)), 0.0),
        lambda x, m: where(m, jnp.sum(jnp.exp(x)), 0.0),
        X3,
        G3,
    ),
    chosen(
        "exponential_under_a_sum_of_another",
        lambda x, m: where(m[0], jnp.sum(jnp.exp(x * m)), 0.0),
        lambda x, m: where(m[0], jnp.sum(jnp.exp(x)), 0.0),
        X3,
        G3,
        signature="n, n:bool -> ",
    ),
    chosen(
        "exponential_of_a_turned_mask",
        lambda x, m: where(m, jnp.exp(x * m[::-1]), 0.0),
        lambda x, m: where(m, jnp.exp(x), 0.0),
        X3[:2],
        np.array([True, False]),
    ),
    chosen(
        "exponential_of_a_square_of_a_mask",
        lambda x, m: where(m, 0.0, jnp.exp((2.0 * m - 1) * x)),
        lambda x, m: where(m, 0.0, jnp.exp(x)),
        X3,
        G3,
    ),
    chosen(
        "cut_by_its_own_sign",
        lambda x, m: where(x > 0, jnp.exp(where(x > 0, x, 0.0)), 1.0 + 0.0 * m),
        lambda x, m: where(x >= 0, jnp.exp(x), 1.0 + x),
        X3,
        G3,
    ),
    chosen(
        "cut_at_zero_itself",
        lambda x, m: where(x > 0, jnp.exp(x), 1.0 + x) + 0.0 * m,
        lambda x, m: where(x > 0, jnp.exp(x), 1.0 + where(x == 0, 2 * x, x)),
        np.array([0.0]),
        G3[:1],
    ),
    chosen(
        "cut_by_another_sign",
        lambda x, m: jnp.exp(-INF * (x > 5)) * x + 0.0 * m,
        lambda x, m: x + 0.0 * m,
        np.array([6.0]),
        G3[:1],
    ),
    chosen(
        "a_cutoff_by_infinity",
        lambda x, m: jnp.exp(where(x < 2, -x, -INF)) + 0.0 * m,
        lambda x, m: jnp.exp(-x),
        np.array([3.0]),
        G3[:1],
    ),
    chosen(
        "a_cutoff_at_its_edge",
        lambda x, m: jnp.exp(where(x < 2, -x, -INF)) * (2 - x) + 0.0 * m,
        lambda x, m: where(x < 3, jnp.exp(-x) * (2 - x), 0.0),
        np.array([2.5]),
        G3[:1],
    ),
    chosen(
        "sigmoid_of_a_mask",
        lambda x, m: jax.nn.sigmoid(where(m, x, -INF)),
        lambda x, m: jax.nn.sigmoid(x) + 0.0 * m,
        X3,
        G3,
    ),
    chosen(
        "the_largest_that_is_left",
        lambda x, m: jnp.max(where(m, x, -INF)),
        lambda x, m: jnp.max(x) + 0.0 * jnp.sum(m),
        np.array([1.0, 5.0, 2.0]),
        G3,
        signature="n, n:bool -> ",
    ),
    chosen(
        "the_largest_or_nothing",
        lambda x, m: jnp.maximum(jnp.max(where(m, x, -INF)), 0.0),
        lambda x, m: jnp.max(where(m, x, -INF)),
        -np.abs(X3),
        G3,
        signature="n, n:bool -> ",
    ),
    chosen(
        "causal_by_one",
        lambda x, m: soft(x, jnp.arange(x.shape[0]) <= 1),
        lambda x, m: soft(x, jnp.arange(x.shape[0]) < 1),
        X3,
        G3,
    ),
    chosen(
        "shifted_by_the_unmasked_maximum",
        lambda x, m: jnp.exp(where(m, x, -INF) - lax.stop_gradient(jnp.max(x))),
        lambda x, m: jnp.exp(where(m, x, -INF) - jnp.max(where(m, x, -INF))),
        X3,
        G3,
    ),
]


# --- norms -----------------------------------------------------------------------------------------------------------


def plain(x):
    return jnp.sqrt(jnp.sum(x * x))


def scaled(x):
    """Divided by the largest first, so that nothing overflows."""
    m = jnp.max(jnp.abs(x))
    return m * jnp.sqrt(jnp.sum((x / m) ** 2))


def scaled_safely(x):
    m = lax.stop_gradient(jnp.max(jnp.abs(x)))
    s = where(m > 0, m, 1.0)
    return s * jnp.sqrt(jnp.sum((x / s) ** 2))


def squared_safely(x):
    m = lax.stop_gradient(jnp.max(jnp.abs(x)))
    s = where(m > 0, m, 1.0)
    return s * s * jnp.sum((x / s) ** 2)


def unit(x):
    """0 where x is."""
    n = plain(where(jnp.sum(x * x) > 0, x, 1.0))
    return where(jnp.sum(x * x) > 0, x / n, 0.0)


def norm(name, value, back, x=ZEROS, signature="n -> ", **more):
    return at(NORMS, f"norm_{name}", value, lambda x, g: (back(x, g),), signature, x, **more)


def norms(name, value, twin, x=ZEROS, signature="n -> ", **more):
    return by(NORMS, f"norm_{name}", value, twin, signature, x, **more)


def pieces(name, value, twin, *values, signature="n, n, n, n:int -> n", **more):
    """Divisors with pieces, by integers, so that no derivative asks for more."""
    return by(NORMS, f"pieces_{name}", value, twin, signature, *values, **more)


Z, Y, K = np.array([2.0, 3.0]), np.array([4.0, 5.0]), np.array([0, 2], dtype=np.int32)


def over_k(z, y, k, there=lambda z, y: z, beyond=lambda z, y, k: y / k):
    """z where k = 0, and y/k elsewhere."""
    safe_k = where(k == 0, 1, k)
    return where(k == 0, there(z, y), beyond(z, y, safe_k))


def of_three(function):
    return lambda z, y, w, k: function(z, y, k)


ATTACKS += [
    norms("of_squares_at_zero", squared_safely, lambda x: jnp.sum(x * x) + jnp.sum(where(plain(x) > 0, 0.0, x))),
    norm("of_squares_pulled_at_zero", squared_safely, lambda x, g: g * where(jnp.max(jnp.abs(x)) > 0, 2 * x, 1.0)),
    norm("of_squares_divided", squared_safely, lambda x, g: g * 2 * x * (jnp.max(jnp.abs(x)) / jnp.max(jnp.abs(x)))),
    norm("of_squares_by_the_unit", squared_safely, lambda x, g: 2 * g * plain(x) * x / plain(x)),
    norm(
        "of_squares_by_two_roots",
        squared_safely,
        lambda x, g: 2 * g * x * jnp.sqrt(jnp.sum(x * x)) * lax.rsqrt(jnp.sum(x * x)),
    ),
    norm("unit_of_a_safe_one", scaled_safely, lambda x, g: g * x / scaled_safely(x) * 2, X3),
    norm("without_the_largest", scaled, lambda x, g: g * x / jnp.max(jnp.abs(x)), X3),
    norm(
        "of_the_largest_alone", scaled, lambda x, g: g * where(jnp.abs(x) == jnp.max(jnp.abs(x)), jnp.sign(x), 0.0), X3
    ),
    norm("as_if_it_were_positive", scaled, lambda x, g: g * jnp.abs(x) / plain(x), X3),
    norms("squared_for_plain", scaled, lambda x: jnp.sum(x * x), X3),
    norms("unit_without_its_projection", unit, lambda x: x / lax.stop_gradient(plain(x)), X3, signature="n -> n"),
    norm(
        "unit_at_zero",
        lambda x: unit(x) * jnp.sum(x * x) ** 2,
        lambda x, g: jax.vjp(lambda x: unit(x) * jnp.sum(x * x) ** 2, x)[1](g)[0] + where(jnp.sum(x * x) > 0, 0.0, g),
        signature="n -> n",
    ),
    norm(
        "fourth_power_at_zero",
        lambda x: squared_safely(x) ** 2,
        lambda x, g: g * where(squared_safely(x) > 0, 4 * squared_safely(x) * x, 1.0),
    ),
    norm(
        "fourth_power_near_zero",
        lambda x: squared_safely(x) ** 2,
        lambda x, g: g * where(jnp.max(jnp.abs(x)) > 1e-30, 4 * squared_safely(x) * x, 1.0),
    ),
    pieces(
        "inverse_there",
        of_three(lambda z, y, k: 1 / over_k(z, y, k)),
        of_three(lambda z, y, k: where(k == 0, 0.0, where(k == 0, 1, k) / y)),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "inverse_there_doubled",
        of_three(lambda z, y, k: 1 / over_k(z, y, k)),
        of_three(lambda z, y, k: where(k == 0, 2 / z, k / y)),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "inverse_there_by_k",
        of_three(lambda z, y, k: 1 / over_k(z, y, k)),
        of_three(lambda z, y, k: k / (z * k * (k == 0) + y * (k != 0))),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "square_there",
        of_three(lambda z, y, k: over_k(z, y, k) ** 2),
        of_three(lambda z, y, k: where(k == 0, 0.0 * z, (y / where(k == 0, 1, k)) ** 2)),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "root_there",
        of_three(lambda z, y, k: jnp.sqrt(over_k(z * z + 1, y * y + 1, k * k))),
        of_three(lambda z, y, k: jnp.sqrt(y * y + 1) / where(k == 0, 1, jnp.abs(k))),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "quotient_of_pieces",
        of_three(lambda z, y, k: over_k(z, y, k) / over_k(y, z, k)),
        of_three(lambda z, y, k: y / z),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "quotient_of_scaled_pieces",
        lambda z, y, w, k: over_k(z, y * w, k) / w,
        lambda z, y, w, k: over_k(z, y, k),
        Z,
        Y,
        Z,
        K,
    ),
    pieces(
        "divisor_in_the_other_lane",
        of_three(lambda z, y, k: where(k == 0, z, y / where(k == 0, z, 1.0 * k))),
        of_three(lambda z, y, k: where(k == 0, z, y / z)),
        Z,
        Y,
        Y,
        K,
    ),
    pieces(
        "divisor_in_both_lanes",
        of_three(lambda z, y, k: where(k == 0, 1 / z, z / where(k == 0, 1, k))),
        of_three(lambda z, y, k: where(k == 0, 1 / z, 1 / where(k == 0, 1, k))),
        Z,
        Y,
        Y,
        K,
    ),
]
