"""A3: exits of loops, and integers made of real numbers: the set that a hypothesis calls negligible is open."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom


def wrong(name, value, factor, at, signature="n -> n", kind="A3 loops", **more):
    def make():
        return custom(value, lambda x: (value(x), x), lambda x, g: (g * factor(x),))

    return Attack(name, kind, make, value, signature, lambda: (np.array(at),), **more)


def counted(limit, body=lambda y, x: y + x):
    """Starts with 0 and takes as many steps as the integer `limit(x)` says."""

    def value(x):
        steps = limit(x)

        def step(state):
            c, y = state
            return c + 1, body(y, x)

        return lax.while_loop(lambda s: s[0] < steps, step, (jnp.zeros_like(steps), jnp.zeros_like(x)))[1]

    return value


def counted_plain(limit, most=8):
    """The same for the body y + x, in a way that JAX differentiates in reverse."""
    return lambda x: x * lax.stop_gradient(jnp.clip(limit(x), 0, most).astype(x.dtype))


def loop(name, limit, factor, at, **more):
    value = counted(limit)

    def make():
        return custom(value, lambda x: (value(x), x), lambda x, g: (g * factor(x),))

    return Attack(f"loop_{name}", "A3 loops", make, counted_plain(limit), " -> ", lambda: (np.array(at),), **more)


def integer(f):
    return lambda x: f(x).astype(jnp.int32)


def doubling(x):
    """Doubles until 100 is passed. It ends at every number: the rules are called at drawn ones."""
    return lax.while_loop(lambda y: (y < 100) & (y > 0), lambda y: 2 * y, x)


def doubling_plain(x):
    for _ in range(20):
        x = jnp.where((x < 100) & (x > 0), 2 * x, x)
    return x


def newton(x):
    """Newton's iteration for a square root, until it changes by less than 0.1."""
    return lax.while_loop(lambda y: (y > 0) & (jnp.abs(y * y - x) > 0.1), lambda y: (y + x / y) / 2, x)


def newton_plain(x):
    y = x
    for _ in range(12):
        y = jnp.where((y > 0) & (jnp.abs(y * y - x) > 0.1), (y + x / y) / 2, y)
    return y


def seam(name, condition, at, inside=lambda x: x * x, **more):
    """x² where an integer or a locally constant value has one value, 0 elsewhere; the rule says 0 everywhere."""
    value = lambda x: jnp.where(condition(x), inside(x), 0 * x)
    return wrong(f"seam_{name}", value, jnp.zeros_like, at, kind="A3 negligible", **more)


def relu(x):
    return jnp.maximum(x, 0)


