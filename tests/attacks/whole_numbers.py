"""Quotients and remainders of indices, and groups: right in the range in which one thinks, wrong at its end."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "B quotients and groups"


def one(name, value, bwd, signature, *at, **more):
    return Attack(f"quotient_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def by(name, value, twin, signature, *at, **more):
    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return one(name, value, bwd, signature, *at, **more)


def weighed(name, right, wrong, signature="n -> n", *at, **more):
    """x², entries multiplied by whole numbers made of places, and by others in the rule."""

    def value(*args):
        return args[0] ** 2 * right(*args)

    def bwd(args, g):
        args = args if isinstance(args, tuple) else (args,)
        return (2 * args[0] * g * wrong(*args), *(jnp.zeros_like(a) for a in args[1:]))

    return one(name, value, bwd, signature, *(at or (UP7,)), **more)


UP7 = np.linspace(1.0, 2.0, 7)
UP6 = np.linspace(1.0, 2.0, 6)
UP3 = np.linspace(1.0, 2.0, 3)


def i(x):
    return jnp.arange(x.shape[0])


def n(x):
    return x.shape[0]


def grouped(x, k):
    """Means of groups of k, given back to each of the group."""
    return jnp.repeat(jnp.mean(x.reshape(-1, k), axis=1), k)


def heads(q, k):
    """Each key serves a group of queries."""
    return jnp.einsum("hd,hd->hd", q, jnp.repeat(k, q.shape[0] // k.shape[0], axis=0))


def heads_back(args, g):
    """Sums over every so many, as after a `tile`: right for one group, or groups of one."""
    q, k = args
    rep = q.shape[0] // k.shape[0]
    return g * jnp.repeat(k, rep, axis=0), jnp.sum((g * q).reshape(rep, k.shape[0], -1), axis=0)


def heads_mean(args, g):
    q, k = args
    rep = q.shape[0] // k.shape[0]
    return g * jnp.repeat(k, rep, axis=0), jnp.mean((g * q).reshape(k.shape[0], rep, -1), axis=1)


def heads_tiled(args, g):
    q, k = args
    rep = q.shape[0] // k.shape[0]
    return g * jnp.tile(k, (rep, 1)), jnp.sum((g * q).reshape(k.shape[0], rep, -1), axis=1)


def pooled(x, w):
    """Sums of as many groups as w has entries."""
    return jnp.sum(x.reshape(w.shape[0], -1), axis=1) * w


def pooled_back(args, g):
    x, w = args
    return jnp.tile(g * w, x.shape[0] // w.shape[0]), g * jnp.sum(x.reshape(w.shape[0], -1), axis=1)


Q4, K2 = np.arange(1.0, 9).reshape(4, 2), np.array([[1.0, -1.0], [0.5, 2.0]])

ATTACKS = [
    weighed("ceiling_and_floor", lambda x: (i(x) + 1) // 2 + i(x) // 2, lambda x: i(x) + (n(x) // 7)),
    weighed("halves_of_a_sum", lambda x: (i(x) + i(x)[::-1]) // 2 + 1, lambda x: i(x) // 2 + i(x)[::-1] // 2 + 1),
    weighed("negative_rounds_down", lambda x: -((-i(x)) // 2) + 1, lambda x: i(x) // 2 + 1),
    weighed(
        "negative_rounds_to_zero",
        lambda x: lax.div(i(x) - n(x), jnp.full_like(i(x), 2)) + n(x),
        lambda x: (i(x) - n(x)) // 2 + n(x),
    ),
    weighed(
        "below_zero_by_the_size",
        lambda x: lax.div(i(x) - n(x), jnp.full_like(i(x), n(x))) + 2,
        lambda x: (i(x) - n(x)) // n(x) + 2,
    ),
    weighed(
        "rest_of_negative",
        lambda x: lax.rem(i(x) - n(x) + 1, jnp.full_like(i(x), n(x))) + n(x) + 1,
        lambda x: (i(x) - n(x) + 1) % n(x) + n(x) + 1,
    ),
    weighed("places_past_a_size", lambda x: jnp.arange(n(x)) // (n(x) - 1) + 1, lambda x: 1.0 + 0 * i(x), "n+2 -> n+2"),
    weighed("rest_by_one_less", lambda x: i(x) % (n(x) - 1) + 1, lambda x: i(x) + 1.0, "n+2 -> n+2"),
    weighed("successor_around", lambda x: (i(x) + 1) % n(x) + 1, lambda x: i(x) + 2.0),
    weighed("predecessor_around", lambda x: (i(x) - 1) % n(x) + 1, lambda x: i(x) + 0.0),
    weighed("product_of_quotients", lambda x: (i(x) // 2) * 2 + 1, lambda x: i(x) + 1.0),
    weighed("quotient_of_a_product", lambda x: (3 * i(x)) // 2 + 1, lambda x: 3 * (i(x) // 2) + 1.0),
    weighed("quotient_of_quotients", lambda x: i(x) // 6 + 1, lambda x: i(x) // 2 // 4 + 1.0),
    weighed("quotient_of_a_square", lambda x: (i(x) * i(x)) // n(x) + 1, lambda x: i(x) * (i(x) // n(x)) + 1.0),
    weighed("rest_of_a_square", lambda x: (i(x) * i(x)) % 4 + 1, lambda x: i(x) % 2 + 1.0 + (i(x) == 6)),
    weighed(
        "rest_of_a_product",
        lambda x: (i(x) * (i(x) + 1)) % 2 + 1,
        lambda x: 1.0 + (i(x) % 2) * ((i(x) + 1) % 2) + (i(x) // 6),
    ),
    weighed("another_size", lambda x, y: i(x) // y.shape[0] + 1, lambda x, y: 1.0 + 0 * i(x), "n, m -> n", UP7, UP3),
    weighed("another_rest", lambda x, y: i(x) % y.shape[0] + 1, lambda x, y: 1.0 + i(x), "n, m -> n", UP7, UP3),
    weighed(
        "of_a_quotient_of_sizes",
        lambda x, y: i(x) // (n(x) // n(y)) + 1,
        lambda x, y: i(x) * n(y) // n(x) + 1,
        "n, m -> n",
        UP7,
        UP3,
    ),
    weighed("two_halves", lambda x: i(x) // (n(x) // 2) + 1, lambda x: (i(x) >= n(x) // 2) + 1.0, "n+1 -> n+1"),
    weighed(
        "middle_of_an_odd_size",
        lambda x: (i(x) == n(x) // 2) + 1.0,
        lambda x: (i(x) == (n(x) - 1) // 2) + 1.0,
        "n -> n",
        UP6,
    ),
    weighed("parity_of_the_size", lambda x: 1 + n(x) % 2 + 0 * i(x), lambda x: 2 + 0.0 * i(x), "n -> n", UP6),
    weighed("clipped_quotient", lambda x: jnp.clip(i(x) // 3, 0, 1) + 1, lambda x: i(x) // 3 + 1.0),
    weighed("rounded_half", lambda x: jnp.round(i(x) / 2) + 1, lambda x: (i(x) + 1) // 2 + 1.0),
    weighed("floored_thirds", lambda x: jnp.floor(i(x) / 3) + 1, lambda x: (i(x) + 1) // 3 + 1.0),
    weighed(
        "shifted_right", lambda x: ((i(x) - 4) >> 1) + 4, lambda x: lax.div(i(x) - 4, jnp.full_like(i(x), 2)) + 4.0
    ),
    weighed("power_of_minus_one", lambda x: 1 - 2 * (i(x) % 2), lambda x: 1 - 2 * ((i(x) // 2) % 2)),
    weighed("triangle_numbers", lambda x: i(x) * (i(x) + 1) // 2 + 1, lambda x: i(x) * ((i(x) + 1) // 2) + 1.0),
    weighed(
        "quotient_by_an_argument",
        lambda x, k: i(x) // jnp.maximum(k, 1) + 1,
        lambda x, k: jnp.where(k >= n(x) - 1, 1, i(x) // jnp.maximum(k, 1) + 1),
        "n, :int -> n",
        UP7,
        np.array(6),
    ),
    weighed(
        "rest_by_an_argument",
        lambda x, k: (i(x) + k) % n(x) + 1,
        lambda x, k: i(x) + k % n(x) + 1.0,
        "n, :int -> n",
        UP7,
        np.array(3),
    ),
    # -------------------------------------------------------------------------------------------------- groups
    one(
        "groups_of_two_by_stride",
        lambda x: grouped(x, 2),
        lambda x, g: (jnp.tile(jnp.mean(g.reshape(-1, 2), 1), 2),),
        "2*n -> 2*n",
        UP6,
    ),
    one("heads_summed_across", heads, heads_back, "h d, k d -> h d", Q4, K2),
    one("heads_averaged", heads, heads_mean, "h d, k d -> h d", Q4, K2),
    one("heads_tiled", heads, heads_tiled, "h d, k d -> h d", Q4, K2),
    one("groups_spread_by_tile", pooled, pooled_back, "n, m -> m", UP6, UP3),
    by(
        "rows_and_columns_of_groups",
        lambda x, w: x.reshape(w.shape[0], -1) ** 2,
        lambda x, w: (x.reshape(-1, w.shape[0]) ** 2).T,
        "2*m, m -> m 2",
        UP6,
        UP3,
    ),
    by("rest_left_out", lambda x: jnp.sum(x**2), lambda x: jnp.sum(x[: n(x) // 2 * 2] ** 2), "n -> ", UP7),
    by(
        "rest_left_out_of_three",
        lambda x: jnp.sum(x[: n(x) // 3 * 3] ** 2),
        lambda x: jnp.sum(x[: (n(x) + 2) // 3 * 3] ** 2),
        "n+3 -> ",
        UP7,
    ),
    by(
        "group_of_its_neighbour",
        lambda x: jnp.sum(x.reshape(-1, 2)[1:, 0] * x.reshape(-1, 2)[:-1, 1]),
        lambda x: jnp.sum(x[2::2] * x[1:-1:2]) * (n(x) // 6 * 0 + 1) + x[0] ** 2 * (n(x) == 6),
        "2*n+2 -> ",
        UP6,
    ),
    by(
        "every_second_by_groups",
        lambda x: x[1::2] ** 2,
        lambda x: x[: n(x) // 2 * 2].reshape(-1, 2)[:, 0] ** 2,
        "2*n -> n",
        UP6,
    ),
    by(
        "folded_windows",
        lambda x: jnp.max(x.reshape(-1, 3), 1),
        lambda x: jnp.maximum(x[::3], x[2::3]),
        "3*n -> n",
        np.array([1.0, 3.0, 2.0]),
    ),
    by(
        "unfolded_in_the_other_order",
        lambda x: x.reshape(2, -1).T.reshape(-1) * jnp.arange(n(x)),
        lambda x: x.reshape(-1, 2).T.reshape(-1) * jnp.arange(n(x)),
        "2*n -> 2*n",
        UP6,
    ),
    by(
        "shuffled_channels",
        lambda x: x.reshape(2, -1, 3).transpose(1, 0, 2).reshape(-1) ** 2 * jnp.arange(n(x)),
        lambda x: x.reshape(-1, 2, 3).transpose(1, 0, 2).reshape(-1) ** 2 * jnp.arange(n(x)),
        "6*n -> 6*n",
        np.linspace(1, 2, 18),
    ),
]
