"""Scans by operations that are nearly associative, loops whose counters end early, switches that clamp."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "D folded"
where = jnp.where


def one(name, value, bwd, signature, *at, plain=None, **more):
    values = tuple(np.asarray(v) for v in at)
    return Attack(f"folded_{name}", KIND, saved(value, bwd), plain or value, signature, lambda: values, **more)


def scanned(op, **how):
    return lambda x: lax.associative_scan(op, x, **how)


def rest_sums(g):
    return jnp.cumsum(g[::-1])[::-1]


def hypot(a, b):
    return jnp.sqrt(a * a + b * b)


def projected(a, b):
    """The last of those above 0."""
    return where(b > 0, b, a)


X = np.array([-1.0, 2.0, 3.0, -0.5])
Y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def of_pairs(op, choose):
    def value(a, b):
        return lax.associative_scan(op, (a, b))[choose]

    return value


def affine(s, t):
    return s[0] * t[0], s[1] * t[0] + t[1]


def affine_turned(s, t):
    return s[0] * t[0], t[1] * s[0] + s[1]


def linear_recurrence(a, b):
    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    return lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]


def of_recurrence(a, b, g, shift=True, turned=False):
    """The backward of h[t] = a[t]·h[t − 1] + b[t]."""
    h = linear_recurrence(a, b)
    nxt = jnp.concatenate([a[1:], jnp.zeros(1)]) if shift else a
    lam = linear_recurrence(nxt[::-1], g[::-1])[::-1]
    before = jnp.concatenate([jnp.zeros(1), h[:-1]]) if not turned else h
    return lam * before, lam


ATTACKS = [
    one(
        "difference_as_a_sum",
        scanned(lambda a, b: a - b),
        lambda x, g: (where(jnp.arange(x.shape[0]) == 0, 1, -1) * rest_sums(g),),
        "n -> n",
        Y,
    ),
    one(
        "hypot_at_a_negative_start",
        scanned(hypot),
        lambda x, g: (x * rest_sums(g / jnp.sqrt(jnp.cumsum(x * x))),),
        "n -> n",
        X,
        domain=("x != 0",),
    ),
    one(
        "product_of_moduli",
        scanned(lambda a, b: jnp.abs(a) * b),
        lambda x, g: (rest_sums(g * jnp.cumprod(x)) / x,),
        "n -> n",
        X,
        domain=("x != 0",),
    ),
    one("last_positive_as_last", scanned(projected), lambda x, g: (g,), "n -> n", X),
    one("mean_of_two", scanned(lambda a, b: (a + b) / 2), lambda x, g: (rest_sums(g) / 2,), "n -> n", Y),
    one(
        "maximum_of_ties",
        scanned(jnp.maximum),
        lambda x, g: (where(x == lax.cummax(x), g, 0.0),),
        "n -> n",
        Y[::-1].copy(),
    ),
    one("sum_reversed", scanned(jnp.add, reverse=True), lambda x, g: (rest_sums(g),), "n -> n", Y),
    one(
        "sum_of_another_axis",
        scanned(jnp.add, axis=1),
        lambda x, g: (jnp.cumsum(g[::-1], 0)[::-1],),
        "n n -> n n",
        np.arange(4.0).reshape(2, 2),
    ),
    one(
        "affine_without_shift",
        of_pairs(affine, 1),
        lambda r, g: of_recurrence(*r, g, shift=False),
        "n, n -> n",
        Y,
        X[:1].repeat(5),
    ),
    one(
        "affine_after_the_step", of_pairs(affine, 1), lambda r, g: of_recurrence(*r, g, turned=True), "n, n -> n", Y, Y
    ),
    one("affine_turned", of_pairs(affine_turned, 1), lambda r, g: of_recurrence(*r, g), "n, n -> n", Y, Y),
    one(
        "product_as_exponent",
        scanned(lambda a, b: a * b),
        lambda x, g: (rest_sums(g * jnp.exp(jnp.cumsum(jnp.log(jnp.abs(x))))) / x,),
        "n -> n",
        X,
        domain=("x != 0",),
    ),
    one(
        "logaddexp_wrong_weights",
        scanned(jnp.logaddexp),
        lambda x, g: (jnp.exp(x) * rest_sums(g) / jnp.cumsum(jnp.exp(x)),),
        "n -> n",
        Y,
    ),
    # loops
    one(
        "unrolled_but_one",
        lambda x: lax.fori_loop(0, 7, lambda i, c: c * x, x),
        lambda x, g: (7 * x**6 * g,),
        "n -> n",
        Y,
    ),
    one(
        "counted_to_zero",
        lambda x: lax.while_loop(lambda s: s[0] >= 0, lambda s: (s[0] - 1, s[1] * x), (5, x))[1],
        lambda x, g: (6 * x**5 * g,),
        "n -> n",
        Y,
        plain=lambda x: x**7,
    ),
    one(
        "backwards_fori",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * x[i] + i, 1.0),
        lambda x, g: (g * jnp.prod(x) / x,),
        "n -> ",
        Y,
        domain=("x > 0",),
    ),
    one(
        "no_steps",
        lambda x: lax.fori_loop(3, 1, lambda i, c: c * x, x),
        lambda x, g: (g * where(x == 2, 3.0, 1.0),),
        "n -> n",
        Y,
    ),
    one(
        "steps_of_a_size_less_two",
        lambda x: lax.fori_loop(2, x.shape[0], lambda i, c: c * x, x),
        lambda x, g: ((x.shape[0] - 1) * x ** (x.shape[0] - 2) * g,),
        "n -> n",
        np.array([2.0]),
    ),
    one(
        "states_of_a_reversed_scan",
        lambda x: lax.scan(lambda c, v: (c * v, c), 1.0, x, reverse=True)[1],
        lambda x, g: (jnp.cumsum(g * jnp.cumprod(x)) / x,),
        "n -> n",
        Y,
        domain=("x > 0",),
    ),
    one(
        "sum_with_a_reset",
        lambda x: lax.scan(lambda c, v: (where(v < 0, 0.0, c + v),) * 2, 0.0, x)[1],
        lambda x, g: (where(x < 0, 0.0, rest_sums(g)),),
        "n -> n",
        X,
    ),
    one(
        "carry_clipped",
        lambda x: lax.scan(lambda c, v: (jnp.minimum(c + v, 3.0),) * 2, 0.0, x)[1],
        lambda x, g: (rest_sums(g * (jnp.cumsum(x) < 3)),),
        "n -> n",
        Y,
    ),
    one(
        "switch_that_clamps", lambda x: lax.switch(7, [lambda v: v, lambda v: v * v], x), lambda x, g: (g,), "n -> n", Y
    ),
    one(
        "switch_below",
        lambda x: lax.switch(-3, [lambda v: v, lambda v: v * v], x),
        lambda x, g: (2 * x * g,),
        "n -> n",
        Y,
    ),
    one(
        "switch_of_an_argument",
        lambda k, x: lax.switch(k, [lambda v: v, lambda v: v * v], x),
        lambda r, g: (None, where(r[0] == 1, 2 * r[1], 1.0) * g),
        ":int, n -> n",
        np.int64(4),
        Y,
    ),
    one(
        "switch_modulo",
        lambda k, x: lax.switch(k, [lambda v: v, lambda v: v * v], x),
        lambda r, g: (None, where(r[0] % 2 == 1, 2 * r[1], 1.0) * g),
        ":int, n -> n",
        np.int64(2),
        Y,
    ),
    one(
        "cond_of_an_integer",
        lambda k, x: lax.cond(k > 0, lambda v: v * v, lambda v: v, x),
        lambda r, g: (None, where(r[0] != 0, 2 * r[1], 1.0) * g),
        ":int, n -> n",
        np.int64(-1),
        Y,
    ),
    one(
        "while_of_an_argument",
        lambda k, x: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[1] * x), (0, x))[1],
        lambda r, g: (None, (r[0] + 1) * r[1] ** r[0] * g),
        ":int, n -> n",
        np.int64(-2),
        Y,
        plain=lambda k, x: x * 1.0,
    ),
    one(
        "while_by_two",
        lambda k, x: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 2, s[1] * x), (0, x))[1],
        lambda r, g: (None, (r[0] // 2 + 1) * r[1] ** (r[0] // 2) * g),
        ":int, n -> n",
        np.int64(3),
        Y,
        plain=lambda k, x: x ** (2 + (k - 1) // 2),
        domain=("k >= 0",),
    ),
    # ragged products
]


def ragged(x, w, sizes):
    return lax.ragged_dot(x, w, sizes)


def ragged_rows(w, sizes, rows):
    group = jnp.searchsorted(jnp.cumsum(sizes), jnp.arange(rows), side="right")
    return w[jnp.minimum(group, w.shape[0] - 1)]


def ragged_pull(r, g, beyond=True):
    x, w, sizes = r
    rows = ragged_rows(w, sizes, x.shape[0])
    return jnp.einsum("ij,ikj->ik", g, rows), *ragged_of_weights(x, w, sizes, g)


def ragged_of_weights(x, w, sizes, g):
    ends = jnp.cumsum(sizes)
    i = jnp.arange(x.shape[0])
    inside = ((i[None] >= (ends - sizes)[:, None]) & (i[None] < ends[:, None])).astype(x.dtype)
    return jnp.einsum("ei,ik,ij->ekj", inside, x, g), None


ATTACKS += [
    one(
        "rows_past_the_groups",
        ragged,
        ragged_pull,
        "m k, e k n, e:int -> m n",
        np.ones((4, 2)),
        np.arange(8.0).reshape(2, 2, 2) + 1,
        np.array([1, 2]),
    ),
    one(
        "groups_in_reverse",
        ragged,
        lambda r, g: (
            jnp.einsum("ij,ikj->ik", g, ragged_rows(r[1][::-1], r[2], g.shape[0])),
            *ragged_of_weights(*r, g),
        ),
        "m k, e k n, e:int -> m n",
        np.ones((4, 2)),
        np.arange(8.0).reshape(2, 2, 2) + 1,
        np.array([1, 3]),
    ),
    one(
        "groups_by_the_left_side",
        ragged,
        lambda r, g: (
            jnp.einsum(
                "ij,ikj->ik",
                g,
                r[1][
                    jnp.minimum(
                        jnp.searchsorted(jnp.cumsum(r[2]), jnp.arange(g.shape[0]), side="left"), r[1].shape[0] - 1
                    )
                ],
            ),
            *ragged_of_weights(*r, g),
        ),
        "m k, e k n, e:int -> m n",
        np.ones((4, 2)),
        np.arange(8.0).reshape(2, 2, 2) + 1,
        np.array([1, 3]),
    ),
]
