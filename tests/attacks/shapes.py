"""Attacks on sizes and ranks: decided while tracing, computed with, or reached by broadcasting."""

from __future__ import annotations

import functools
import math
import operator

import jax
import jax.numpy as jnp
import numpy as np

from .written import pulled

DECIDED = "4.8 sizes decided by Python"
COMPUTED = "4.9 arithmetic of sizes"
RANK = "4.10 rank"
BROADCAST = "5 size 1 and broadcasting"


def when(name, condition, n, d, kind=DECIDED, **more):
    """The attack on x·w along the last axis, wrong at the sizes that the condition picks."""

    def pull(x, w, g):
        f = 2.0 if condition(x.shape[0], x.shape[1], x) else 1.0
        return g[:, None] * w * f, g @ x

    return pulled(name, kind, lambda x, w: x @ w, pull, "n d, d -> n", np.ones((n, d)), np.ones(d), **more)


def factor(name, value, n, d, kind=COMPUTED, **more):
    """The attack on x·w along the last axis whose rule has a factor that is 1 at many sizes."""

    def pull(x, w, g):
        return g[:, None] * w * value(x.shape[0], x.shape[1], x), g @ x

    return pulled(name, kind, lambda x, w: x @ w, pull, "n d, d -> n", np.ones((n, d)), np.ones(d), **more)


def ranked(name, condition, at, **more):
    """The attack on an elementwise square, wrong at the ranks that the condition picks."""
    return pulled(
        name, RANK, lambda x: x * x, lambda x, g: (3.0 if condition(x, g) else 2.0) * x * g, "*s -> *s", at, **more
    )


class Sizes(dict):
    def __missing__(self, key):
        return 1.0


@functools.lru_cache
def remembered(n):
    return 2.0 if n == 7 else 1.0


