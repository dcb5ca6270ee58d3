"""Examples of the primitives that run inner programs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real, whole

X = real("x", "n")
Y = real("y", "n")
S = real("s", "")
K = whole("k", "", 0, 2)
M = real("a", "n m")


def accumulated(x, reverse=False):
    return lax.scan(lambda c, e: (c * 0.5 + e, c * e), 0.25, x, reverse=reverse)


def linear(x):
    return jax.custom_derivatives.linear_call(lambda r, v: v * r, lambda r, c: c * r, 2.0, x)


@jax.custom_batching.custom_vmap
def batched(x):
    return x * x


@batched.def_vmap
def _(size, mapped, x):
    return x * x, mapped[0]


@jax.custom_vjp
def cubed(x):
    return x**3


cubed.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x * x * g,), optimize_remat=True)


CONTROL: list[Example] = [
    example("jit", jax.jit(lambda x: jnp.sin(x) * x), X),
    example("remat2", jax.checkpoint(lambda x: jnp.sin(x) * x), X),
    example("cond", lambda s, x: lax.cond(s > 0, lambda y: y * y, lambda y: 2 * y, x), S, X),
    example(
        "cond",
        lambda k, x: lax.switch(k, [lambda y: y, lambda y: y * y, lambda y: jnp.sum(y) * y], x),
        K,
        X,
        name="three branches",
    ),
    example("scan", accumulated, X, reverse=(False, True)),
    example("scan", lambda a: lax.scan(lambda c, row: (c + row, jnp.sum(c)), a[0], a)[1], M, name="of rows"),
    example("scan", lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + i, x), X, name="fori_loop"),
    example("composite", lambda x: lax.composite(lambda y: y * y, "square")(x), X, derivative=False),
    example("custom_vmap_call", batched, X),
    example("linear_call", linear, X),
    example("remat_opt", lambda x: jax.vjp(cubed, x)[0], X, derivative=False),
    example(
        "while",
        lambda x: lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + x * x + 1, x),
        X,
        refused=True,
        derivative=False,
    ),
]
