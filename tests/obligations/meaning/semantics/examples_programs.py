"""Examples of primitives that JAX runs as programs of others: mutable references, polynomials, and sparse arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.experimental import sparse

from tests.obligations.meaning.semantics.example import Example, example, real, whole

X = real("x", "n")
Y = real("y", "m")
A = real("a", "n m")
HELD = whole("i", "k 2", 0, 2), real("d", "k")


def written(x):
    r = jax.new_ref(jnp.sin(x))
    r[...] = r[...] * x
    return jax.freeze(r)


def swapped(x):
    r = jax.new_ref(x * x)
    before = jax.ref.swap(r, ..., x * 3)
    return before * r[...]


def row_added(a, y):
    r = jax.new_ref(a * a)
    jax.ref.addupdate(r, 0, y)
    return r[...]


def emptied(x):
    r = jax.empty_ref(jax.typeof(x))
    r[...] = x * x
    return r[...] * x


def freed(x):
    """JAX runs it under `jit` alone."""
    r = jax.new_ref(x * x)
    y = r[...] * x
    jax.free_ref(r)
    return y


def matrix(i, d):
    return sparse.BCOO((d, i), shape=(4, 3))


def coordinates(i, d):
    return sparse.COO((d, i[:, 0], i[:, 1]), shape=(4, 3))


NOT_COMPARED: list[Example] = [example("free_ref", freed, X)]

PROGRAMS: list[Example] = [
    example("new_ref", written, X),
    example("freeze", written, X),
    example("get", written, X),
    example("swap", swapped, X),
    example("addupdate", row_added, A, Y),
    example("empty_ref", jax.jit(emptied), X),  # JAX does not differentiate it where nothing is compiled
    example("polynomial", lambda x, c: jnp.polyval(c, x), X, real("c", "4")),  # a loop before JAX 0.12
    example("bcoo_todense", lambda i, d: matrix(i, d).todense(), *HELD),
    example("bcoo_transpose", lambda i, d: matrix(i, d).T.todense(), *HELD),
    example("bcoo_dot_general", lambda i, d, v: matrix(i, d) @ v, *HELD, real("v", "3")),
    example(
        "bcoo_extract",
        lambda i, a: sparse.bcoo_extract(matrix(i, jnp.ones_like(a[i[:, 0], 0])), a, assume_unique=True).data,
        HELD[0],
        real("a", "4 3"),
    ),
    example(
        "bcoo_dot_general_sampled",
        lambda i, a, b: sparse.bcoo_dot_general_sampled(a, b, i, dimension_numbers=(((1,), (0,)), ((), ()))),
        HELD[0],
        real("a", "4 n"),
        real("b", "n 3"),
    ),
    example("coo_todense", lambda i, d: coordinates(i, d).todense(), *HELD),
    example("coo_matvec", lambda i, d, v: coordinates(i, d) @ v, *HELD, real("v", "3")),
    example("coo_matmat", lambda i, d, b: coordinates(i, d) @ b, *HELD, real("b", "3 n")),
]
