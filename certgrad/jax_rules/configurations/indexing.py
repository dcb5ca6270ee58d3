"""Slices at positions that are data, gathers and scatters, in the modes for indices out of range."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations

MODES = ["promise_in_bounds", "clip", "fill"]
WRITES = ["promise_in_bounds", "clip", "drop"]


def _at(x: Any, index: Any) -> Any:
    return x.at[index]


SLICES: list[Configuration] = [
    *configurations("dynamic_slice", lambda x, k: lax.dynamic_slice(x, (k,), (2,)), "n+1, :int", form="one axis"),
    *configurations(
        "dynamic_slice", lambda x, k: lax.dynamic_slice(x, (k, 0), (2, x.shape[1])), "n+1 m, :int", form="rows"
    ),
    *configurations(
        "dynamic_update_slice", lambda x, y, k: lax.dynamic_update_slice(x, y, (k,)), "n+1, 2, :int", form="one axis"
    ),
    *configurations(
        "dynamic_update_slice", lambda x, y, k: lax.dynamic_update_slice(x, y, (k, 0)), "n+1 m, 2 m, :int", form="rows"
    ),
]

GATHERS: list[Configuration] = [
    *configurations("gather", lambda x, k, mode: _at(x, k).get(mode=mode), "n m, l:int", form="rows", mode=MODES),
    *configurations(
        "gather",
        lambda x, k, mode: jnp.take(x, k, axis=1, mode=mode),
        "n m, l:int",
        form="columns",
        mode=["clip", "fill"],
    ),
    *configurations(
        "gather", lambda x, k: jnp.take_along_axis(x, k, axis=1, mode="clip"), "n m, n l:int", form="along an axis"
    ),
    *configurations("gather", lambda x, k, l: _at(x, (k, l)).get(mode="clip"), "n m, p:int, p:int", form="two indices"),
    *configurations("gather", lambda x, k: _at(x, (slice(None), k)).get(mode="clip"), "n m d, :int", form="one column"),
]

SCATTERS: list[Configuration] = [
    *configurations(
        "scatter-add", lambda x, k, y, mode: _at(x, k).add(y, mode=mode), "n m, l:int, l m", form="rows", mode=WRITES
    ),
    *configurations(
        "scatter-add",
        lambda x, k, y: _at(x, (jnp.arange(x.shape[0]), k)).add(y, mode="clip"),
        "n m, n:int, n",
        form="along an axis",
    ),
    *configurations(
        "scatter-sub",
        lambda x, k, y, mode: _at(x, k).subtract(y, mode=mode),
        "n m, l:int, l m",
        form="rows",
        mode=WRITES,
    ),
    *configurations(
        "scatter-mul",
        lambda x, k, y: _at(x, k).multiply(y, mode="clip", unique_indices=True),
        "n, :int, ",
        form="one entry",
    ),
    *configurations("scatter-max", lambda x, k, y: _at(x, k).max(y, mode="clip"), "n, l:int, l"),
    *configurations("scatter-min", lambda x, k, y: _at(x, k).min(y, mode="clip"), "n, l:int, l"),
    *configurations(
        "scatter", lambda x, k, y, mode: _at(x, k).set(y, mode=mode), "n m, :int, m", form="one row", mode=WRITES
    ),
    *configurations("scatter", lambda x, k, y: _at(x, k).set(y, mode="clip"), "n, :int, ", form="one entry"),
]

INDEXING: list[Configuration] = [*SLICES, *GATHERS, *SCATTERS]
