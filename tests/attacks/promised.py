"""Promises about indices that are wrapped or clipped first, and kept as they are given alone."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "D promises about moved indices"
where = jnp.where


def one(name, value, bwd, signature, *at, plain=None, **more):
    values = tuple(np.asarray(v) for v in at)
    return Attack(f"promised_{name}", KIND, saved(value, bwd), plain or value, signature, lambda: values, **more)


X, U, WRAPPED, BELOW, ABOVE = (
    np.array([1.0, 2.0, 3.0]),
    np.array([4.0, 5.0]),
    np.array([1, -2]),
    np.array([-1, 0]),
    np.array([4, 5]),
)
SET = "n, m, m:int -> n"


def put(x, u, k, **how):
    return x.at[k].set(u, **how)


def putting(**how):
    return lambda x, u, k: put(x, u, k, **how)


def set_back(args, g):
    _x, _u, k = args
    return g.at[k].set(0.0), g.at[k].get(mode="fill", fill_value=0.0), None


def set_clipped_back(args, g):
    x, _u, k = args
    k = jnp.clip(k, 0, x.shape[0] - 1)
    return g.at[k].set(0.0), g[k], None


def the_first(f):
    """Only the first entry of the result is asked for."""
    return lambda *args: f(*args)[:1]


def of_the_first(back):
    def pulled(args, g):
        n = args[0].shape[0]
        return back(args, jnp.concatenate([g, jnp.zeros(n - 1)]))

    return pulled


def times_back(args, g):
    x, u, k = args
    return g.at[k].multiply(u), (g * x).at[k].get(mode="fill", fill_value=0.0), None


def times(**how):
    return lambda x, u, k: x.at[k].multiply(u, **how)


def one_after_another(x, u, k):
    return x.at[k[0]].multiply(u[0]).at[k[1]].multiply(u[1])


def power(**how):
    return lambda x, k: x.at[k].power(2.0, **how)


def apply_square(x, k, **how):
    return x.at[k].apply(lambda v: v * v)


def largest(**how):
    return lambda x, u, k: x.at[k].max(u, **how)


def largest_back(args, g):
    x, u, k = args
    wins = u > x[k]
    return g.at[k].multiply(where(wins, 0.0, 1.0)), g.at[k].get(mode="fill", fill_value=0.0) * wins, None


def rows(**how):
    return lambda x, u, k: x.at[k].set(u, **how)


def rows_back(args, g):
    _x, _u, k = args
    return g.at[k].set(0.0), g.at[k].get(mode="fill", fill_value=0.0), None


def columns(**how):
    return lambda x, u, k: x.at[:, k].set(u, **how)


def columns_back(args, g):
    _x, _u, k = args
    return g.at[:, k].set(0.0), g.at[:, k].get(mode="fill", fill_value=0.0), None


def taken(**how):
    return lambda x, k: x.at[k].get(**how)


def taken_by_assignment(x_k, g):
    """As if no index came twice."""
    x, k = x_k
    return jnp.zeros_like(x).at[k].set(g), None


def added_by_sorting(x_k, g):
    """Differences of running sums, of indices that go up."""
    x, k = x_k
    total = jnp.concatenate([jnp.zeros(1), jnp.cumsum(g)])
    places = jnp.arange(x.shape[0])
    low, high = jnp.searchsorted(k, places), jnp.searchsorted(k, places, side="right")
    return total[high] - total[low], None


def summed(**how):
    return lambda u, k: jnp.zeros(u.shape[0]).at[k].add(u, **how)


ATTACKS = [
    one("set_wrapped", putting(unique_indices=True), set_back, SET, X, U, WRAPPED, plain=put),
    one("set_wrapped_twice", putting(unique_indices=True), set_back, SET, X, U, np.array([-2, 1]), plain=put),
    one(
        "set_wrapped_both_below",
        putting(unique_indices=True),
        set_back,
        SET,
        np.ones(2),
        U,
        np.array([-2, 0]),
        plain=put,
    ),
    one("set_wrapped_at_numbers", putting(unique_indices=True), set_back, "3, 2, 2:int -> 3", X, U, WRAPPED, plain=put),
    one(
        "set_wrapped_first_alone",
        the_first(putting(unique_indices=True)),
        of_the_first(set_back),
        "n, m, m:int -> 1",
        X,
        U,
        np.array([0, -3]),
        plain=the_first(put),
    ),
    one(
        "set_clipped",
        putting(unique_indices=True, mode="clip"),
        set_clipped_back,
        SET,
        X,
        U,
        ABOVE,
        plain=putting(mode="clip"),
    ),
    one(
        "set_clipped_below",
        putting(unique_indices=True, mode="clip"),
        set_clipped_back,
        SET,
        X,
        U,
        np.array([-9, 0]),
        plain=putting(mode="clip"),
    ),
    one(
        "set_dropped",
        putting(unique_indices=True, mode="drop"),
        set_back,
        SET,
        X,
        U,
        WRAPPED,
        plain=putting(mode="drop"),
    ),
    one(
        "set_in_bounds", putting(unique_indices=True, mode="promise_in_bounds"), set_back, SET, X, U, WRAPPED, plain=put
    ),
    one(
        "set_sorted",
        putting(unique_indices=True, indices_are_sorted=True),
        set_back,
        SET,
        X,
        U,
        np.array([-2, 1]),
        plain=put,
    ),
    one(
        "set_with_a_domain",
        putting(unique_indices=True),
        set_back,
        SET,
        X,
        U,
        WRAPPED,
        plain=put,
        domain=("k < x.shape[0]",),
    ),
    one("product_wrapped", times(unique_indices=True), times_back, SET, X, U, WRAPPED, plain=one_after_another),
    one(
        "product_clipped",
        times(unique_indices=True, mode="clip"),
        times_back,
        SET,
        X,
        U,
        ABOVE,
        plain=lambda x, u, k: one_after_another(x, u, jnp.clip(k, 0, 2)),
    ),
    one("largest_wrapped", largest(unique_indices=True), largest_back, SET, X, U, WRAPPED, plain=largest()),
    one(
        "largest_dropped",
        largest(unique_indices=True, mode="drop"),
        largest_back,
        SET,
        X,
        U,
        WRAPPED,
        plain=largest(mode="drop"),
    ),
    one(
        "rows_wrapped",
        rows(unique_indices=True),
        rows_back,
        "n d, m d, m:int -> n d",
        np.ones((3, 2)),
        np.ones((2, 2)),
        WRAPPED,
        plain=rows(),
    ),
    one(
        "columns_wrapped",
        columns(unique_indices=True),
        columns_back,
        "d n, d m, m:int -> d n",
        np.ones((2, 3)),
        np.ones((2, 2)),
        WRAPPED,
        plain=columns(),
    ),
    one(
        "power_wrapped",
        power(unique_indices=True),
        lambda r, g: (g.at[r[1]].multiply(2 * r[0][r[1]]), None),
        "n, m:int -> n",
        X,
        WRAPPED,
        plain=lambda x, k: x.at[k[0]].power(2.0),
    ),
    one("taken_wrapped", taken(unique_indices=True), taken_by_assignment, "n, m:int -> m", X, WRAPPED, plain=taken()),
    one(
        "taken_clipped",
        taken(unique_indices=True, mode="clip"),
        taken_by_assignment,
        "n, m:int -> m",
        X,
        ABOVE,
        plain=taken(mode="clip"),
    ),
    one(
        "taken_first_alone",
        lambda x, k: taken(unique_indices=True)(x, k)[:1],
        lambda r, g: (jnp.zeros_like(r[0]).at[r[1][0]].set(g[0] * where(r[1][0] < 0, 2.0, 1.0)), None),
        "n, m+1:int -> 1",
        X,
        WRAPPED[::-1].copy(),
        plain=lambda x, k: x[k][:1],
    ),
    one(
        "taken_sorted_by_sums",
        taken(indices_are_sorted=True),
        added_by_sorting,
        "n, m:int -> m",
        X,
        BELOW,
        plain=taken(),
    ),
    one(
        "taken_filled_by_sums",
        taken(indices_are_sorted=True, mode="fill", fill_value=0.0),
        added_by_sorting,
        "n, m:int -> m",
        X,
        BELOW,
        plain=taken(mode="fill", fill_value=0.0),
    ),
    one(
        "taken_clipped_by_sums",
        taken(indices_are_sorted=True, mode="clip"),
        added_by_sorting,
        "n, m:int -> m",
        X,
        ABOVE,
        plain=taken(mode="clip"),
    ),
    one(
        "added_sorted_and_dropped",
        summed(indices_are_sorted=True, mode="drop"),
        lambda r, g: (g[jnp.clip(r[1], 0, g.shape[0] - 1)], None),
        "n, n:int -> n",
        U,
        np.array([0, 7]),
        plain=summed(mode="drop"),
    ),
    one(
        "added_unique_and_wrapped",
        summed(unique_indices=True),
        lambda r, g: (g[r[1]] * where(r[1] < 0, 2.0, 1.0), None),
        "n, n:int -> n",
        U,
        np.array([0, -1]),
        plain=summed(),
    ),
    one(
        "slice_started_below",
        lambda x, k: lax.dynamic_slice(x, (k,), (1,)),
        lambda r, g: (jnp.zeros_like(r[0]).at[jnp.clip(r[1], 0, r[0].shape[0] - 1)].add(g[0]), None),
        "n, :int -> 1",
        X,
        np.int64(-1),
    ),
]
