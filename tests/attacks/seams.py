"""Attacks on seams where branches meet smoothly, on masks of maxima, on singular matrices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .written import pulled, sloped, sloped2

where = jnp.where
SMOOTH = "4.5 smooth seams"
MASKS = "5 masks of maxima"
SINGULAR = "4.19 solvers and factors"


def relu(x):
    return where(x > 0, x, 0.0)


def huber(x):
    return where(jnp.abs(x) <= 1, x * x / 2, jnp.abs(x) - 0.5)


def huber_slope(x, at_the_seam):
    return where(jnp.abs(x) < 1, x, where(jnp.abs(x) > 1, jnp.sign(x), at_the_seam))


def ties(x):
    """How many entries are the largest."""
    return jnp.sum(x == jnp.max(x))


def tied(name, function, slope, at, signature="n -> ", **more):
    """The attack on a sum whose gradient has the number of largest entries as a factor."""
    return pulled(
        name, MASKS, lambda x: jnp.sum(x) + function(x), lambda x, g: g * (ties(x) + slope(x)), signature, at, **more
    )


def matrix(name, function, pull, at, signature="n n -> ", **more):
    return pulled(name, SINGULAR, function, pull, signature, at, **more)


NULL = [[1.0, 2.0], [2.0, 4.0]]
REGULAR = [[1.0, 2.0], [3.0, 4.0]]

ATTACKS = [
    sloped("huber_at_its_seam", SMOOTH, huber, lambda x: huber_slope(x, 0.0), [1.0, 0.5], excluded_by=("abs(x) ≠ 1",)),
    sloped(
        "huber_with_the_sum_at_its_seam",
        SMOOTH,
        huber,
        lambda x: where(jnp.abs(x) <= 1, x, 0.0) + where(jnp.abs(x) >= 1, jnp.sign(x), 0.0),
        [-1.0],
    ),
    sloped(
        "a_squared_relu_at_0", SMOOTH, lambda x: relu(x) ** 2, lambda x: 2 * relu(x) + where(x == 0, 3.0, 0.0), [0.0]
    ),
    sloped(
        "a_cubed_relu_at_0",
        SMOOTH,
        lambda x: where(x > 0, x**3, 0.0),
        lambda x: where(x >= 0, 3 * x * x + where(x > 0, 0.0, 1.0), 0.0),
        [0.0],
    ),
    sloped(
        "a_relu_times_itself", SMOOTH, lambda x: x * relu(x), lambda x: 2 * relu(x) + jnp.abs(jnp.sign(x)) - 1, [0.0]
    ),
    sloped(
        "x_times_its_modulus",
        SMOOTH,
        lambda x: x * jnp.abs(x),
        lambda x: 2 * x * x / jnp.abs(x),
        [0.0],
        excluded_by=("x ≠ 0",),
    ),
    sloped(
        "x_times_its_modulus_and_a_point",
        SMOOTH,
        lambda x: x * jnp.abs(x),
        lambda x: 2 * jnp.abs(x) + 1 - jnp.sign(x) ** 2,
        [0.0],
    ),
    sloped(
        "a_parabola_and_its_tangent",
        SMOOTH,
        lambda x: where(x > 3, x * x, 6 * x - 9),
        lambda x: where(x > 3, 2 * x, where(x < 3, 6.0, 0.0)),
        [3.0],
    ),
    sloped(
        "a_seam_under_a_square",
        SMOOTH,
        lambda x: where(x * x > 4, x * x, 4 * jnp.abs(x) - 4),
        lambda x: where(x * x > 4, 2 * x, where(x * x < 4, 4 * jnp.sign(x), 9.0)),
        [2.0, 2.0],
    ),
    sloped(
        "two_seams_of_which_one_is_smooth",
        SMOOTH,
        lambda x: where(x > 2, x * x / 4 + 1, where(x > 0, x, 0.0)),
        lambda x: where(x > 2, x / 2, where((x > 0) & (x < 2), 1.0, 0.0)),
        [2.0],
    ),
    sloped(
        "a_seam_that_is_none",
        SMOOTH,
        lambda x: where(x > 1, x * x, x * x),
        lambda x: 2 * x * where(x == 1, 2.0, 1.0),
        [1.0],
    ),
    sloped(
        "a_seam_inside_an_exponential",
        SMOOTH,
        lambda x: where(x > 0, jnp.exp(-x), 1 - x + x * x / 2),
        lambda x: where(x > 0, -jnp.exp(-x), where(x < 0, x - 1, 1.0)),
        [0.0],
    ),
    sloped(
        "a_seam_with_steep_tangents",
        SMOOTH,
        lambda x: where(x > 0, jnp.sin(x), jnp.sinh(x)),
        lambda x: where(x > 0, jnp.cos(x), jnp.cosh(x)) * where(x == 0, 2.0, 1.0),
        [0.0],
    ),
    sloped(
        "a_quarter_of_a_softplus",
        SMOOTH,
        lambda x: jax.nn.softplus(x),
        lambda x: jax.nn.sigmoid(x) * (1 + where(jnp.maximum(x, 0) == jnp.maximum(-x, 0), 1.0, 0.0)),
        [0.0],
    ),
    sloped(
        "logaddexp_at_a_tie",
        SMOOTH,
        lambda x: jnp.logaddexp(x, -x),
        lambda x: jnp.tanh(x) + where(x == -x, 1.0, 0.0),
        [0.0],
    ),
    sloped(
        "silu_by_a_division",
        SMOOTH,
        jax.nn.silu,
        lambda x: jax.nn.silu(x) / x + x * jax.nn.sigmoid(x) * (1 - jax.nn.sigmoid(x)),
        [0.0],
        excluded_by=("x ≠ 0",),
    ),
    sloped(
        "a_sigmoid_by_two_branches",
        SMOOTH,
        jax.nn.sigmoid,
        lambda x: (
            where(x > 0, jnp.exp(-x) / (1 + jnp.exp(-x)) ** 2, 0.0)
            + where(x < 0, jnp.exp(x) / (1 + jnp.exp(x)) ** 2, 0.0)
        ),
        [0.0],
    ),
    sloped(
        "tanh_by_two_branches", SMOOTH, jnp.tanh, lambda x: (1 - jnp.tanh(jnp.abs(x)) ** 2) * jnp.sign(x) ** 2, [0.0]
    ),
    sloped(
        "gelu_of_a_sign",
        SMOOTH,
        lambda x: x**3,
        lambda x: (
            3 * x * x * where(jnp.sign(x) + jnp.sign(-x) == 0, 1.0, 2.0) + where(jnp.sign(x) * x == -x * 0, 1.0, 0.0)
        ),
        [0.0],
    ),
    sloped2(
        "a_smooth_maximum_of_two",
        SMOOTH,
        lambda x, y: relu(x - y) ** 2,
        lambda x, y: (2 * relu(x - y) + (x == y), -2 * relu(x - y)),
        [1.0],
        [1.0],
    ),
    sloped2(
        "a_square_of_the_maximum_and_minimum",
        SMOOTH,
        lambda x, y: jnp.maximum(x, y) * jnp.minimum(x, y),
        lambda x, y: (y * (1.0 * (x > y) + (x < y)), x),
        [2.0],
        [2.0],
    ),
    sloped2(
        "a_sum_of_the_maximum_and_minimum",
        SMOOTH,
        lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, y),
        lambda x, y: (1.0 * (x >= y) + (x <= y), jnp.ones_like(x)),
        [2.0],
        [2.0],
        excluded_by=("x ≠ y",),
    ),
    sloped2(
        "a_modulus_of_a_difference_squared",
        SMOOTH,
        lambda x, y: jnp.abs(x - y) ** 2,
        lambda x, y: (2 * (x - y) + (x == y), -2 * (x - y)),
        [2.0],
        [2.0],
        excluded_by=("x ≠ y",),
    ),
    sloped2(
        "a_seam_of_a_product",
        SMOOTH,
        lambda x, y: where(x * y > 0, (x * y) ** 2, 0.0),
        lambda x, y: (2 * x * y * y * (x * y > 0) + (x * y == 0), 2 * x * x * y * (x * y > 0)),
        [0.0, 1.0],
        [2.0, 0.0],
        excluded_by=("x ≠ 0",),
    ),
    sloped2(
        "a_seam_along_a_circle",
        SMOOTH,
        lambda x, y: relu(x * x + y * y - 25) ** 2,
        lambda x, y: (4 * x * relu(x * x + y * y - 25) + (x * x + y * y == 25), 4 * y * relu(x * x + y * y - 25)),
        [3.0],
        [4.0],
        excluded_by=("x^2 + y^2 ≠ 25",),
    ),
    tied(
        "largest_entries_where_a_relu_is_off",
        lambda x: relu(jnp.max(x) - 5),
        lambda x: (x == jnp.max(x)) * (jnp.max(x) > 5),
        [1.0, 1.0],
        excluded_by=("argmax of x",),
    ),
    tied(
        "largest_entries_under_a_selection",
        lambda x: where(x[0] > 9, jnp.max(x), 0.0),
        lambda x: (x == jnp.max(x)) * (x[0] > 9),
        [1.0, 1.0],
        excluded_by=("argmax of x",),
    ),
    tied(
        "largest_entries_in_a_cond",
        lambda x: lax.cond(x[0] > 9, jnp.max, lambda x: 0.0, x),
        lambda x: (x == jnp.max(x)) * (x[0] > 9),
        [1.0, 1.0],
        excluded_by=("argmax of x",),
    ),
    tied("largest_entries_behind_a_stop", lambda x: jax.nn.logsumexp(x), lambda x: jax.nn.softmax(x), [1.0, 1.0]),
    tied("largest_entries_of_the_negative", lambda x: jnp.max(-x), lambda x: -1.0 * (x == jnp.min(x)), [1.0, 0.0, 1.0]),
    tied(
        "largest_entries_of_the_square",
        lambda x: jnp.max(x * x),
        lambda x: 2 * x * (x * x == jnp.max(x * x)),
        [1.0, -4.0, 1.0],
    ),
    tied(
        "largest_entries_of_the_exponential",
        lambda x: jnp.max(jnp.exp(-x)),
        lambda x: -jnp.exp(-x) * (x == jnp.min(x)),
        [1.0, -4.0, 1.0],
    ),
    tied(
        "largest_entries_of_a_part",
        lambda x: jnp.max(x[:1]),
        lambda x: 1.0 * (jnp.arange(x.shape[0]) == 0),
        [0.0, 1.0, 1.0],
    ),
    tied(
        "largest_entries_after_sorting",
        lambda x: jnp.sort(x)[0],
        lambda x: (x == jnp.min(x)) * 1.0,
        [1.0, 0.0, 1.0],
        excluded_by=("has no equal entries", "differ", "sort"),
    ),
    pulled(
        "largest_entries_of_another",
        MASKS,
        lambda x, y: jnp.max(x) + jnp.sum(y),
        lambda x, y, g: (g * (x == jnp.max(x)), g * ties(y) * jnp.ones_like(y)),
        "n, n -> ",
        [1.0, 2.0],
        [3.0, 3.0],
    ),
    pulled(
        "largest_entries_of_rows_and_columns",
        MASKS,
        lambda x: jnp.sum(jnp.max(x, axis=1)) + jnp.sum(x),
        lambda x, g: g * ((x == jnp.max(x, axis=1, keepdims=True)) + jnp.sum(x == jnp.max(x, axis=0), axis=0)),
        "n d -> ",
        [[1.0, 2.0], [1.0, 0.0]],
    ),
    pulled(
        "largest_entries_of_all_and_of_rows",
        MASKS,
        lambda x: jnp.max(x) + jnp.sum(x),
        lambda x, g: g * ((x == jnp.max(x)) + jnp.sum(x == jnp.max(x, axis=1, keepdims=True), axis=1, keepdims=True)),
        "n d -> ",
        [[1.0, 1.0], [3.0, 0.0]],
    ),
    matrix(
        "a_determinant_by_its_inverse",
        jnp.linalg.det,
        lambda a, g: g * jnp.linalg.det(a) * jnp.linalg.inv(a).T,
        NULL,
        excluded_by=("determinant(a) ≠ 0", "determinant(`x0`) ≠ 0", "determinant"),
    ),
    matrix(
        "a_determinant_without_a_transpose",
        jnp.linalg.det,
        lambda a, g: g * jnp.linalg.det(a) * jnp.linalg.inv(a),
        REGULAR,
    ),
    matrix(
        "an_identity_by_an_inverse",
        lambda a: a * 1.0,
        lambda a, g: g @ a @ jnp.linalg.inv(a),
        NULL,
        "n n -> n n",
        excluded_by=("determinant",),
    ),
    matrix(
        "an_identity_by_a_solve",
        lambda a: a * 1.0,
        lambda a, g: jnp.linalg.solve(a, a @ g),
        NULL,
        "n n -> n n",
        excluded_by=("determinant",),
    ),
    matrix(
        "an_inverse_of_a_product",
        lambda a: a * 1.0,
        lambda a, g: a.T @ jnp.linalg.solve(a @ a.T, a) @ g,
        NULL,
        "n n -> n n",
        excluded_by=("determinant",),
    ),
    matrix(
        "a_pseudo_inverse_of_a_wide_matrix",
        lambda a: a * 1.0,
        lambda a, g: a @ jnp.linalg.solve(a.T @ a, a.T) @ g,
        np.ones((2, 1)),
        "n d -> n d",
        excluded_by=("determinant",),
    ),
    matrix(
        "a_cholesky_of_a_gram_matrix",
        lambda a: a * 1.0,
        lambda a, g: (
            (c := jnp.linalg.cholesky(a @ a.T)) @ lax.linalg.triangular_solve(c, g, left_side=True, lower=True)
        ),
        NULL,
        "n n -> n n",
        excluded_by=("positive definite",),
    ),
    matrix(
        "a_triangular_solve_of_a_full_matrix",
        lambda a: a * 1.0,
        lambda a, g: lax.linalg.triangular_solve(a, a @ g, left_side=True, lower=True),
        REGULAR,
        "n n -> n n",
    ),
    matrix(
        "a_triangular_solve_with_zeros",
        lambda a: a * 1.0,
        lambda a, g: lax.linalg.triangular_solve(jnp.tril(a), jnp.tril(a) @ g, left_side=True, lower=True),
        [[0.0, 2.0], [2.0, 4.0]],
        "n n -> n n",
        excluded_by=("diagonal", "a[i,i] ≠ 0", "x[i,i] ≠ 0"),
    ),
    matrix(
        "a_unit_diagonal",
        lambda a: a * 1.0,
        lambda a, g: lax.linalg.triangular_solve(a, jnp.tril(a) @ g, left_side=True, lower=True, unit_diagonal=True),
        [[1.5, 2.0], [2.0, 4.0]],
        "n n -> n n",
    ),
    matrix(
        "a_logarithm_of_a_determinant",
        lambda a: jnp.linalg.slogdet(a)[1],
        lambda a, g: g * jnp.linalg.slogdet(a)[0] * jnp.linalg.inv(a).T,
        [[1.0, 2.0], [3.0, 4.0]],
    ),
    matrix("a_trace_of_a_square", lambda a: jnp.trace(a @ a), lambda a, g: 2 * g * a, REGULAR),
    matrix(
        "a_trace_of_a_fourth_power", lambda a: jnp.trace(a @ a @ a @ a), lambda a, g: 4 * g * (a @ a.T @ a).T, REGULAR
    ),
    matrix(
        "an_adjugate_of_two_by_two",
        lambda a: jnp.linalg.det(a),
        lambda a, g: g * (jnp.trace(a) * jnp.eye(a.shape[0]) - a).T,
        np.diag([1.0, 2.0, 3.0]),
    ),
]
