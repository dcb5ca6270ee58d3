"""Primitives that run inner programs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations


def _linear(x: Any) -> Any:
    return jax.custom_derivatives.linear_call(lambda r, v: v * r, lambda r, c: c * r, 2.0, x)


CONTROL: list[Configuration] = [
    *configurations("jit", lambda x: jax.jit(lambda y: jnp.sin(y) * y)(x), "*s"),
    *configurations("remat2", lambda x: jax.checkpoint(lambda y: jnp.sin(y) * y)(x), "*s"),
    *configurations(
        "cond", lambda s, x: lax.cond(s > 0, lambda y: y * y, lambda y: 2 * y, x), ", n", kinks=[(0, [1.0])]
    ),
    *configurations(
        "cond",
        lambda p, x: lax.cond(p, lambda y: y * y, lambda y: jnp.sum(y) * y, x),
        ":bool, n",
        form="by a boolean",
    ),
    *configurations(
        "scan",
        lambda x, reverse: lax.scan(lambda c, e: (c * 0.5 + e, c * e), 0.25, x, reverse=reverse),
        "n",
        reverse=[False, True],
    ),
    *configurations(
        "scan",
        lambda a: lax.scan(lambda c, row: (c + row, jnp.sum(c)), jnp.zeros_like(a[0]), a)[1],
        "n m",
        form="of rows",
    ),
    *configurations(
        "while", lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * x, x), "n", form="a loop of unknown length"
    ),
    *configurations("linear_call", _linear, "*s"),
    *configurations("dce_sink", lambda x: (lax.dce_sink(x), x)[1], "*s"),
]
