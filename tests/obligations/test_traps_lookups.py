"""Indices that are values: labels of −1, wraps and clamps, repeated places, promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare

W = np.array([[1.0, 2.0, -1.0], [3.0, 5.0, 0.5]])
V = np.array([1.0, -2.0, 3.0, 0.5])


def clipped(i, n):
    return jnp.clip(i, 0, n - 1)


def wrapped(i, n):
    return jnp.where(i < 0, i + n, i)


def rows(back, **options):
    """Rows of a table at clipped places, with a VJP."""
    return declare(
        "n d, m:int -> m d",
        lambda w, i: jnp.take(w, i, axis=0, mode="clip"),
        lambda w, i, dw: jnp.take(dw, i, axis=0, mode="clip"),
        back,
        **options,
    )


def added(w, i, g, **how):
    return jnp.zeros_like(w).at[i].add(g, **how)


def hot(i, n):
    return jax.nn.one_hot(i, n, dtype=float)


def entropy(labels):
    """Cross entropy of labels that wrap and are clipped, with a rule that reads them its own way."""
    return declare(
        "n d, n:int -> ",
        lambda z, y: -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1, mode="clip")),
        lambda z, y, dz: jnp.sum((jax.nn.softmax(z) - hot(labels(y, z.shape[1]), z.shape[1])) * dz),
        lambda z, y, g: g * (jax.nn.softmax(z) - hot(labels(y, z.shape[1]), z.shape[1])),
    )


def picked(place):
    """The entry at a clipped place, with a rule that finds it otherwise."""
    return declare(
        "n, :int -> ",
        lambda x, i: x[clipped(wrapped(i, x.shape[0]), x.shape[0])],
        lambda x, i, dx: dx[place(i, x.shape[0])],
        lambda x, i, g: jnp.zeros_like(x).at[place(i, x.shape[0])].add(g),
    )


def written(cotangents):
    return declare(
        "n+2, :int, 2 -> n+2",
        lambda x, i, u: lax.dynamic_update_slice(x, u, (i,)),
        lambda x, i, u, dx, du: lax.dynamic_update_slice(dx, du, (i,)),
        lambda x, i, u, g: cotangents(i, u, g),
    )


def looked_up(place):
    """Entries of rows, with a rule that reads the places from somewhere."""
    return declare(
        "n d, n:int -> n",
        lambda w, i: w[jnp.arange(w.shape[0]), clipped(i, w.shape[1])],
        lambda w, i, dw: dw[jnp.arange(w.shape[0]), clipped(place(i), w.shape[1])],
        lambda w, i, g: jnp.zeros_like(w).at[jnp.arange(w.shape[0]), clipped(place(i), w.shape[1])].add(g),
    )


def product(jvp_factor):
    """x[i]·x[j]: the two places are not the same."""
    return declare(
        "n, m:int, m:int -> m",
        lambda x, i, j: jnp.take(x, i, mode="clip") * jnp.take(x, j, mode="clip"),
        lambda x, i, j, dx: jvp_factor(x, i, j, dx) + jvp_factor(x, j, i, dx),
        lambda x, i, j, g: (
            added(x, clipped(i, x.shape[0]), g * jnp.take(x, j, mode="clip"))
            + added(x, clipped(j, x.shape[0]), g * jnp.take(x, i, mode="clip"))
        ),
    )


TRAPS = [
    Trap(
        "labels of -1",
        entropy(lambda y, d: y),
        at=(W, np.array([-1, 1])),
        right=entropy(lambda y, d: clipped(wrapped(y, d), d)),
    ),
    Trap(
        "repeated places in a one-hot matrix that drops",
        rows(lambda w, i, g: hot(i, w.shape[0]).T @ g),
        at=(W, np.array([1, 1, 2])),
        right=rows(lambda w, i, g: added(w, clipped(i, w.shape[0]), g)),
    ),
    Trap(
        "dropped where the forward clamps",
        rows(lambda w, i, g: added(w, i, g, mode="drop")),
        at=(W, np.array([2, 0])),
    ),
    Trap(
        "dropped where the forward clamps, though no place is negative",
        rows(lambda w, i, g: added(w, i, g), domain="i >= 0"),
        at=(W, np.array([2, 0])),
    ),
    Trap(
        "repeated places overwritten",
        rows(lambda w, i, g: jnp.zeros_like(w).at[clipped(i, w.shape[0])].set(g)),
        at=(W, np.array([1, 1])),
        verdict="unproved",
    ),
    Trap(
        "wrapped twice",
        picked(lambda i, n: clipped(wrapped(wrapped(i, n), n), n)),
        at=(V, np.array(-6)),
        verdict="unproved",
        right=picked(lambda i, n: clipped(wrapped(i, n), n)),
    ),
    Trap(
        "the neighbour's place",
        looked_up(lambda i: jnp.concatenate([i[1:], i[:1]])),
        at=(W, np.array([0, 2])),
        right=looked_up(lambda i: i),
    ),
    Trap(
        "what was written over keeps its cotangent",
        written(lambda i, u, g: (g, lax.dynamic_slice(g, (i,), (2,)))),
        at=(V, np.array(1), V[:2]),
        right=written(
            lambda i, u, g: (
                lax.dynamic_update_slice(g, jnp.zeros_like(u), (i,)),
                lax.dynamic_slice(g, (i,), (2,)),
            )
        ),
    ),
    Trap(
        "a slice clamped entry by entry",
        declare(
            "n+2, :int -> 3",
            lambda x, i: lax.dynamic_slice(x, (i,), (3,)),
            lambda x, i, dx: jnp.take(dx, i + jnp.arange(3), mode="clip"),
            lambda x, i, g: jnp.zeros_like(x).at[clipped(i + jnp.arange(3), x.shape[0])].add(g),
        ),
        at=(V, np.array(3)),
    ),
    Trap(
        "two places taken for one",
        product(lambda x, i, j, dx: jnp.take(dx, i, mode="clip") * jnp.take(x, i, mode="clip")),
        at=(V, np.array([0, 1]), np.array([2, 1])),
        right=product(lambda x, i, j, dx: jnp.take(dx, i, mode="clip") * jnp.take(x, j, mode="clip")),
    ),
]


def read(**how):
    """Clipped reads that promise something of the places."""
    return declare(
        "n d, m:int -> m d",
        lambda w, i: w.at[clipped(i, w.shape[0])].get(**how),
        lambda w, i, dw: dw.at[clipped(i, w.shape[0])].get(**how),
        lambda w, i, g: jnp.zeros_like(w).at[clipped(i, w.shape[0])].add(g, **how),
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("promise", ["unique_indices", "indices_are_sorted"])
def test_a_promise_about_places_is_not_taken_on_trust(promise):
    assert audit(read(**{promise: True})).verdict == "unproved"
    assert audit(read()).verdict == "proved"


def test_a_promise_that_is_kept_is_no_obstacle():
    def even(x):
        return x.at[2 * jnp.arange(x.shape[0] // 2)].get(unique_indices=True, indices_are_sorted=True)

    rule = declare("2*n -> n", even, lambda x, dx: even(dx), lambda x, g: lax.pad(g, 0.0 * g[0], [(0, 1, 1)]))
    assert audit(rule).verdict == "proved"
