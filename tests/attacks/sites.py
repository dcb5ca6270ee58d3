"""Attacks on one rule at several call sites: other sizes, ranks and dtypes than those of the lemma that was proved."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .written import array, forward, reverse

SITES = "4.3 lemmas at other sites"


def square(x):
    return x * x


def rule_where(condition):
    """x², whose rule is wrong where the condition holds of its argument."""
    return reverse(square, lambda x, g: (3.0 if condition(x) else 2.0) * x * g)


def site(name, condition, use, signature, *at, **more):
    """The attack that uses the rule in a program; `use(f, …)` also gives the plain function."""
    values = tuple(array(v) for v in at)

    def make():
        return lambda *args: use(rule_where(condition), *args)

    return Attack(name, SITES, make, lambda *args: use(square, *args), signature, lambda: values, **more)


def twice(f, x):
    return f(x) + f(jnp.concatenate([x, x]))[: x.shape[0]]


def tangent_where(condition):
    """The same in forward mode."""
    return forward(square, lambda x, dx: (3.0 if condition(x) else 2.0) * x * dx)


def constant_where(condition):
    """The same, where an array decides that the rule holds."""
    slope = np.array(3.0 if condition(None) else 2.0)
    return reverse(square, lambda x, g: slope * x * g)


def chosen(name, condition, signature, at, make=rule_where, wrap=lambda f: f):
    """The attack of a function that takes another rule of the same forward where the condition holds."""

    def both():
        right, wrong = make(lambda x: False), make(lambda x: True)
        return wrap(lambda x: (wrong if condition(x) else right)(x))

    return Attack(name, SITES, both, square, signature, lambda: (at,))


ATTACKS = [
    site(
        "right_at_n_and_wrong_at_twice_n",
        lambda x: x.shape[0] == 2,
        twice,
        "n -> n",
        [1.5],
        excluded_by=("not n = 1: there",),
    ),
    site(
        "right_at_n_and_wrong_at_one", lambda x: x.shape[0] == 1, lambda f, x: f(x) + f(x[:1])[0], "n -> n", [1.5, 2.0]
    ),
    site(
        "right_at_n_and_wrong_at_seven",
        lambda x: x.shape[0] == 7,
        lambda f, x, y: jnp.sum(f(x)) + jnp.sum(f(y)),
        "n, 7 -> ",
        [1.5],
        np.ones(7),
    ),
    site(
        "right_at_six_and_wrong_at_seven",
        lambda x: x.shape[0] == 7,
        lambda f, x, y: jnp.sum(f(x)) + jnp.sum(f(y)),
        "6, 7 -> ",
        np.ones(6),
        np.ones(7),
    ),
    site(
        "right_at_rank_one_and_wrong_at_two", lambda x: x.ndim == 2, lambda f, x: f(x) + f(x[None])[0], "n -> n", [1.5]
    ),
    site(
        "right_for_rows_and_wrong_for_scalars",
        lambda x: x.ndim == 0,
        lambda f, x: f(x) + f(jnp.sum(x)),
        "n -> n",
        [1.5],
    ),
    site("wrong_where_it_is_mapped", lambda x: x.ndim == 0, lambda f, x: f(x) + jax.vmap(f)(x), "n -> n", [1.5]),
    site(
        "wrong_inside_a_scan",
        lambda x: x.ndim == 0,
        lambda f, x: f(x) + lax.scan(lambda c, a: (c, f(a)), 0.0, x)[1],
        "n -> n",
        [1.5],
    ),
    site(
        "wrong_for_a_square_matrix",
        lambda x: x.shape[0] == x.shape[-1],
        lambda f, x: jnp.sum(f(x)) + jnp.sum(f(x @ x.T)),
        "n d -> ",
        [[1.5, 1.0]],
    ),
    site(
        "wrong_for_a_gram_matrix_of_three",
        lambda x: x.shape == (3, 3),
        lambda f, x: jnp.sum(f(x)) + jnp.sum(f(x.T @ x)),
        "n 3 -> ",
        np.ones((2, 3)),
    ),
    site(
        "wrong_for_single_precision",
        lambda x: x.dtype == jnp.float32,
        lambda f, x: f(x) + f(x.astype(jnp.float32)).astype(x.dtype),
        "n -> n",
        [1.5],
    ),
    site(
        "wrong_for_half_precision",
        lambda x: x.dtype == jnp.bfloat16,
        lambda f, x: f(x) + f(x.astype(jnp.bfloat16)).astype(x.dtype),
        "n -> n",
        [1.5],
    ),
    site(
        "wrong_for_a_padded_argument",
        lambda x: x.shape[0] == 4,
        lambda f, x: f(jnp.pad(x, (1, 1)))[1:-1] + f(x),
        "n -> n",
        [1.5, 2.0],
        excluded_by=("not n = 2 (in",),
    ),
    site(
        "wrong_for_half_of_the_argument",
        lambda x: x.shape[0] == 3,
        lambda f, x: f(x) + jnp.sum(f(x[: x.shape[0] // 2])),
        "n -> n",
        np.ones(6),
        excluded_by=("not -3 + 1*floordiv(n, 2) = 0",),
    ),
    site(
        "wrong_for_the_flattened_argument",
        lambda x: x.shape[0] == 12,
        lambda f, x: jnp.sum(f(x)) + jnp.sum(f(x.reshape(-1))),
        "n d -> ",
        np.ones((3, 4)),
        excluded_by=("not -12 + 1*d*n = 0",),
    ),
    site(
        "wrong_after_a_branch_on_the_size",
        lambda x: x.shape[0] == 5,
        lambda f, x: f(x) if x.shape[0] == 5 else 2 * f(x) - square(x),
        "n -> n",
        np.ones(5),
        excluded_by=("not n = 5: there",),
    ),
    site(
        "wrong_where_only_the_caller_branches",
        lambda x: False,
        lambda f, x: f(x) if x.shape[0] != 5 or f is square else reverse(square, lambda x, g: 5 * x * g)(x),
        "n -> n",
        np.ones(5),
    ),
    site(
        "wrong_in_a_branch_of_a_cond",
        lambda x: x.shape[0] == 2,
        lambda f, x: lax.cond(jnp.sum(x) > 0, lambda x: f(x), lambda x: f(jnp.concatenate([x, x]))[: x.shape[0]], x),
        "n -> n",
        [-1.5],
        excluded_by=("not n = 1: there",),
    ),
    site(
        "wrong_in_a_loop_of_no_steps",
        lambda x: x.shape[0] == 2,
        lambda f, x: lax.fori_loop(0, x.shape[0] // 2, lambda i, c: c + f(x)[i], 0.0 * x[0]),
        "n -> ",
        [1.5, 2.0],
    ),
    chosen("another_rule_at_one_size", lambda x: x.shape[0] == 5, "n -> n", np.ones(5)),
    chosen("another_rule_at_even_sizes", lambda x: x.shape[0] % 2 == 0, "n -> n", np.ones(4)),
    chosen("another_rule_for_a_square_matrix", lambda x: x.shape[0] == x.shape[1], "n d -> n d", np.ones((3, 3))),
    chosen("another_rule_under_jit", lambda x: x.shape[0] == 5, "n -> n", np.ones(5), wrap=jax.jit),
    chosen("another_rule_at_a_checkpoint", lambda x: x.shape[0] == 5, "n -> n", np.ones(5), wrap=jax.checkpoint),
    chosen("another_rule_in_forward_mode", lambda x: x.shape[0] == 5, "n -> n", np.ones(5), make=tangent_where),
    chosen("another_rule_by_a_constant", lambda x: x.shape[0] == 5, "n -> n", np.ones(5), make=constant_where),
    Attack(
        "another_rule_at_every_second_call",
        "4.20 impure functions",
        lambda: _alternating(2),
        square,
        "n -> n",
        lambda: (np.ones(2),),
    ),
    Attack(
        "another_rule_at_every_third_call",
        "4.20 impure functions",
        lambda: _alternating(3),
        square,
        "n -> n",
        lambda: (np.ones(2),),
    ),
    chosen("another_rule_from_six", lambda x: x.shape[0] > 5, "n -> n", np.ones(6)),
    Attack(
        "a_rule_with_another_neighbour",
        SITES,
        lambda: (
            lambda x: (
                forward(square, lambda x, dx: 2 * x * dx)(x) + forward(square, lambda x, dx: 2 * jnp.abs(x) * dx)(x)
            )
        ),
        lambda x: 2 * x * x,
        "n -> n",
        lambda: (np.array([-1.5]),),
    ),
    Attack(
        "a_rule_with_an_object_that_changes",
        SITES,
        lambda: _changing(),
        lambda x: x * x + jnp.sin(x) ** 2,
        "n -> n",
        lambda: (np.array([1.5]),),
    ),
]


def _changing():
    """Two calls of a rule that reads an object of the caller, which is changed between them."""
    held = SimpleNamespace(slope=2.0)
    f = reverse(square, lambda x, g: held.slope * x * g)

    def both(x):
        held.slope = 2.0
        first = f(x)
        held.slope = 3.0
        return first + f(jnp.sin(x))

    return both


def _alternating(period):
    """A function that takes the wrong rule at the last call of each period."""
    calls, right, wrong = count(), rule_where(lambda x: False), rule_where(lambda x: True)
    return lambda x: (wrong if next(calls) % period == period - 1 else right)(x)