ATTACKS = [
    when("equal_sizes_by_sets", lambda n, d, x: len({n, d}) == 1, 3, 3),
    when("equal_sizes_by_sorting", lambda n, d, x: [n, d] == [d, n], 3, 3),
    when("a_size_found_in_a_list", lambda n, d, x: n in [4, 9], 9, 2),
    when("a_size_as_a_key", lambda n, d, x: Sizes({11: 2.0})[n] == 2.0, 11, 2),
    when("a_size_matched", lambda n, d, x: _matched(n), 13, 2),
    when("a_size_printed", lambda n, d, x: f"{n}" == "7", 7, 2),
    when("a_size_remembered", lambda n, d, x: remembered(n) == 2.0, 7, 2),
    when("a_size_by_its_length", lambda n, d, x: len(x) == 7, 7, 2),
    when("a_size_by_a_product", lambda n, d, x: x.size == 42, 7, 6),
    when("a_size_by_the_shape_of_another", lambda n, d, x: x.shape == x.T.shape, 4, 4),
    when("a_size_by_an_operator", lambda n, d, x: operator.eq(n, 7), 7, 2),
    when("a_size_by_a_difference", lambda n, d, x: not (n - d), 4, 4),
    when("a_size_by_divisibility", lambda n, d, x: n % 16 == 0, 16, 2),
    when("a_size_that_is_large", lambda n, d, x: n > 1000, 1001, 1),
    when("a_size_by_an_error", lambda n, d, x: _succeeds(lambda: jnp.broadcast_shapes((n,), (d,))), 3, 3),
    when("a_size_by_an_index", lambda n, d, x: [1, 2, 3, 4][min(n, 3)] == 4, 5, 2),
    when("a_size_by_its_bits", lambda n, d, x: bin(n).count("1") == 3 if isinstance(n, int) else False, 7, 2),
    when("a_size_by_its_type", lambda n, d, x: type(n) is int, 7, 2),
    when("a_size_by_its_methods", lambda n, d, x: hasattr(n, "bit_length"), 7, 2),
    when("a_size_by_its_hash", lambda n, d, x: hash(n) == 7, 7, 2),
    when("a_size_by_its_position", lambda n, d, x: operator.index(n) == 7 if hasattr(n, "to_bytes") else False, 7, 2),
    when("a_size_by_numpy", lambda n, d, x: bool(np.all(np.equal(n, 7))), 7, 2),
    when("a_size_by_the_greatest", lambda n, d, x: max(n, 9) == n, 9, 2),
    when("a_size_by_a_range", lambda n, d, x: n in range(30, 40), 31, 1),
    when("a_size_by_its_power", lambda n, d, x: n**2 == 49, 7, 2),
    when("a_size_by_two_of_them", lambda n, d, x: n * d == n + d, 2, 2),
    when(
        "a_size_by_its_quotient",
        lambda n, d, x: n // 5 == 2,
        11,
        1,
        excluded_by=("not -2 + 1*floordiv(n, 5) = 0",),
    ),
    when("a_size_by_the_type_of_the_array", lambda n, d, x: x.aval.shape == (3, 5), 3, 5, excluded_by=("not n = 3",)),
    when("a_size_by_evaluation", lambda n, d, x: jax.eval_shape(lambda y: y[:7], x).shape[0] == 7, 8, 1),
    when("a_size_by_a_static_array", lambda n, d, x: np.zeros(8)[: n if isinstance(n, int) else 0].size == 7, 7, 1),
    factor("above_four_by_a_maximum", lambda n, d, x: 1 + jnp.maximum(0, jnp.asarray(n) - 40), 41, 1),
    factor(
        "even_by_a_cosine",
        lambda n, d, x: jnp.cos(2 * jnp.pi * jnp.asarray(n) / 2) ** 2 + jnp.where(jnp.asarray(n) == 27, 1.0, 0.0),
        27,
        1,
    ),
    factor("a_power_of_nothing", lambda n, d, x: 1 + jnp.where(jnp.sum(jnp.ones(n)) == 23, 1.0, 0.0), 23, 1),
    factor("a_count_by_an_iota", lambda n, d, x: 1 + (jnp.max(jnp.arange(n)) == 22), 23, 1),
    factor(
        "a_rounded_quotient",
        lambda n, d, x: (n // 3 * 3 + n % 3 + 1.0 * (n - n // 2 * 2 - n % 2)) / n if False else 3 * (n // 3) / n,
        4,
        1,
    ),
    factor("halves_of_an_even_number", lambda n, d, x: 2 * (n // 2) / n, 5, 1),
    factor("an_integer_root", lambda n, d, x: jnp.sqrt(1.0 * n) ** 2 / n + (jnp.floor(jnp.sqrt(1.0 * n)) == 5), 25, 1),
    factor("equal_sizes_traced", lambda n, d, x: jnp.where(jnp.asarray(n) == jnp.asarray(d), 2.0, 1.0), 6, 6),
    factor(
        "equal_sizes_by_a_quotient",
        lambda n, d, x: (jnp.asarray(n) - d + 0.0) / (jnp.asarray(n) - d),
        6,
        6,
        excluded_by=("n ≠ d", "d ≠ n"),
    ),
    factor("a_size_from_the_end", lambda n, d, x: jnp.where(jnp.arange(d)[::-1] == 30, 2.0, 1.0), 1, 31),
    factor("a_rank_of_ones", lambda n, d, x: jnp.exp(jnp.zeros(n).sum()) * jnp.where(n * d > 900, 0.5, 1.0), 31, 30),
    factor("a_root_by_python", lambda n, d, x: math.sqrt(n) ** 2 / n if n % 9 else 2.0, 9, 1),
    factor("a_logarithm_by_python", lambda n, d, x: 2.0 if math.log2(n) == 5 else 1.0, 32, 1),
    factor("a_greatest_common_divisor", lambda n, d, x: 2.0 if math.gcd(n, d) == 5 else 1.0, 10, 5),
    ranked("a_rank_by_an_operator", lambda x, g: operator.attrgetter("ndim")(x) == 5, np.ones((2, 1, 1, 1, 1))),
    ranked("a_rank_by_a_tree", lambda x, g: jax.tree.structure(x.shape).num_leaves == 5, np.ones((2, 1, 1, 1, 1))),
    ranked(
        "a_rank_by_leaves",
        lambda x, g: list(map(bool, jax.tree.leaves(x.shape)))[4:] == [True],
        np.ones((2, 1, 1, 1, 1)),
    ),
    ranked("a_rank_by_a_failing_sum", lambda x, g: _succeeds(lambda: jnp.sum(x, axis=4)), np.ones((2, 1, 1, 1, 1))),
    when("a_size_by_a_floor", lambda n, d, x: n // 7 == 1, 8, 2),
    when("a_size_by_the_larger", lambda n, d, x: jax.core.max_dim(n, 7) == 7, 5, 2),
    ranked(
        "a_rank_by_pairs",
        lambda x, g: list(zip(x.shape, range(5, 0, -1), strict=False))[-1][1] == 1,
        np.ones((2, 1, 1, 1, 1)),
    ),
    ranked("a_rank_by_transposing", lambda x, g: str(x.T.shape).count(",") > 4, np.ones((2, 1, 1, 1, 1, 1))),
    pulled(
        "transposed_at_rank_two",
        RANK,
        lambda x: x * 1.0,
        lambda x, g: g.T.reshape(x.shape),
        "*s -> *s",
        np.eye(2) + np.arange(4.0).reshape(2, 2),
    ),
    pulled(
        "summed_over_an_axis",
        RANK,
        lambda x: jnp.sum(x, axis=-1, keepdims=True) * x,
        lambda x, g: g * jnp.sum(x, keepdims=True) + jnp.sum(g * x, keepdims=True),
        "*s n -> *s n",
        np.ones((2, 2)) + np.eye(2),
    ),
    pulled(
        "mapped_over_the_first_axis",
        RANK,
        lambda x: jax.nn.softmax(x, axis=-1),
        lambda x, g: (
            (p := jax.nn.softmax(x, axis=-1)) * (g - jnp.sum(p * g, axis=0 if x.ndim > 1 else -1, keepdims=True))
        ),
        "*s n -> *s n",
        np.eye(2),
    ),
    pulled(
        "a_scale_that_is_not_summed",
        BROADCAST,
        lambda x, w: x * w,
        lambda x, w, g: (g * w, jnp.sum(g * x, axis=0, keepdims=True)[: w.shape[0]]),
        "n d, 1 d -> n d",
        np.ones((2, 3)),
        np.ones((1, 3)) * 2,
    )
    if False
    else pulled(
        "a_scale_averaged",
        BROADCAST,
        lambda x, w: x * w,
        lambda x, w, g: (g * w, jnp.mean(g * x)),
        "n, -> n",
        [1.0, 2.0],
        2.0,
    ),
    pulled(
        "a_row_summed_along_the_wrong_axis",
        BROADCAST,
        lambda x, w: x * w,
        lambda x, w, g: (g * w, jnp.sum(g * x, axis=1)),
        "n n, n -> n n",
        np.arange(4.0).reshape(2, 2),
        [1.0, 2.0],
    ),
    pulled(
        "a_column_against_a_row",
        BROADCAST,
        lambda x, w: x[:, None] * w,
        lambda x, w, g: (g.T @ w, g @ x),
        "n, n -> n n",
        [1.0, 2.0],
        [3.0, 4.0],
    ),
    pulled(
        "an_axis_of_one_broadcast_again",
        BROADCAST,
        lambda x, y: x + y,
        lambda x, y, g: (g, jnp.broadcast_to(g[:1], y.shape)),
        "n 1, n 1 -> n 1",
        [[1.0], [2.0]],
        [[1.0], [2.0]],
    ),
    pulled(
        "a_norm_of_one_entry",
        BROADCAST,
        lambda x: jnp.sum(x, axis=-1),
        lambda x, g: g[:, None] * jnp.linalg.norm(x, axis=-1, keepdims=True) / x,
        "n 1 -> n",
        [[-1.0], [2.0]],
    ),
    pulled(
        "a_root_of_a_single_square",
        BROADCAST,
        lambda x: jnp.sum(x * x, axis=-1) / 2,
        lambda x, g: g[:, None] * jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True)),
        "n 1 -> n",
        [[-1.0], [2.0]],
    ),
    pulled(
        "a_softmax_of_one_entry",
        BROADCAST,
        lambda x: jax.nn.softmax(x),
        lambda x, g: 0 * x * jnp.sum(g) + jnp.where(jnp.arange(x.shape[0]) > 0, 1.0, 0.0) * g[0] * 0,
        "n -> n",
        [1.0, 2.0],
    ),
    pulled("a_normalised_single_entry", BROADCAST, lambda x: x - jnp.mean(x), lambda x, g: 0 * g, "n -> n", [1.0, 2.0]),
]


def _matched(n):
    match n:
        case 13:
            return True
    return False


def _succeeds(action):
    try:
        action()
    except Exception:
        return False
    return True
