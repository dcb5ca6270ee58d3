"""A1: hypotheses that print alike and are not one. What the value asks for is printed; what the backward rule asks for
beside it is another thing, false where the rule is wrong."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom

KIND = "A1 text"


def through_log(y):
    """y, as code that works with logarithms has it: not for y ≤ 0."""
    return jnp.exp(jnp.log(y))


def through_root(y):
    """y, not for y < 0."""
    return jnp.sqrt(y) ** 2


def through_quotient(y):
    """y, not for y = 0."""
    return y * y / y


def pair(shown, hidden, through=through_log, outer=jnp.log):
    """Σ log(shown) + Σ hidden²: the value asks for shown > 0, the backward rule for hidden > 0 too."""

    def plain(x):
        return jnp.sum(outer(shown(x))) + jnp.sum(hidden(x) ** 2)

    def bwd(x, g):
        _, pull_shown = jax.vjp(shown, x)
        _, pull_hidden = jax.vjp(hidden, x)
        a = jax.grad(lambda y: jnp.sum(outer(y)))(shown(x))
        return (g * (pull_shown(a)[0] + pull_hidden(2 * through(hidden(x)))[0]),)

    return (lambda: custom(plain, lambda x: (plain(x), x), bwd)), plain


EXCLUDED = {
    "columns_or_rows": ("(Σj x[j,i]) > 0",),
    "rows_or_columns": ("(Σj x[i,j]) > 0",),
    "either_half": ("(Σ{i<n} x[i]) > 0",),
    "first_half": ("(Σ{i<n} x[i]) > 0",),
    "first_row_or_column": ("(Σi x[i,0]) > 0",),
    "last_two_or_three": ("(Σ{i<2} x[i+1+n]) > 0",),
    "maximum_of_fewer": ("max{i<n}(x[i]) > 0",),
    "minimum_of_more": ("maxi(−x[i]) < 0",),
    "nodes_axes": ("(Σj x[i,j]) > 0",),
    "nodes_contractions": ("(Σj x[j,i]) > 0",),
    "nodes_maxima_of_axes": ("maxj(x[i,j]) > 0",),
    "quotient_of_sums": ("(Σ{i<n} x[i]) ≠ 0",),
    "sum_of_all_but_either": ("(Σ{i<n} x[i]) > 0",),
    "sum_without_the_last": ("(Σ{i<n} x[i]) > 0",),
    "threshold_by_place": ("x[i] > i",),
    "transposed": ("(Σj x[j,i]) > 0",),
    "two_or_three": ("(Σ{i<2} x[i]) > 0",),
    "sum_without_the_first": ("(Σi x[i+1]) > 0",),
    "sum_of_either_end": ("(Σi x[i+1]) > 0",),
    "even_places": ("(Σi x[2i]) > 0",),
    "odd_or_even": ("(Σi x[2i]) > 0",),
    "sum_or_trace": ("(Σi x[i,i]) > 0",),
    "trace_or_sum": ("(Σij x[j,i]) > 0",),
    "below_or_above": ("(Σij x[j,i]) > (Σij x[i,j]·[i-j-1 ≥ 0])",),
    "strictly_below": ("(Σij x[i,j]·[i-j-1 ≥ 0]) > 0",),
    "masked_below": ("(Σi x[i]) > (Σi x[i]·[i-2 ≥ 0])",),
    "first_or_second": ("x > 0", "x[1] > 0"),
    "first_or_last": ("x > 0", "x[n] > 0"),
    "threshold_one_or_two": ("x > 2", "x0` > 2"),
    "threshold_close": ("10000000000·x > 1000000001",),
    "threshold_third": ("3·x > 1",),
    "threshold_tiny": ("1000000000·x > 1",),
    "threshold_large": ("x > 1000000001", "x0` > 1000000001"),
    "threshold_by_size": ("x > n",),
    "square_root_or_log": ("x ≥ 0", "x0` ≥ 0"),
    "quotient_first": ("x ≠ 0", "x0` ≠ 0"),
    "quotient_of_products": ("(Σi x[i]^2) ≠ 0",),
    "pairs_or_squares": ("(Σij x[i]·x[j]·[i-j-1 ≥ 0]) > 0",),
    "inner_or_outer": ("x·(Σi x[i]) > 0",),
    "determinant_of_part": ("x[1,1]·x[0,0] > x[1,0]·x[0,1]",),
    "first_of_sorted": ("x > 0",),
    "nodes_slices": ("(Σi x[i+2]) > 0", "sum(gather(x0, 2))` > 0"),
    "nodes_slices_of_ends": ("x > 0", "x[1] > 0", "dynamic_slice(x0, 1)` > 0"),
    "nodes_strides": ("(Σi x[2i+1]) > 0",),
    "nodes_orders": ("x > 0", "sort(x0), 0)` > 0"),
    "nodes_thresholds": ("x > 2", "x0 - 2` > 0"),
    "nodes_close_thresholds": ("100000000000·x > 10000000001", "x0 - 0.10000000001` > 0"),
    "nodes_names": ("x > 2", "x0 + -2` > 0"),
    "nodes_rules_of_one_name": ("x > 2", "`f(x0)` > 0 (at %6)"),
    "nodes_powers": ("x > 0", "x0**3` > 0"),
    "nodes_pads": ("(Σi x[i]) > 0", "sum(pad(x0, 0))` > 0"),
    "nodes_takes": ("x > 0", "x[1] > 0", "c1))` > 0"),
    "nodes_constants": ("(Σi x[i]·i) > 0", "sum(x0 * c1)` > 0"),
    "nodes_running_sums": ("(Σj x[j]·[-i+j ≥ 0]) > 0 for every i",),
    "running_sums_backward": ("(Σ{j<n} x[-j+n-1]) > (Σ{j<n} x[-j+n-1]·[-i+j-1 ≥ 0]) for every i",),
    "total_or_running_sums": ("(Σj x[j]) > (Σj x[j]·[-i+j-1 ≥ 0]) for every i",),
    "nodes_wheres": (
        "x[i]·[i-2 ≥ 0] − [i-2 ≥ 0] wherever i < 2",
        "where(iota() < 2, x0, 1)` > 0",
    ),
}
"""What is printed today, and is false at the point of the attack: looked at one by one. Prints that leave the range of
a sum open, or hold a name that nobody knows (`q20`), are not among these."""


def attack(name, shown, hidden, signature, at, through=through_log, outer=jnp.log):
    rule, plain = pair(shown, hidden, through, outer)
    return Attack(name, KIND, rule, plain, signature, lambda: (np.array(at),), excluded_by=EXCLUDED.get(name, ()))


def guarded():
    """y², whose rule takes the logarithm of y."""
    return custom(lambda y: y * y, lambda y: (y * y, y), lambda y, g: (2 * through_log(y) * g,))


def nodes(name, first, second, signature, at):
    """Two nodes with the same rule, of which the first has a positive operand and the second a negative one."""

    def make():
        rule = guarded()
        return lambda x: jnp.sum(rule(first(x))) + jnp.sum(rule(second(x)))

    def plain(x):
        return jnp.sum(first(x) ** 2) + jnp.sum(second(x) ** 2)

    excluded = EXCLUDED.get(f"nodes_{name}", ())
    return Attack(
        f"nodes_{name}", "A1 text of nodes", make, plain, signature, lambda: (np.array(at),), excluded_by=excluded
    )


def named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


def named_calls(x, shift):
    return jax.jit(named(lambda x: x + shift, "f"))(x)


def with_jvp(shift):
    rule = jax.custom_jvp(named(lambda x: x + shift, "f"))
    rule.defjvp(lambda p, t: (p[0] + shift, t[0]))
    return rule


A = -1.0
ATTACKS = [
    attack("sum_without_the_last", jnp.sum, lambda x: jnp.sum(x[:-1]), "n+1 -> ", [A, 5.0]),
    attack("sum_without_the_first", jnp.sum, lambda x: jnp.sum(x[1:]), "n+1 -> ", [5.0, A]),
    attack("sum_of_all_but_either", lambda x: jnp.sum(x[1:]), lambda x: jnp.sum(x[:-1]), "n+1 -> ", [A, 5.0]),
    attack("sum_of_either_end", lambda x: jnp.sum(x[:-1]), lambda x: jnp.sum(x[1:]), "n+1 -> ", [5.0, A]),
    attack("two_or_three", lambda x: jnp.sum(x[:3]), lambda x: jnp.sum(x[:2]), "n+3 -> ", [A, -2.0, 9.0, 1.0]),
    attack("last_two_or_three", lambda x: jnp.sum(x[-3:]), lambda x: jnp.sum(x[-2:]), "n+3 -> ", [1.0, 9.0, A, A]),
    attack("even_places", jnp.sum, lambda x: jnp.sum(x[::2]), "2*n -> ", [A, 5.0]),
    attack("odd_or_even", lambda x: jnp.sum(x[1::2]), lambda x: jnp.sum(x[::2]), "2*n -> ", [A, 5.0]),
    attack("first_half", jnp.sum, lambda x: jnp.sum(x[: x.shape[0] // 2]), "2*n -> ", [A, 5.0]),
    attack(
        "either_half",
        lambda x: jnp.sum(x[x.shape[0] // 2 :]),
        lambda x: jnp.sum(x[: x.shape[0] // 2]),
        "2*n -> ",
        [A, 5.0],
    ),
    attack("rows_or_columns", lambda x: jnp.sum(x, 0), lambda x: jnp.sum(x, 1), "n n -> ", [[-1.0, -1.0], [3.0, 3.0]]),
    attack("columns_or_rows", lambda x: jnp.sum(x, 1), lambda x: jnp.sum(x, 0), "n n -> ", [[-1.0, 3.0], [-1.0, 3.0]]),
    attack("first_row_or_column", lambda x: jnp.sum(x[0]), lambda x: jnp.sum(x[:, 0]), "n n -> ", [[0.0, 5], [A, 1]]),
    attack("sum_or_trace", jnp.sum, jnp.trace, "n n -> ", [[-1.0, 9.0], [1.0, -1.0]]),
    attack("trace_or_sum", jnp.trace, jnp.sum, "n n -> ", [[1.0, -9.0], [1.0, 1.0]]),
    attack(
        "below_or_above",
        lambda x: jnp.sum(jnp.tril(x)),
        lambda x: jnp.sum(jnp.triu(x)),
        "n n -> ",
        [[1.0, -9], [5.0, 1]],
    ),
    attack(
        "strictly_below",
        lambda x: jnp.sum(jnp.tril(x)),
        lambda x: jnp.sum(jnp.tril(x, -1)),
        "n+1 n+1 -> ",
        [[5.0, 0], [-1.0, 5]],
    ),
    attack("running_sums_backward", jnp.cumsum, lambda x: jnp.flip(jnp.cumsum(jnp.flip(x))), "n -> ", [5.0, -1.0]),
    attack("total_or_running_sums", jnp.sum, jnp.cumsum, "n -> ", [-1.0, 5.0]),
    attack("maximum_of_fewer", jnp.max, lambda x: jnp.max(x[:-1]), "n+1 -> ", [-1.0, -1.5, 5.0]),
    attack("minimum_of_more", lambda x: jnp.min(x[:-1]), jnp.min, "n+1 -> ", [5.0, -1.0]),
    attack(
        "masked_below",
        lambda x: jnp.sum(jnp.where(jnp.arange(x.shape[0]) < 3, x, 0)),
        lambda x: jnp.sum(jnp.where(jnp.arange(x.shape[0]) < 2, x, 0)),
        "n -> ",
        [-1.0, -1.0, 9.0],
    ),
    attack("first_or_second", lambda x: x[0], lambda x: x[1], "n+2 -> ", [5.0, -1.0, 1.0]),
    attack("first_or_last", lambda x: x[0], lambda x: x[-1], "n+1 -> ", [5.0, -1.0]),
    attack("threshold_one_or_two", lambda x: x - 1, lambda x: x - 2, "n -> ", [1.5]),
    attack("threshold_close", lambda x: x - 0.1, lambda x: x - 0.1000000001, "n -> ", [0.10000000005]),
    attack(
        "threshold_third", lambda x: x - 0.3333333, lambda x: x - 1 / jnp.asarray(3.0, x.dtype), "n -> ", [0.33333331]
    ),
    attack("threshold_tiny", lambda x: x - 1e-12, lambda x: x - 1e-9, "n -> ", [1e-10]),
    attack("threshold_large", lambda x: x - 1e9, lambda x: x - 1000000001.0, "n -> ", [1e9 + 0.5]),
    attack("threshold_by_place", lambda x: x, lambda x: x - jnp.arange(x.shape[0]), "n -> ", [1.0, 0.5]),
    attack("threshold_by_size", lambda x: x - 1, lambda x: x - x.shape[0], "n -> ", [1.5, 1.5]),
    attack("square_root_or_log", lambda x: x + 1, lambda x: x, "n -> ", [-0.5], through=through_root),
    attack(
        "quotient_of_sums", jnp.sum, lambda x: jnp.sum(x[:-1]), "n+1 -> ", [0.0, 5.0], through_quotient, jnp.reciprocal
    ),
    attack("quotient_first", lambda x: x[0], lambda x: x[-1], "n+1 -> ", [5.0, 0.0], through_quotient, jnp.reciprocal),
    attack(
        "quotient_of_products",
        lambda x: jnp.sum(x * x[::-1]),
        lambda x: jnp.sum(x * x),
        "n -> ",
        [0.0, 0.0],
        through_quotient,
        lambda y: y * 1.0,
    ),
    attack(
        "pairs_or_squares",
        lambda x: jnp.sum(x * x),
        lambda x: jnp.sum(x[:, None] * x[None, :] * jnp.tri(x.shape[0], k=-1)),
        "n -> ",
        [1.0, -1.0],
    ),
    attack("inner_or_outer", lambda x: jnp.sum(x * x), lambda x: jnp.sum(x) * x[0], "n -> ", [1.0, -5.0]),
    attack(
        "determinant_of_part",
        jnp.linalg.det,
        lambda x: jnp.linalg.det(x[:-1, :-1]),
        "3 3 -> ",
        [[0, 1, 0], [1, 0, 0], [0, 0, -1.0]],
    ),
    attack(
        "transposed",
        lambda x: x @ jnp.ones(x.shape[0]),
        lambda x: jnp.ones(x.shape[0]) @ x,
        "n n -> ",
        [[-1.0, 3.0], [-1.0, 3.0]],
    ),
    attack(
        "reshaped",
        lambda x: jnp.sum(x.reshape(2, -1), 0),
        lambda x: jnp.sum(x.reshape(-1, 2), 1),
        "2*n -> ",
        [-1.0, -1.0, 5.0, 5.0],
    ),
    attack("first_of_sorted", lambda x: jnp.sort(x)[-1], lambda x: jnp.sort(x)[0], "n -> ", [5.0, -1.0]),
    nodes("slices", lambda x: jnp.sum(x[1:]), lambda x: jnp.sum(x[2:]), "n+2 -> ", [1.0, 5.0, -1.0]),
    nodes("slices_of_ends", lambda x: x[0], lambda x: x[1], "n+2 -> ", [5.0, -1.0, 0.0]),
    nodes("strides", lambda x: jnp.sum(x[::2]), lambda x: jnp.sum(x[1::2]), "2*n -> ", [5.0, -1.0]),
    nodes("axes", lambda x: jnp.sum(x, 0), lambda x: jnp.sum(x, 1), "n m -> ", [[-1.0, -1.0], [3.0, 3.0]]),
    nodes("maxima_of_axes", lambda x: jnp.max(x, 0), lambda x: jnp.max(x, 1), "n m -> ", [[-1.0, -2.0], [3.0, 4.0]]),
    nodes("running_sums", jnp.cumsum, lambda x: lax.cumsum(x, reverse=True), "n -> ", [5.0, -1.0]),
    nodes("running_maxima", lax.cummax, lambda x: lax.cummax(x, reverse=True), "n -> ", [5.0, -1.0]),
    nodes("orders", lambda x: jnp.sort(x)[-1], lambda x: jnp.sort(x)[0], "n -> ", [5.0, -1.0]),
    nodes("thresholds", lambda x: x - 1, lambda x: x - 2, "n -> ", [1.5]),
    nodes("close_thresholds", lambda x: x - 0.1, lambda x: x - 0.10000000001, "n -> ", [0.100000000005]),
    nodes("names", lambda x: named_calls(x, 2.0), lambda x: named_calls(x, -2.0), "n -> ", [1.0]),
    nodes("rules_of_one_name", with_jvp(2.0), with_jvp(-2.0), "n -> ", [1.0]),
    nodes("powers", lambda x: x**2, lambda x: x**3, "n -> ", [-1.0]),
    nodes(
        "pads",
        lambda x: jnp.sum(jnp.pad(x, (0, 1), constant_values=9.0)),
        lambda x: jnp.sum(jnp.pad(x, (1, 0))),
        "n -> ",
        [-1.0],
    ),
    nodes(
        "contractions",
        lambda x: jnp.einsum("ij->i", x),
        lambda x: jnp.einsum("ij->j", x),
        "n n -> ",
        [[-1.0, 3.0], [-1.0, 3.0]],
    ),
    nodes(
        "takes",
        lambda x: jnp.take(x, jnp.array([0])),
        lambda x: jnp.take(x, jnp.array([1])),
        "n+2 -> ",
        [1.0, -1.0, 5.0],
    ),
    nodes(
        "constants",
        lambda x: jnp.sum(x * np.array([1.0, 0.0])),
        lambda x: jnp.sum(x * np.array([0.0, 1.0])),
        "2 -> ",
        [1.0, -1.0],
    ),
    nodes(
        "wheres",
        lambda x: jnp.where(jnp.arange(2) < 1, x, 1.0),
        lambda x: jnp.where(jnp.arange(2) < 2, x, 1.0),
        "2 -> ",
        [1.0, -1.0],
    ),
]
