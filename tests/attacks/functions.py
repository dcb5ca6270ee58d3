"""Attacks on the algebra of roots, logarithms, powers and inverse functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.special as special

from .written import sloped, sloped2

ROOTS = "5 roots and powers"
LOGS = "5 logarithms"
INVERSES = "4.4 domains of functions"

ATTACKS = [
    sloped(
        "root_of_a_hidden_square",
        ROOTS,
        lambda x: x * x / 2 - x,
        lambda x: jnp.sqrt(x * x - 2 * x + 1),
        [0.5, 3.0],
    ),
    sloped(
        "root_of_a_fourth_power_polynomial",
        ROOTS,
        lambda x: x**3 / 3 - x,
        lambda x: jnp.sqrt(x**4 - 2 * x**2 + 1),
        [0.5, 3.0],
    ),
    sloped2(
        "root_of_a_binomial",
        ROOTS,
        lambda x, y: (x + y) ** 2 / 2,
        lambda x, y: (jnp.sqrt(x * x + 2 * x * y + y * y), x + y),
        [-1.0],
        [0.5],
    ),
    sloped(
        "root_of_a_square_of_exponentials",
        ROOTS,
        lambda x: jnp.exp(x) + jnp.exp(-x),
        lambda x: jnp.sqrt(jnp.exp(2 * x) - 2 + jnp.exp(-2 * x)),
        [-1.0],
    ),
    sloped("cosine_from_the_sine", ROOTS, jnp.sin, lambda x: jnp.sqrt(1 - jnp.sin(x) ** 2), [2.0]),
    sloped("sinh_from_the_cosh", ROOTS, jnp.cosh, lambda x: jnp.sqrt(jnp.cosh(x) ** 2 - 1), [-1.0, 1.0]),
    sloped("sine_from_the_double_angle", ROOTS, jnp.cos, lambda x: -jnp.sqrt((1 - jnp.cos(2 * x)) / 2), [-1.0]),
    sloped("three_halves_of_a_square", ROOTS, lambda x: x**4 / 4, lambda x: jnp.power(x * x, 1.5), [-2.0, 1.0]),
    sloped(
        "two_thirds_of_a_cube",
        ROOTS,
        lambda x: x**3 / 3,
        lambda x: jnp.power(x**3, 2 / 3),
        [-2.0],
        excluded_by=("x^3 ≥ 0",),
    ),
    sloped("half_of_a_sixth_power", ROOTS, lambda x: x**4 / 4, lambda x: jnp.sqrt(x**6), [-1.5]),
    sloped("cube_root_by_a_power", ROOTS, jnp.cbrt, lambda x: jnp.power(x, -2 / 3) / 3, [-8.0], excluded_by=("x > 0",)),
    sloped(
        "cube_root_and_its_modulus", ROOTS, lambda x: jnp.cbrt(x) ** 4 / 4, lambda x: jnp.power(x * x, 0.5) / 3, [-8.0]
    ),
    sloped(
        "inverse_root_of_a_square_is_a_sign", ROOTS, lambda x: x * x / 2, lambda x: x * x * jax.lax.rsqrt(x * x), [-2.0]
    ),
    sloped2(
        "root_of_a_product_of_negatives",
        ROOTS,
        lambda x, y: jnp.sqrt(x * y),
        lambda x, y: (jnp.sqrt(y / x) / 2, jnp.sqrt(x / y) / 2),
        [-1.0],
        [-4.0],
    ),
    sloped2(
        "roots_of_factors",
        ROOTS,
        lambda x, y: jnp.sqrt(x * y),
        lambda x, y: (jnp.sqrt(y) / jnp.sqrt(x) / 2, jnp.sqrt(x) / jnp.sqrt(y) / 2),
        [-1.0],
        [-4.0],
        excluded_by=("x > 0", "y > 0"),
    ),
    sloped2(
        "quotient_of_roots_of_negatives",
        ROOTS,
        lambda x, y: jnp.sqrt(x / y),
        lambda x, y: (1 / jnp.sqrt(x * y) / 2, -jnp.sqrt(x * y) / (y * y) / 2),
        [-1.0],
        [-4.0],
    ),
    sloped("root_of_minus_x_times_itself", ROOTS, lambda x: x**2 / 2, lambda x: jnp.sqrt(-x) * jnp.sqrt(-x), [-1.0]),
    sloped(
        "power_one_by_logarithm",
        ROOTS,
        lambda x: x**3,
        lambda x: 3 * jnp.exp(2 * jnp.log(x)),
        [-1.0],
        excluded_by=("x > 0",),
    ),
    sloped("power_of_a_power", ROOTS, lambda x: x**2 / 2, lambda x: jnp.power(jnp.power(x, 4.0), 0.25), [-1.5]),
    sloped2(
        "power_with_a_negative_base",
        ROOTS,
        lambda x, y: jnp.power(x * x, y),
        lambda x, y: (2 * y * jnp.power(x * x, y) / jnp.abs(x), jnp.power(x * x, y) * jnp.log(x * x)),
        [-1.5],
        [0.7],
    ),
    sloped2(
        "logarithm_of_a_power",
        LOGS,
        lambda x, y: jnp.power(x * x, y),
        lambda x, y: (2 * y * jnp.power(x * x, y) / x, 2 * jnp.power(x * x, y) * jnp.log(x)),
        [-1.5],
        [0.7],
        excluded_by=("x > 0",),
    ),
    sloped(
        "logarithm_of_a_square",
        LOGS,
        lambda x: jnp.log(x * x) ** 2,
        lambda x: 8 * jnp.log(jnp.sqrt(x * x)) / jnp.sqrt(x * x),
        [-2.0],
    ),
    sloped2(
        "logarithm_of_a_quotient",
        LOGS,
        lambda x, y: jnp.log(x / y) ** 2 / 2,
        lambda x, y: ((jnp.log(x) - jnp.log(y)) / x, -(jnp.log(x) - jnp.log(y)) / y),
        [-1.0],
        [-3.0],
        excluded_by=("x > 0", "y > 0"),
    ),
    sloped2(
        "logarithm_of_a_product_of_moduli",
        LOGS,
        lambda x, y: jnp.log(x * y) ** 2 / 2,
        lambda x, y: (jnp.log(x * y) / jnp.abs(x), jnp.log(x * y) / jnp.abs(y)),
        [-1.0],
        [-3.0],
    ),
    sloped("logarithm_of_a_modulus", LOGS, lambda x: jnp.log(jnp.abs(x)), lambda x: 1 / jnp.abs(x), [-1.0]),
    sloped(
        "asinh_written_with_a_cancelled_sign",
        LOGS,
        jnp.arcsinh,
        lambda x: x * x / jnp.sqrt(x**4 + x**6) * jnp.sign(x) * jnp.abs(x) / x + jnp.where(x < -1, 1.0, 0.0),
        [-2.0],
    ),
    sloped(
        "arcsine_of_the_sine",
        INVERSES,
        lambda x: jnp.arcsin(jnp.sin(x)) ** 2 / 2,
        lambda x: jnp.arcsin(jnp.sin(x)),
        [2.0],
    ),
    sloped("arctangent_of_the_tangent", INVERSES, lambda x: jnp.arctan(jnp.tan(x)) ** 2 / 2, lambda x: x, [2.0]),
    sloped("arccosh_of_the_cosh", INVERSES, lambda x: jnp.arccosh(jnp.cosh(x)), lambda x: jnp.ones_like(x), [-1.0]),
    sloped(
        "angle_by_two_arguments",
        INVERSES,
        lambda x: jnp.arctan2(jnp.sin(x), jnp.cos(x)) ** 2 / 2,
        lambda x: x,
        [4.0],
    ),
    sloped(
        "arctangents_of_x_and_its_inverse",
        INVERSES,
        lambda x: (jnp.arctan(x) + jnp.arctan(1 / x)) * x,
        lambda x: 2 * jnp.arctan(jnp.ones_like(x)),
        [-1.0],
    ),
    sloped2(
        "arctangent_of_a_quotient",
        INVERSES,
        lambda x, y: jnp.arctan2(y, x) ** 2 / 2,
        lambda x, y: (-y / (x * x + y * y) * jnp.arctan(y / x), x / (x * x + y * y) * jnp.arctan(y / x)),
        [-1.0],
        [0.5],
    ),
    sloped(
        "gamma_by_its_logarithm",
        INVERSES,
        special.gamma,
        lambda x: jnp.exp(special.gammaln(x)) * special.digamma(x),
        [-0.5],
    ),
    sloped(
        "sine_from_gamma_reflection",
        INVERSES,
        lambda x: jnp.exp(special.gammaln(x)) * jnp.exp(special.gammaln(1 - x)) * x,
        lambda x: special.gamma(x) * special.gamma(1 - x) * (1 + x * (special.digamma(x) - special.digamma(1 - x))),
        [-0.5],
    ),
    sloped(
        "cardinal_sine_at_its_centre",
        "4.1 conditions forgotten",
        jnp.sinc,
        lambda x: jnp.cos(jnp.pi * x) / x - jnp.sin(jnp.pi * x) / (jnp.pi * x * x),
        [0.0],
        excluded_by=("x ≠ 0",),
    ),
    sloped(
        "remainder_of_two_kinds",
        INVERSES,
        lambda x: x * jnp.mod(x, 3.0),
        lambda x: jnp.fmod(x, 3.0) + x,
        [-1.0],
    ),
    sloped2(
        "modulus_in_its_divisor",
        INVERSES,
        jnp.mod,
        lambda x, y: (jnp.ones_like(x), -jnp.trunc(x / y)),
        [-5.0],
        [2.0],
    ),
    sloped("rounded_down_and_towards_zero", "4.16 casts", lambda x: x * jnp.floor(x), lambda x: jnp.trunc(x), [-1.5]),
    sloped(
        "cast_to_integers_rounds_towards_zero",
        "4.16 casts",
        lambda x: x * x.astype(int).astype(x.dtype),
        lambda x: jnp.floor(x),
        [-1.5],
    ),
    sloped(
        "rounded_and_shifted",
        "4.16 casts",
        lambda x: x * jnp.round(x),
        lambda x: jnp.floor(x + 0.5) * jnp.where(x < -2, 2.0, 1.0),
        [-2.7],
    ),
    sloped(
        "fraction_squared", "4.16 casts", lambda x: (x - jnp.floor(x)) ** 2, lambda x: 2 * (x - jnp.trunc(x)), [-1.3]
    ),
    sloped(
        "cast_to_eight_bits_wraps",
        "4.16 casts",
        lambda x: x * jnp.floor(x),
        lambda x: x.astype(jnp.int8).astype(x.dtype) + jnp.where(x != jnp.trunc(x), jnp.floor(x) - jnp.trunc(x), 0.0),
        [200.5],
    ),
    sloped(
        "truth_of_a_number",
        "4.16 casts",
        lambda x: x * x.astype(bool).astype(x.dtype),
        lambda x: x.astype(bool).astype(x.dtype) * jnp.sign(x),
        [-2.0],
    ),
    sloped2(
        "maximum_as_half_a_sum",
        "5 roots",
        lambda x, y: jnp.maximum(x, y) ** 2 / 2,
        lambda x, y: (
            jnp.where(x > y, x, 0.0),
            jnp.where(y > x, (x + y + jnp.sqrt((x - y) ** 2)) / 2 - 2 * (y - jnp.abs(y)), 0.0),
        ),
        [-3.0],
        [-1.0],
    ),
]
