"""Attacks on what a graph knows of values upstream: signs, bounds, and lemmas that look alike."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .written import array, reverse

FACTS = "6 hypotheses discharged by facts"
ALIKE = "4.3 caches and 4.20 digests"


def over(x, y):
    """x, whose rule divides by y."""
    return reverse(lambda x, y: x + 0 * y, lambda x, y, g: (g * (y / y), 0 * y * g))(x, y)


def root(x, y):
    """x, whose rule takes roots of y."""
    return reverse(lambda x, y: x + 0 * y, lambda x, y, g: (g * jnp.sqrt(y) / jnp.sqrt(y), 0 * y * g))(x, y)


def guarded(name, value, *at, by=over, plain=lambda x: x, signature="n -> n", **more):
    """The attack on the identity, whose rule is wrong where `value(x)` is 0 (or negative)."""
    values = tuple(array(v) for v in at)
    return Attack(name, FACTS, lambda: lambda x: by(x, value(x)), plain, signature, lambda: values, **more)


def scanned(step, start=0.0):
    return lambda x: lax.scan(lambda c, a: (step(c, a), None), start + 0 * x[0], x)[0]


def total(part):
    return lambda x: jnp.sum(part(x)) + 0 * x


ONE = [3.0]
ATTACKS = [
    guarded(
        "positive_sum_of_the_rest",
        total(lambda x: jnp.exp(x[1:])),
        ONE,
        excluded_by=("`sum(exp(gather(x0, 1))) + 0 * x0` ≠ 0",),
    ),
    guarded(
        "positive_sum_of_the_half",
        total(lambda x: jnp.exp(x[: x.shape[0] // 2])),
        ONE,
        excluded_by=("`sum(exp(gather(x0, 0))) + 0 * x0` ≠ 0",),
    ),
    guarded("positive_sum_of_every_third", total(lambda x: jnp.exp(x[2::3])), ONE),
    guarded(
        "root_of_the_sum_of_the_rest",
        total(lambda x: jnp.exp(x[1:])),
        ONE,
        by=root,
        excluded_by=("`sum(exp(gather(x0, 1))) + 0 * x0` ≠ 0",),
    ),
    guarded(
        "positive_differences",
        total(lambda x: jnp.exp(jnp.diff(x))),
        ONE,
        excluded_by=("`sum(exp(gather(x0, 1) - gather(x0, 0))) + 0 * x0` ≠ 0",),
    ),
    guarded("product_of_positives_less_one", lambda x: jnp.prod(jnp.exp(0 * x[1:])) - 1 + 0 * x, ONE),
    guarded("one_less_a_softmax", lambda x: 1 - jax.nn.softmax(x), ONE, excluded_by=("`1 - <lambda>(x0)` ≠ 0",)),
    guarded("a_softmax_below_one", lambda x: jnp.log(jax.nn.softmax(x)), ONE, excluded_by=("`log(<lambda>(x0))` ≠ 0",)),
    guarded(
        "a_mean_of_squares",
        lambda x: jnp.mean(x * x) + 0 * x,
        [0.0, 0.0],
        excluded_by=(
            "(Σi x[i]^2) ≠ 0",
            "`sum(x0 * x0) / n + 0 * x0` ≠ 0",
        ),
    ),
    guarded(
        "a_square_plus_nothing",
        lambda x: x * x + 0.0,
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`x0 * x0 + 0` ≠ 0",
        ),
    ),
    guarded(
        "one_less_a_hyperbolic_tangent_of_a_square",
        lambda x: jnp.tanh(x * x),
        [0.0, 1.0],
        excluded_by=(
            "exp(x^2) ≠ 1",
            "`tanh(x0 * x0)` ≠ 0",
        ),
    ),
    guarded(
        "a_sigmoid_less_a_half",
        lambda x: jax.nn.sigmoid(x * x) - 0.5,
        [0.0, 1.0],
        excluded_by=(
            "exp(x^2) ≠ 1",
            "`logistic(x0 * x0) - 0.5` ≠ 0",
        ),
    ),
    guarded(
        "an_exponential_of_a_square_less_one",
        lambda x: jnp.exp(x * x) - 1,
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`exp(x0 * x0) - 1` ≠ 0",
        ),
    ),
    guarded(
        "one_less_a_cosine",
        lambda x: 1 - jnp.cos(x),
        [0.0, 1.0],
        excluded_by=(
            "cos(x) ≠ 1",
            "`1 - cos(x0)` ≠ 0",
        ),
    ),
    guarded(
        "a_product_of_a_relu", lambda x: jax.nn.relu(x) * jnp.exp(x), [-1.0], excluded_by=("`relu(x0) * exp(x0)` ≠ 0",)
    ),
    guarded(
        "a_relu_plus_its_mirror",
        lambda x: jax.nn.relu(x) + jax.nn.relu(-x),
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`relu(x0) + relu(-x0)` ≠ 0",
        ),
    ),
    guarded(
        "a_maximum_with_its_negative",
        lambda x: jnp.maximum(x, -x),
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`maximum(x0, -x0)` ≠ 0",
        ),
    ),
    guarded("a_modulus_of_a_difference", lambda x: jnp.abs(x - x[::-1]), [1.0, 2.0, 1.0]),
    guarded(
        "a_size_less_one",
        lambda x: jnp.asarray(x.shape[0] - 1.0 if False else x.shape[0]) - 1 + 0 * x,
        ONE,
        excluded_by=(
            "n ≠ 1",
            "`n - 1 + 0 * x0` ≠ 0",
        ),
    ),
    guarded("an_index", lambda x: jnp.arange(x.shape[0]) + 0 * x, [1.0, 2.0]),
    guarded("an_index_less_the_last", lambda x: x.shape[0] - 1 - jnp.arange(x.shape[0]) + 0 * x, [1.0, 2.0]),
    guarded("a_cumulative_sum_before", lambda x: jnp.cumsum(jnp.exp(x)) - jnp.exp(x), [1.0, 2.0]),
    guarded(
        "a_cumulative_sum_shifted", lambda x: jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(x))[:-1]]), [1.0, 2.0]
    ),
    guarded("a_padded_exponential", lambda x: jnp.pad(jnp.exp(x), (1, 0))[:-1], [1.0, 2.0]),
    guarded("a_padded_exponential_by_negative_padding", lambda x: lax.pad(jnp.exp(x), 0.0, [(-1, 1, 0)]), [1.0, 2.0]),
    guarded("a_padded_inside", lambda x: lax.pad(jnp.exp(x), 0.0, [(0, 0, 1)])[: x.shape[0]], [1.0, 2.0]),
    guarded("a_rolled_and_masked", lambda x: jnp.tril(jnp.exp(x[:, None] + x), -1).sum(1), [1.0, 2.0]),
    guarded("a_diagonal", lambda x: jnp.diag(jnp.exp(x))[0] + 0 * x, [1.0, 2.0]),
    guarded("a_scattered_exponential", lambda x: jnp.zeros_like(x).at[1:].set(jnp.exp(x[1:])), [1.0, 2.0]),
    guarded(
        "a_gathered_exponential",
        lambda x: jnp.take(jnp.exp(x), jnp.arange(x.shape[0]) + 1, mode="fill", fill_value=0),
        [1.0, 2.0],
    ),
    guarded("a_one_hot", lambda x: jax.nn.one_hot(jnp.argmax(x), x.shape[0]), [1.0, 2.0]),
    guarded(
        "a_scan_that_starts_at_zero", lambda x: lax.scan(lambda c, a: (c + jnp.exp(a), c), 0 * x[0], x)[1], [1.0, 2.0]
    ),
    guarded(
        "a_scan_that_ends_below",
        lambda x: scanned(lambda c, a: c - jnp.exp(0 * a), 2.0)(x) + 0 * x,
        [1.0, 2.0],
        excluded_by=("`scan(2 + 0 * dynamic_slice(x0, 0), x0) + 0 * x0` ≠ 0",),
    ),
    guarded(
        "a_scan_that_halves",
        lambda x: scanned(lambda c, a: jnp.maximum(c - 1, 0.0), 3.0)(x) + 0 * x,
        [1.0, 2.0, 4.0],
        excluded_by=(
            "c[n] ≠ 0 where c[0] = 3, c[s+1] = [c[s] > 1]·c[s] − [c[s] > 1]",
            "`scan(3 + 0 * dynamic_slice(x0, 0), x0) + 0 * x0` ≠ 0",
        ),
    ),
    guarded(
        "a_scan_that_alternates",
        lambda x: lax.scan(lambda c, a: ((c[1], c[0]), c[0]), (1 + 0 * x[0], 0 * x[0]), x)[1],
        [1.0, 2.0],
    ),
    guarded(
        "a_scan_of_another_carry",
        lambda x: lax.scan(lambda c, a: ((c[1], c[1] - 1), c[0]), (1 + 0 * x[0], 1 + 0 * x[0]), x)[1],
        [1.0, 2.0, 3.0],
        excluded_by=(
            "c[i] ≠ 0 where c[0] = 1, c[s+1] = 1 − s",
            "`scan(1 + 0 * dynamic_slice(x0, 0), 1 + 0 * dynamic_slice(x0, 0), x0)[2]` ≠ 0",
        ),
    ),
    guarded(
        "a_loop_that_counts_down",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c - 1, 2 + 0 * x[0]) + 0 * x,
        [1.0, 2.0],
    ),
    guarded(
        "a_loop_of_products",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * i, 1 + 0 * x[0]) + 0 * x,
        [1.0, 2.0],
    ),
    guarded(
        "a_cond_of_positives",
        lambda x: lax.cond(jnp.sum(x) > 2, lambda x: jnp.exp(x), lambda x: jnp.exp(x) - jnp.exp(x), x),
        [0.0, 1.0],
        excluded_by=(
            "(Σi x[i])/2 > 1",
            "`cond(sum(x0) > 2, x0)` ≠ 0",
        ),
    ),
    guarded(
        "a_switch_of_positives",
        lambda x: lax.switch(x.shape[0] - 1, [jnp.exp, jnp.exp, lambda x: 0 * x], x),
        [0.0, 1.0, 2.0],
        excluded_by=("`cond(clamp(0, n - 1, 2), x0)` ≠ 0",),
    ),
    guarded("a_sum_with_signs", lambda x: jnp.exp(x) - jnp.exp(x[::-1]), [1.0, 2.0, 4.0]),
    guarded("a_quotient_of_negatives", lambda x: jnp.exp(x) / -jnp.exp(x), [1.0], by=root),
    guarded("a_matrix_product_of_positives", lambda x: jnp.exp(x[:, None][:, 1:]) @ jnp.ones((0,)) + 0 * x, [1.0]),
    guarded(
        "a_dot_over_the_rest",
        lambda x: jnp.dot(jnp.exp(x[1:]), jnp.exp(x[1:])) + 0 * x,
        [1.0],
        excluded_by=("`dot(exp(gather(x0, 1)), exp(gather(x0, 1))) + 0 * x0` ≠ 0",),
    ),
    guarded(
        "a_convolution_of_positives_at_the_border",
        lambda x: jnp.convolve(jnp.exp(x), jnp.array([0.0, 0.0, 1.0]), mode="same"),
        [1.0, 2.0, 3.0],
    ),
    guarded(
        "a_window_past_the_border",
        lambda x: lax.reduce_window(jnp.exp(x), 0.0, lax.add, (1,), (1,), [(1, -1)]),
        [1.0, 2.0, 3.0],
    ),
    guarded(
        "an_even_power_of_an_exponent_argument",
        lambda x: jnp.power(jnp.abs(x), 2.0),
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`pow(abs(x0), 2)` ≠ 0",
        ),
    ),
    guarded("a_negative_power", lambda x: -jnp.power(jnp.exp(x), -2.0), [0.0, 1.0], by=root),
    guarded(
        "a_clipped_value",
        lambda x: jnp.clip(x, 0.0, 1.0),
        [-1.0, 0.5],
        excluded_by=("`minimum(1, maximum(0, x0))` ≠ 0",),
    ),
    guarded("a_clipped_value_the_wrong_way", lambda x: jnp.clip(jnp.exp(x), 1.0, 0.0), [-1.0, 0.5]),
    guarded(
        "a_minimum_of_positives",
        lambda x: jnp.minimum(jnp.exp(x), jnp.sinh(x)),
        [-1.0, 0.0],
        by=root,
        excluded_by=(
            "exp(x) ≠ 1",
            "`minimum(exp(x0), sinh(x0))` > 0",
        ),
    ),
    guarded(
        "an_integer_power",
        lambda x: lax.integer_pow(x, 3) * lax.integer_pow(x, 3),
        [0.0, 1.0],
        excluded_by=(
            "x ≠ 0",
            "`x0**3 * x0**3` ≠ 0",
        ),
    ),
    guarded(
        "a_standard_deviation",
        lambda x: jnp.std(x) + 0 * x,
        [2.0, 2.0],
        excluded_by=("`<lambda>(sum((x0 - sum(x0) / n)**2) / (n - 0)) + 0 * x0` ≠ 0",),
    ),
    guarded(
        "a_logarithm_of_a_sum",
        lambda x: jax.nn.logsumexp(0 * x) + 0 * x,
        [2.0],
        excluded_by=(
            "log(n) ≠ 0",
            "`<lambda>(0 * x0) + 0 * x0` ≠ 0",
        ),
    ),
    guarded(
        "a_log_of_a_softplus",
        lambda x: jnp.log(jax.nn.softplus(x * x)) - jnp.log(jnp.log(2 * jnp.ones_like(x))),
        [0.0, 1.0],
        excluded_by=("`log(logaddexp(x0 * x0, 0)) - log(log(2 * 1))` ≠ 0",),
    ),
    guarded(
        "an_entropy",
        lambda x: -jnp.sum(jax.nn.softmax(x) * jax.nn.log_softmax(x)) + 0 * x,
        [2.0],
        excluded_by=("`-sum(<lambda>(x0) * <lambda>(x0)) + 0 * x0` ≠ 0",),
    ),
]


def twin(factor):
    """x², with the given factor in its backward rule; the programs of two factors differ nowhere else."""
    return reverse(lambda x: x * x, lambda x, g: (factor * x * g,))


def constant(values):
    """The same with an array that the rule holds."""
    held = jnp.asarray(values)
    return reverse(lambda x: x * x, lambda x, g: (held * x * g,))


def residual(scale):
    rule = jax.custom_vjp(lambda x: x * x)
    rule.defvjp(lambda x: (x * x, scale * x), lambda r, g: (2 * r * g,))
    return rule


def static(n):
    rule = jax.custom_vjp(lambda n, x: x * x, nondiff_argnums=(0,))
    rule.defvjp(lambda n, x: (x * x, x), lambda n, x, g: (n * x * g,))
    return lambda x: rule(n, x)


def nested(factor):
    inner = twin(factor)
    return reverse(lambda x: inner(x) + x, lambda x, g: (jax.vjp(lambda y: inner(y) + y, x)[1](g)[0],))


def tangent(factor):
    rule = jax.custom_jvp(lambda x: x * x)
    rule.defjvp(lambda p, t: (p[0] * p[0], factor * p[0] * t[0]))
    return rule


def both(name, make, right, wrong, kind=ALIKE, join=lambda a, b: lambda x: a(x) + b(x), at=(1.5,)):
    """A right rule beside a wrong one that looks like it."""
    return Attack(
        name,
        kind,
        lambda: join(make(right), make(wrong)),
        join(lambda x: x * x, lambda x: x * x),
        "n -> n",
        lambda: (np.array(at),),
    )


def with_plain_nested(name, join, at=(1.5,)):
    square = lambda x: x * x
    return Attack(
        name, ALIKE, lambda: join(twin(2.0), twin(3.0)), join(square, square), "n -> n", lambda: (np.array(at),)
    )


ATTACKS += [
    both("twins_with_other_factors", twin, 2.0, 2.5),
    both("twins_with_close_factors", twin, 2.0, 2.001),
    both("twins_with_other_arrays", constant, 2.0, 2.5),
    both("twins_with_other_rows", constant, [2.0], [3.0]),
    both("twins_with_other_residuals", residual, 1.0, 1.5),
    both("twins_with_other_statics", static, 2, 3),
    both("twins_with_other_inner_rules", nested, 2.0, 3.0),
    both("twins_in_forward_mode", tangent, 2.0, 2.5),
    with_plain_nested("a_right_one_inside_a_wrong_one", lambda a, b: lambda x: b(a(x))),
    with_plain_nested("a_wrong_one_inside_a_right_one", lambda a, b: lambda x: a(b(x))),
    with_plain_nested(
        "one_of_two_in_a_loop", lambda a, b: lambda x: lax.scan(lambda c, y: (c, a(y) + b(y)), 0.0, x)[1]
    ),
    with_plain_nested("one_loop_of_two", lambda a, b: lambda x: lax.map(a, x) + lax.map(b, x)),
    with_plain_nested("one_branch_of_two", lambda a, b: lambda x: lax.cond(jnp.sum(x) > 0, b, a, x)),
    with_plain_nested(
        "one_branch_of_one",
        lambda a, b: (
            lambda x: lax.cond(jnp.sum(x) > 0, a, lambda x: a(x), x) + lax.cond(jnp.sum(x) > 0, b, lambda x: b(x), x)
        ),
    ),
    with_plain_nested("one_of_two_under_jit", lambda a, b: lambda x: jax.jit(a)(x) + jax.jit(b)(x)),
    with_plain_nested("one_of_two_mapped", lambda a, b: lambda x: jax.vmap(a)(x) + jax.vmap(b)(x)),
    with_plain_nested("one_of_two_at_a_checkpoint", lambda a, b: lambda x: jax.checkpoint(a)(x) + jax.checkpoint(b)(x)),
    with_plain_nested("in_a_loop_that_counts", lambda a, b: lambda x: lax.fori_loop(0, 3, lambda i, c: a(c) + b(x), x)),
]