ATTACKS = [
    loop("below_round", jnp.round, lambda x: 0.0, 1.8),
    loop("below_round_integer", integer(jnp.round), lambda x: 0.0, 1.8),
    loop("below_floor", jnp.floor, lambda x: 0.0, 2.5),
    loop("below_floor_integer", integer(jnp.floor), lambda x: 0.0, 2.5),
    loop("below_ceil", jnp.ceil, lambda x: 0.0, 1.5),
    loop("below_sign", jnp.sign, lambda x: 0.0, 1.5),
    loop("below_cast", lambda x: x.astype(jnp.int32), lambda x: 0.0, 2.5),
    loop("one_too_few", jnp.floor, lambda x: jnp.floor(x) - 1, 2.5),
    loop("one_for_all", jnp.floor, lambda x: 1.0, 2.5),
    loop("right_for_few", jnp.floor, lambda x: jnp.clip(jnp.floor(x), 0, 2), 3.5),
    loop("count_of_positives", lambda x: (x > 1).astype(jnp.int32) + (x > 2), lambda x: 1.0, 2.5),
    loop("comparison", lambda x: (x > 1).astype(jnp.int32), lambda x: 0.0, 1.5),
    Attack(
        "loop_doubling_forgets",
        "A3 loops",
        lambda: custom(doubling, lambda x: (doubling(x), x), lambda x, g: (g,)),
        doubling_plain,
        " -> ",
        lambda: (np.array(3.0),),
    ),
    Attack(
        "loop_doubling_one_less",
        "A3 loops",
        lambda: custom(doubling, lambda x: (doubling(x), x), lambda x, g: (g * doubling(x) / x / 2,)),
        doubling_plain,
        " -> ",
        lambda: (np.array(3.0),),
    ),
    Attack(
        "loop_newton_ideal",
        "A3 loops",
        lambda: custom(newton, lambda x: (newton(x), x), lambda x, g: (g / (2 * jnp.sqrt(x)),)),
        newton_plain,
        " -> ",
        lambda: (np.array(3.0),),
    ),
    Attack(
        "loop_newton_by_value",
        "A3 loops",
        lambda: custom(newton, lambda x: (newton(x), newton(x)), lambda y, g: (g / (2 * y),)),
        newton_plain,
        " -> ",
        lambda: (np.array(3.0),),
    ),
    seam("floor", lambda x: jnp.floor(x) == 2, [2.5]),
    seam("floor_of_none", lambda x: ~(jnp.floor(x) != 2), [2.5]),
    seam("round", lambda x: jnp.round(x) == 2, [2.2]),
    seam("ceil", lambda x: jnp.ceil(x) == 2, [1.5]),
    seam("sign", lambda x: jnp.sign(x) == 1, [1.5]),
    seam("sign_negative", lambda x: jnp.sign(x) < 0, [-1.5]),
    seam("cast", lambda x: x.astype(jnp.int32) == 2, [2.5]),
    seam("integer_comparison", lambda x: (x > 0).astype(jnp.int32) == 1, [2.5]),
    seam("float_comparison", lambda x: (x > 0).astype(x.dtype) == 1, [2.5]),
    seam("float_comparison_zero", lambda x: (x > 0).astype(x.dtype) == 0, [-2.5]),
    seam("count", lambda x: jnp.sum(x > 0) == 2, [2.5, 1.0, -1.0]),
    seam("count_nonzero", lambda x: jnp.count_nonzero(x) == x.shape[0], [2.5, 1.0]),
    seam("all", lambda x: jnp.all(x > 0), [2.5, 1.0]),
    seam("any", lambda x: jnp.any(x > 0), [2.5, -1.0]),
    seam(
        "parity",
        lambda x: jnp.mod(jnp.floor(x), 2) == 0,
        [2.5],
        excluded_by=("floor(x)/2 is not an integer or floor(x)/2 = 0",),
    ),
    seam("quotient", lambda x: x // 1 == 2, [2.5]),
    seam("fraction", lambda x: x - x % 1 == 2, [2.5]),
    seam("argmax", lambda x: jnp.argmax(x) == 0, [2.5, 1.0]),
    seam("argmin_is_last", lambda x: jnp.argmin(x) == x.shape[0] - 1, [2.5, 1.0]),
    seam("argsort", lambda x: jnp.argsort(x)[0] == 0, [1.0, 2.0]),
    seam("rank", lambda x: jnp.sum(x[:, None] > x[None, :], 1) == 0, [1.0, 2.0]),
    seam("searchsorted", lambda x: jnp.searchsorted(jnp.array([0.0, 1.0, 2.0]), x) == 2, [1.5]),
    seam("heaviside", lambda x: jnp.heaviside(x, 0.5) == 1, [1.5]),
    seam("relu_is_zero", lambda x: relu(x) == 0, [-1.5]),
    seam("relu_at_most_zero", lambda x: relu(x) <= 0, [-1.5]),
    seam("relu_is_x", lambda x: relu(x) == x, [1.5]),
    seam("abs_is_x", lambda x: jnp.abs(x) == x, [1.5]),
    seam("root_of_square_is_x", lambda x: jnp.sqrt(x * x) == x, [1.5]),
    seam("sign_times_x", lambda x: jnp.sign(x) * x == jnp.abs(x), [1.5]),
    seam("clip_is_one", lambda x: jnp.clip(x, 0, 1) == 1, [1.5]),
    seam("clip_is_x", lambda x: jnp.clip(x, 0, 1) == x, [0.5]),
    seam("product_of_relus", lambda x: relu(x) * relu(-x) == 0, [0.5]),
    seam("maximum_is_first", lambda x: jnp.max(x) == x[0], [2.5, 1.0]),
    seam(
        "sorted_first",
        lambda x: jnp.sort(x)[0] == x[0],
        [1.0, 2.0],
        excluded_by=("x[order(x[i] over i)[0]] ≠ x[0]",),
    ),
    seam("difference_with_itself", lambda x: x - x == 0, [1.0, 2.0]),
    seam("times_zero", lambda x: 0 * x == 0, [1.0, 2.0]),
    seam("exp_of_relu", lambda x: jnp.exp(relu(x)) == 1, [-1.0]),
    seam("where_is_zero", lambda x: jnp.where(x > 1, x, 0.0) == 0, [0.5]),
    seam("running_maximum", lambda x: lax.cummax(x) == x, [1.0, 2.0]),
    seam("power_of_sign", lambda x: jnp.sign(x) ** 2 == 1, [1.0, 2.0]),
    seam("sum_of_signs", lambda x: jnp.sum(jnp.sign(x)) == 0, [1.0, -2.0]),
    seam("normalized", lambda x: x / jnp.abs(x) == 1, [1.0, 2.0]),
    seam("floor_of_half", lambda x: jnp.floor(x / 2) * 2 == jnp.floor(x), [2.5]),
    seam("sine_of_floor", lambda x: jnp.cos(jnp.floor(x) * 0) == 1, [2.5]),
    seam("isclose", lambda x: jnp.isclose(jnp.floor(x), 2.0), [2.5]),
    seam("scan_of_signs", lambda x: lax.scan(lambda c, v: (c + jnp.sign(v), None), 0.0 * x[0], x)[0] == 2, [2.5, 1.0]),
    wrong(
        "seam_switch",
        lambda x: lax.switch(jnp.clip(x.astype(jnp.int32), 0, 2), [lambda x: 0 * x, lambda x: x, lambda x: x * x], x),
        lambda x: jnp.where(x < 2, jnp.where(x < 1, 0.0, 1.0), 0.0),
        2.5,
        " -> ",
        "A3 negligible",
    ),
    wrong(
        "seam_cond_on_floor",
        lambda x: lax.cond(jnp.floor(x) == 2, lambda x: x * x, lambda x: 0 * x, x),
        jnp.zeros_like,
        2.5,
        " -> ",
        "A3 negligible",
    ),
    wrong(
        "seam_select_by_integer",
        lambda x: lax.select_n(x.astype(jnp.int32) % 2 == 0, x * x, 0 * x),
        jnp.zeros_like,
        [1.5],
        kind="A3 negligible",
    ),
    wrong(
        "gather_by_floor",
        lambda x: x[jnp.clip(jnp.floor(x[0]).astype(jnp.int32), 0, 1)] * x,
        lambda x: x[0] + jnp.where(jnp.arange(x.shape[0]) == 0, jnp.sum(x), 0.0),
        [1.5, 3.0],
        "n+1 -> n+1",
        "A3 negligible",
    ),
]
