"""Examples of primitives that the calculus may decline: each is exercised, and gives its reason itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real, whole
from tests.obligations.meaning.semantics.examples_order import open_example

X = real("x", "n")
Y = real("y", "n")
K = whole("k", "n")
L = whole("k", "m", 0, 2)
M = real("a", "n m")
N = real("b", "m n")
S = real("s", "n n")


def symmetric(s):
    return s + s.T


FACTORISATIONS: list[Example] = [
    open_example("qr", lambda a: jnp.linalg.qr(a)[1], M),
    open_example("svd", lambda a: jnp.linalg.svd(a, compute_uv=False), M),
    open_example("eigh", lambda s: jnp.linalg.eigvalsh(symmetric(s)), S),
    open_example("eig", lambda s: jnp.linalg.eigvals(s).real, S),
    open_example("tridiagonal_solve", lambda x, y, a: lax.linalg.tridiagonal_solve(x, y + 9, x, a), X, Y, M),
]

SCATTERS: list[Example] = [
    open_example("scatter-mul", lambda x, k, y: x.at[k].multiply(y), X, K, Y, name="several"),
    open_example(
        "ragged_dot_general", lambda a, t, g: lax.ragged_dot(a, t, g), M, real("t", "2 m k"), whole("g", "2", 0, 1)
    ),
]

CALLS: list[Example] = [
    open_example("dce_sink", lambda x: (lax.dce_sink(x), x)[1], X),
]

CALLBACKS: list[Example] = [
    example("debug_callback", lambda x: (jax.debug.callback(lambda y: None, x), x)[1], X),
    example("debug_print", lambda x: (jax.debug.print("{}", x), x)[1], X),
    open_example("pure_callback", lambda x: jax.pure_callback(lambda y: y, x, x), X),
    open_example("random_bits", lambda x: x * jax.random.uniform(jax.random.key(0), x.shape, x.dtype), X),
    open_example("random_gamma", lambda x: jax.random.gamma(jax.random.key(0), x), X),
]

OPEN: list[Example] = [*FACTORISATIONS, *SCATTERS, *CALLS, *CALLBACKS]
