"""Mutable references that a program makes for itself, by public names of JAX; `run_state` is not public."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations, forms


def _write_and_freeze(x: Any) -> Any:
    r = jax.new_ref(jnp.sin(x))
    r[...] = r[...] * x
    return jax.freeze(r)


def _swapped(x: Any, y: Any) -> Any:
    r = jax.new_ref(x * x)
    before = jax.ref.swap(r, ..., x * y)
    return before * r[...]


def _row_added(a: Any, y: Any) -> Any:
    r = jax.new_ref(a * a)
    jax.ref.addupdate(r, 0, y)
    return r[...]


def _row_read(a: Any) -> Any:
    r = jax.new_ref(a * a)
    return r[1] * r[0]


def _empty(x: Any) -> Any:
    r = jax.empty_ref(jax.typeof(x))
    r[...] = x * x
    return jax.freeze(r)


def _freed(x: Any) -> Any:
    r = jax.new_ref(x * x)
    y = r[...] * x
    jax.free_ref(r)
    return y


def _filled(x: Any) -> Any:
    r = jax.new_ref(jnp.zeros_like(x))

    def step(_: Any, i: Any) -> tuple[None, None]:
        r[i] = x[i] * x[i]
        return None, None

    lax.scan(step, None, jnp.arange(x.shape[0]))
    return jax.freeze(r)


REFERENCES: list[Configuration] = [
    *configurations("new_ref", _write_and_freeze, "*s"),
    *configurations("freeze", _write_and_freeze, "*s"),
    *forms("get", ("all of it", "*s", _write_and_freeze), ("a row", "n+2 m", _row_read)),
    *forms("swap", ("all of it", "*s, *s", _swapped), ("entry by entry in a loop", "n", _filled)),
    *configurations("addupdate", _row_added, "n+1 m, m"),
    *configurations("empty_ref", _empty, "n"),
    *configurations("free_ref", _freed, "n"),
]
