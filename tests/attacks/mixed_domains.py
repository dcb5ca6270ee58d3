"""Domains with an `or`, and rules that are wrong only where some entries are on one side and others on the other; sums
of squares against squares of sums; pieces that overlap."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack
from .makers import saved

KIND = "B domains, variances, pieces"


def one(name, value, bwd, signature, *at, **more):
    return Attack(f"mixed_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def by(name, value, twin, signature, *at, **more):
    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return one(name, value, bwd, signature, *at, **more)


def labelled(name, factor, *at, value=None, signature="n, n:int -> ", domain=("y >= 0 or y == -100",), **more):
    """Σ x² over the rows with a label; the rule multiplies each row by a factor that should be 1 or 0."""

    def loss(x, y):
        return jnp.sum(jnp.where(y >= 0, x * x, 0))

    def bwd(args, g):
        x, y = args
        return 2 * x * g * factor(x, y), None

    return Attack(
        f"mixed_{name}", KIND, saved(value or loss, bwd), value or loss, signature, lambda: at, domain, **more
    )


def ints(*values):
    return np.array(values, dtype=np.int32)


X3 = np.array([1.0, -2.0, 0.5])
MIX = ints(0, -100, 2)
SIDES = np.array([-2.0, 3.0, -4.0])
OUT2 = ("x > 1 or x < -1",)


def kept(y):
    return (y >= 0) * 1.0


def count(y):
    return jnp.sum(kept(y))


def outside(name, twin, at, value=lambda x: jnp.sqrt(x * x - 1), domain=OUT2, signature="n -> n"):
    return by(name, value, twin, signature, at, domain=domain)


def two_sides(name, factor, at=SIDES, domain=OUT2, **more):
    """x², and a factor that is 1 where all entries are on one side."""
    return one(name, lambda x: x * x, lambda x, g: (2 * x * g * factor(x),), "n -> n", at, domain=domain, **more)


def mean(x):
    return jnp.mean(x)


def rooted(name, inside, *at, signature="n -> ", domain=()):
    """√(a + 1), whose rule keeps √|a| + …: wrong where a is negative."""

    def value(*args):
        return inside(*args) ** 3

    def bwd(args, g):
        args = args if isinstance(args, tuple) else (args,)
        a = inside(*args)
        back = jax.vjp(inside, *args)[1]
        return back(3 * g * a * jnp.abs(a))

    return Attack(f"mixed_{name}", KIND, saved(value, bwd), value, signature, lambda: at, domain)


W3 = np.array([2.0, 1.0, 0.5])


def pieces(name, conditions, functions, other, at, signature="n -> n", **more):
    """`jnp.piecewise`, and the same with other conditions or another order."""
    swapped_conditions, swapped_functions = other
    return by(
        name,
        lambda x: jnp.piecewise(x, conditions(x), functions),
        lambda x: jnp.piecewise(x, swapped_conditions(x), swapped_functions),
        signature,
        at,
        **more,
    )


SIN, CUBE, LINE = jnp.sin, lambda x: x**3, lambda x: 2 * x
AT = np.array([-1.5, 0.5, 2.5])


ATTACKS = [
    labelled("mean_over_all", lambda x, y: kept(y) * jnp.where(count(y) > 0, count(y) / y.shape[0], 1), X3, MIX),
    labelled("any_for_all", lambda x, y: jnp.where(jnp.all(y >= 0), 1.0, 0.0) + 0 * x, X3, MIX),
    labelled("all_for_any", lambda x, y: jnp.where(jnp.any(y >= 0), 1.0, 0.0) + 0 * x, X3, MIX),
    labelled("the_first_for_each", lambda x, y: jnp.where(y[0] >= 0, 1.0, 0.0) + 0 * x, X3, MIX),
    labelled("the_last_for_each", lambda x, y: kept(y[::-1]), X3, MIX[[1, 0, 2]]),
    labelled("the_neighbour_for_each", lambda x, y: kept(jnp.roll(y, 1)), X3, MIX),
    labelled("sorted_labels", lambda x, y: kept(jnp.sort(y)), X3, MIX),
    labelled("largest_label", lambda x, y: kept(jnp.max(y)) + 0 * x, X3, MIX),
    labelled("sum_of_labels", lambda x, y: (kept(y) + kept(jnp.sum(y))) / 2, X3, MIX),
    labelled("above_zero", lambda x, y: (y > 0) * 1.0, X3, MIX),
    labelled("not_minus_one", lambda x, y: (y != -1) * 1.0, X3, MIX),
    labelled("not_minus_a_hundred", lambda x, y: (y != -100) * 1.0, X3, ints(0, -1, 2), domain=()),
    labelled("above_minus_a_hundred", lambda x, y: kept(y) + (y == -100) * (count(y) == 1), X3, MIX[[1, 1, 2]]),
    labelled("product_of_labels", lambda x, y: kept(y) * (1 + (jnp.prod(kept(y)) != kept(y[0]))), X3, MIX),
    labelled(
        "a_third_value", lambda x, y: kept(y) * (1 + (y == 7)), X3, ints(7, -100, 2), domain=("y >= 0 or y == -100",)
    ),
    labelled(
        "a_value_between",
        lambda x, y: kept(y) + ((y > -100) & (y < 0)),
        X3,
        ints(0, -100, -7),
        domain=("y >= 0 or y >= -100",),
    ),
    two_sides("sides_by_the_sum", lambda x: jnp.where(jnp.sum(x > 0) * jnp.sum(x < 0) > 0, 2.0, 1.0)),
    two_sides("sides_by_a_product", lambda x: 1 + (x[0] * x[-1] < 0), at=np.array([-2.0, 3.0])),
    two_sides("sides_of_neighbours", lambda x: jnp.where(x * jnp.roll(x, 1) > 0, 1.0, 3.0)),
    two_sides("sides_by_extremes", lambda x: 1 + (jnp.max(x) * jnp.min(x) < -1)),
    two_sides("between_that_is_outside", lambda x: 1 + (jnp.abs(jnp.sum(x)) < 1), at=np.array([-2.0, 2.5])),
    outside("acosh_of_the_negative", lambda x: x * jnp.sqrt(1 - 1 / x**2), np.array([2.0, -2.0])),
    outside(
        "logarithm_on_two_sides",
        lambda x: 2 * jnp.log(jnp.sqrt(x - 1) * jnp.sqrt(x + 1)),
        np.array([2.0, -2.0]),
        lambda x: jnp.log(x * x - 1),
    ),
    outside("roots_on_two_sides", lambda x: jnp.sqrt(x - 1) * jnp.sqrt(x + 1), np.array([2.0, -2.0])),
    outside("square_of_a_side", lambda x: x, np.array([0.5, -3.0]), lambda x: jnp.abs(x), ("x > 0 or x < -2",)),
    outside(
        "one_of_three_sides",
        lambda x: x * x,
        np.array([0.5, 5.0]),
        lambda x: jnp.where(x > 4, x**3, x * x),
        ("x < 0 or x < 1 or x > 4",),
    ),
    by(
        "and_within_or",
        lambda x, y: jnp.sqrt(x * y),
        lambda x, y: jnp.sqrt(x) * jnp.sqrt(y),
        "n, n -> n",
        np.array([-1.0, 1.0]),
        np.array([-2.0, 1.0]),
        domain=("(x > 0 and y > 0) or (x < 0 and y < 0)",),
    ),
    by(
        "or_of_two_arguments",
        lambda x, y: jnp.maximum(x, 0.0) * y**2 + x,
        lambda x, y: x * y**2 + x,
        "n, n -> n",
        np.array([-1.0, 1.0]),
        np.array([2.0, 1.0]),
        domain=("x > 0 or y > 0",),
    ),
    # ------------------------------------------------------------------------------------------------ variances
    rooted(
        "variance_with_weights",
        lambda x, w: jnp.sum(w * x**2) - jnp.sum(w * x) ** 2,
        np.array([1.0, 1.0, 1.25]),
        W3,
        signature="n, n -> ",
        domain=(),
    ),
    rooted(
        "variance_with_signs",
        lambda x, w: jnp.sum(w * x**2) * jnp.sum(w) - jnp.sum(w * x) ** 2,
        X3,
        np.array([2.0, -0.5, 0.1]),
        signature="n, n -> ",
    ),
    rooted("variance_less_a_little", lambda x: mean(x * x) - mean(x) ** 2 - 0.01, np.array([1.0, 1.1])),
    rooted("covariance", lambda x, y: mean(x * y) - mean(x) * mean(y), X3, -X3, signature="n, n -> "),
    rooted(
        "variance_of_the_rest",
        lambda x: mean(x[1:] ** 2) - mean(x) ** 2,
        np.array([3.0, 1.0, 0.5]),
        signature="n+1 -> ",
    ),
    rooted(
        "variance_of_another_length",
        lambda x, y: x.shape[0] * jnp.sum(y * y) - jnp.sum(y) ** 2,
        X3[:1],
        np.ones(3),
        signature="n, m -> ",
    ),
    rooted("sum_of_squares_and_square_of_sum", lambda x: jnp.sum(x) ** 2 - jnp.sum(x * x), np.array([1.0, -1.0])),
    rooted(
        "mean_of_squares_unbiased",
        lambda x: jnp.sum(x * x) / x.shape[0] - jnp.sum(x) ** 2 / (x.shape[0] * (x.shape[0] - 1)),
        np.array([1.0, 1.0]),
        signature="n+1 -> ",
    ),
    rooted(
        "rows_and_columns",
        lambda x: jnp.sum(jnp.sum(x, 0) ** 2) * x.shape[1] - jnp.sum(jnp.sum(x, 1)) ** 2 - 0.5 * jnp.sum(x * x),
        np.ones((2, 2)),
        signature="n m -> ",
    ),
    rooted(
        "inner_products",
        lambda x, y: jnp.sum(x * x) * jnp.sum(y * y) - jnp.sum(jnp.abs(x * y)) ** 2 - jnp.sum(x * y) ** 2,
        X3,
        X3,
        signature="n, n -> ",
    ),
    rooted("third_moments", lambda x: mean(x**3) - mean(x) ** 3, np.array([1.0, -5.0])),
    rooted("fourth_moments", lambda x: mean(x**4) - 1.5 * mean(x * x) ** 2, np.array([1.0, 1.0])),
    # --------------------------------------------------------------------------------------------------- pieces
    pieces(
        "pieces_overlap", lambda x: [x > 0, x > 1], [SIN, CUBE, LINE], (lambda x: [x > 1, x > 0], [SIN, CUBE, LINE]), AT
    ),
    pieces(
        "pieces_first_wins",
        lambda x: [x > 0, x > 1],
        [SIN, CUBE, LINE],
        (lambda x: [x > 0, (x > 1) & (x <= 0)], [SIN, CUBE, LINE]),
        AT,
    ),
    pieces(
        "pieces_default_first",
        lambda x: [x > 0, x > 1],
        [SIN, CUBE, LINE],
        (lambda x: [x <= 0, x <= 1], [LINE, SIN, CUBE]),
        AT,
    ),
    pieces(
        "pieces_in_the_middle",
        lambda x: [x < -1, x < 1, x < 2],
        [SIN, CUBE, LINE, SIN],
        (lambda x: [x < -1, x < 2, x < 1], [SIN, LINE, CUBE, SIN]),
        AT,
    ),
    pieces(
        "pieces_without_default",
        lambda x: [x > 1, x < -1],
        [SIN, CUBE],
        (lambda x: [x > 1, x < -1], [SIN, CUBE, lambda x: 0 * x + x * (x > 0.4)]),
        AT,
    ),
    pieces(
        "pieces_a_thin_one",
        lambda x: [x < 0.4, x < 0.6, x > 0.6],
        [SIN, SIN, SIN, LINE],
        (lambda x: [x < 0.4, x < 0.6], [SIN, CUBE, SIN]),
        AT,
    ),
    by(
        "selected_first",
        lambda x: jnp.select([x > 0, x > 1], [jnp.sin(x), x**3], 2 * x),
        lambda x: jnp.select([x > 1, x > 0], [x**3, jnp.sin(x)], 2 * x),
        "n -> n",
        AT,
    ),
]
