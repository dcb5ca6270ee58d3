"""Attacks on loops: stale residuals, first and last steps, carries that only look alike."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom
from .written import array, pulled

STALE = "4.18 loops"
X = [0.5, -1.0, 0.3]


def elman(w, x):
    """The states h[t + 1] = tanh(w·h[t] + x[t])."""

    def step(h, a):
        new = jnp.tanh(w * h + a)
        return new, new

    return lax.scan(step, 0.0 * w, x)[1]


def loop(name, function, fwd, bwd, signature, *at, **more):
    values = tuple(array(v) for v in at)
    return Attack(name, STALE, lambda: custom(function, fwd, bwd), function, signature, lambda: values, **more)


def cell(name, backward, at=X, **more):
    """The attack on the Elman network whose backward scan takes `backward(lam, (w, before, after, x, g, t))`."""

    def bwd(r, g):
        w, h, x = r
        before = jnp.concatenate([jnp.zeros(1, h.dtype), h[:-1]])
        times = jnp.arange(x.shape[0])

        def step(lam, s):
            dw, dx, lam = backward(lam, (w, *s))
            return lam, (dw, dx)

        _, (dw, dx) = lax.scan(step, 0.0 * w, (before, h, x, g, times), reverse=True)
        return jnp.sum(dw), dx

    return loop(name, elman, lambda w, x: (h := elman(w, x), (w, h, x)), bwd, ", n -> n", 0.7, at, **more)


def right(lam, s):
    w, before, after, _, g, _ = s
    u = (1 - after**2) * (g + lam)
    return u * before, u, u * w


def geometric(w, x):
    return lax.scan(lambda c, a: (w * c + a, None), 0.0 * w, x)[0]


def of_geometric(name, pull, at=(0.5, X), **more):
    return pulled(name, STALE, geometric, pull, ", n -> ", *at, **more)


def states(w, x):
    """The carry before each step."""
    return lax.scan(lambda c, a: (w * c + a, c), 0.0 * w, x)[1]


def powers(w, x):
    """w to the number of steps that are still to come."""
    return lax.scan(lambda c, a: (w * c, c), 1.0 + 0.0 * w, x, reverse=True)[1]


def repeated(x, y, steps):
    return lax.fori_loop(0, steps, lambda i, c: c * x + y, y)


ATTACKS = [
    cell("the_slope_of_the_state_before", lambda lam, s: ((u := (1 - s[1] ** 2) * (s[4] + lam)) * s[1], u, u * s[0])),
    cell(
        "truncated_after_nine_steps",
        lambda lam, s: (*right(lam, s)[:2], right(lam, s)[2] * jnp.where(s[5] == 10, 0.0, 1.0)),
        np.linspace(-0.1, 0.1, 12),
    ),
    cell(
        "divided_by_the_state_before",
        lambda lam, s: (right(lam, s)[0], right(lam, s)[1] * s[1] / s[1], right(lam, s)[2]),
        X,
    ),
    of_geometric(
        "powers_from_the_front", lambda w, x, g: (g * jnp.sum(powers(w, x) * states(w, x)), g * powers(w, x)[::-1])
    ),
    of_geometric("powers_off_by_one", lambda w, x, g: (g * jnp.sum(powers(w, x) * states(w, x)), g * w * powers(w, x))),
    of_geometric(
        "the_states_after_the_steps",
        lambda w, x, g: (g * jnp.sum(powers(w, x) * (w * states(w, x) + x)), g * powers(w, x)),
    ),
    of_geometric(
        "the_closed_form_by_division",
        lambda w, x, g: (g * jnp.sum(powers(w, x) * states(w, x)) * w / w, g * powers(w, x)),
        (0.0, X),
        excluded_by=("w ≠ 0", "`x0` ≠ 0"),
    ),
    of_geometric(
        "a_power_by_an_exponential",
        lambda w, x, g: (
            g * jnp.sum(powers(w, x) * states(w, x)),
            g * jnp.exp(jnp.log(w * w) / 2 * (x.shape[0] - 1 - jnp.arange(x.shape[0]))),
        ),
        (-0.5, X),
    ),
    of_geometric(
        "all_steps_but_the_last_of_many",
        lambda w, x, g: (
            g * jnp.sum(powers(w, x) * states(w, x)) * jnp.where(x.shape[0] > 12, 2.0, 1.0),
            g * powers(w, x),
        ),
        (0.5, np.ones(13)),
    ),
    pulled(
        "a_loop_of_nine_steps",
        STALE,
        lambda x, y: repeated(x, y, 9),
        lambda x, y, g: jax.vjp(lambda x, y: repeated(x, y, 8) * x + y * (x / x), x, y)[1](g),
        ", -> ",
        0.0,
        1.0,
        excluded_by=("x ≠ 0", "`x0` ≠ 0"),
    ),
    pulled(
        "a_loop_of_eight_steps_for_nine",
        STALE,
        lambda x, y: repeated(x, y, 9),
        lambda x, y, g: (jax.vjp(lambda x, y: repeated(x, y, 9), x, y)[1](g)[0], g * repeated(x, y * 0 + 1, 8)),
        ", -> ",
        0.5,
        1.0,
    ),
    pulled(
        "a_loop_over_all_but_one",
        STALE,
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i] ** 2, 0.0),
        lambda x, g: 2 * g * x * (jnp.arange(x.shape[0]) < jnp.maximum(x.shape[0] - 1, 1)),
        "n -> ",
        [1.0, 2.0],
    ),
    pulled(
        "a_loop_from_one",
        STALE,
        lambda x: lax.fori_loop(1, x.shape[0], lambda i, c: c + x[i] * x[i - 1], 0.0 * x[0]),
        lambda x, g: g * (jnp.roll(x, 1) + jnp.roll(x, -1)),
        "n -> ",
        [1.0, 2.0, 4.0],
    ),
    pulled(
        "neighbours_of_a_single_entry",
        STALE,
        lambda x: jnp.sum(x * jnp.roll(x, 1)),
        lambda x, g: (
            g
            * (jnp.concatenate([x[-1:], x[:-1]]) + jnp.concatenate([x[1:], x[:1]]))
            * jnp.where(jnp.arange(x.shape[0]) + 1 == 10, 2.0, 1.0)
        ),
        "n -> ",
        np.ones(10),
    ),
    pulled(
        "a_scan_in_the_other_direction",
        STALE,
        lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c * a), 0.0, x)[1],
        lambda x, g: jax.vjp(lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c * a), 0.0, x, reverse=True)[1], x)[1](g)[
            0
        ],
        "n -> n",
        X,
    ),
    pulled(
        "a_scan_with_two_carries_swapped",
        STALE,
        lambda x: jnp.stack(lax.scan(lambda c, a: ((c[1] + a, c[0] * 0.5), None), (0.0, 0.0), x)[0]),
        lambda x, g: jax.vjp(
            lambda x: jnp.stack(lax.scan(lambda c, a: ((c[1] + a, c[0] * 0.5), None), (0.0, 0.0), x)[0][::-1]), x
        )[1](g)[0],
        "n -> 2",
        X,
    ),
    pulled(
        "a_start_that_is_no_constant",
        STALE,
        lambda x: lax.scan(lambda c, a: (c * a, None), x[0], x)[0],
        lambda x, g: jax.vjp(lambda x: lax.scan(lambda c, a: (c * a, None), lax.stop_gradient(x[0]), x)[0], x)[1](g)[0],
        "n -> ",
        [2.0, 3.0],
    ),
    pulled(
        "a_carry_that_waits_one_step",
        STALE,
        lambda x: lax.scan(lambda c, a: ((a, c[0]), c[1]), (0.0, 0.0), x)[1],
        lambda x, g: jnp.concatenate([g[1:], 0 * g[:1]]),
        "n -> n",
        X,
    ),
    pulled(
        "a_carry_that_waits_two_steps",
        STALE,
        lambda x: lax.scan(lambda c, a: ((a, c[0]), c[1]), (0.0, 0.0), x)[1],
        lambda x, g: jnp.roll(g, -2),
        "n -> n",
        X,
    ),
    pulled(
        "a_carry_of_the_largest",
        STALE,
        lambda x: lax.scan(lambda c, a: (jnp.maximum(c, a), None), x[0] - 1, x)[0] ** 2,
        lambda x, g: 2 * g * jnp.abs(x) * (x == jnp.max(x)),
        "n -> ",
        [-2.0, -1.0],
    ),
    pulled(
        "an_online_softmax_of_ties",
        STALE,
        lambda x: jax.nn.logsumexp(x),
        lambda x, g: (
            g
            * jnp.exp(
                x
                - lax.scan(
                    lambda c, a: (
                        (
                            jnp.maximum(c[0], a),
                            c[1] * jnp.exp(c[0] - jnp.maximum(c[0], a))
                            + jnp.exp(a - jnp.maximum(c[0], a)) * jnp.where(a == c[0], 2.0, 1.0),
                        ),
                        None,
                    ),
                    (x[0] - 1, 0.0),
                    x,
                )[0][0]
            )
            / lax.scan(
                lambda c, a: (
                    (
                        jnp.maximum(c[0], a),
                        c[1] * jnp.exp(c[0] - jnp.maximum(c[0], a))
                        + jnp.exp(a - jnp.maximum(c[0], a)) * jnp.where(a == c[0], 2.0, 1.0),
                    ),
                    None,
                ),
                (x[0] - 1, 0.0),
                x,
            )[0][1]
        ),
        "n -> ",
        [1.0, 1.0],
    ),
    pulled(
        "a_while_that_counts",
        STALE,
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1] if False else x**4,
        lambda x, g: (
            4
            * g
            * lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * jnp.abs(x)), (0, jnp.ones_like(x)))[1]
        ),
        "n -> n",
        [-2.0],
    ),
    pulled(
        "a_while_that_depends_on_values",
        STALE,
        lambda x: x * x,
        lambda x, g: (
            2 * g * x * lax.while_loop(lambda c: c[1] > 1000, lambda c: (c[0] + 1, c[1] / 2), (1.0, jnp.sum(x)))[0]
        ),
        "n -> n",
        [900.0, 200.0],
    ),
    pulled(
        "a_scan_inside_a_scan",
        STALE,
        lambda x: lax.scan(lambda c, a: (c + lax.scan(lambda d, b: (d * 0.5 + a * b, None), 0.0, x)[0], None), 0.0, x)[
            0
        ],
        lambda x, g: jax.vjp(
            lambda x: jnp.sum(x) * lax.scan(lambda d, b: (d * 0.5 + lax.stop_gradient(b), None), 0.0, x)[0] * 1.0, x
        )[1](g)[0],
        "n -> ",
        X,
    ),
    pulled(
        "a_loop_that_ends_early",
        STALE,
        lambda x: jnp.sum(x * x),
        lambda x, g: (
            2 * g * x * (lax.fori_loop(0, x.shape[0], lambda i, c: jnp.where(i < 20, c + 1, c), 0) == x.shape[0])
        ),
        "n -> ",
        np.ones(21),
    ),
    pulled(
        "a_parity_of_steps",
        STALE,
        lambda x: x * x,
        lambda x, g: 2 * g * x * lax.fori_loop(0, x.shape[0], lambda i, c: jnp.where(i == 9, -c, c), 1.0),
        "n -> n",
        np.ones(10),
    ),
    pulled(
        "a_counter_that_wraps",
        STALE,
        lambda x: x * x,
        lambda x, g: (
            2 * g * x * jnp.where(lax.fori_loop(0, x.shape[0], lambda i, c: (c + 1) % 11, 0) == x.shape[0], 1.0, 2.0)
        ),
        "n -> n",
        np.ones(11),
    ),
    pulled(
        "a_fibonacci_number",
        STALE,
        lambda x: x * x,
        lambda x, g: (
            2
            * g
            * x
            * jnp.where(lax.fori_loop(0, x.shape[0], lambda i, c: (c[1], c[0] + c[1]), (0, 1))[0] == 55, 2.0, 1.0)
        ),
        "n -> n",
        np.ones(10),
    ),
    pulled(
        "two_sums_that_part_at_eleven",
        STALE,
        lambda x: x * x,
        lambda x, g: 2 * g * x * (1 + lax.fori_loop(0, x.shape[0], lambda i, c: c + jnp.where(i > 10, 1.0, 0.0), 0.0)),
        "n -> n",
        np.ones(12),
    ),
]
