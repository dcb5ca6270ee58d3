"""Comparisons, casts and indices of extrema: piecewise constant, so that their tangents are zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax._src.lax import lax as internal

from .._configuration import Configuration, configurations

COMPARISONS = "eq ne lt le gt ge".split()
TOTAL = "eq lt le".split()


def _as_number(name: str) -> Callable[[Any, Any], Any]:
    compare = getattr(lax, name)
    return lambda x, y: jnp.where(compare(x, y), 1.0, 0.0)


def _total(name: str) -> Callable[[Any, Any], Any]:
    primitive = getattr(internal, f"{name}_to_p")
    return lambda x, y: jnp.where(primitive.bind(x, y), 1.0, 0.0)


LOGIC: list[Configuration] = [
    *(c for name in COMPARISONS for c in configurations(name, _as_number(name), "*s, *s", form="as a number")),
    *(c for name in TOTAL for c in configurations(f"{name}_to", _total(name), "*s, *s", form="as a number")),
    *configurations("is_finite", lambda x: jnp.where(lax.is_finite(x), 1.0, 0.0), "*s", form="as a number"),
    *configurations(
        "argmax", lambda x, axis: lax.argmax(x, axis, int).astype(float), "n m", form="as a number", axis=[0, 1]
    ),
    *configurations(
        "argmin", lambda x, axis: lax.argmin(x, axis, int).astype(float), "n m", form="as a number", axis=[0, 1]
    ),
    *configurations("convert_element_type", lambda x: x.astype(int).astype(float), "*s", form="to integers and back"),
    *configurations(
        "convert_element_type", lambda k, x: x * k.astype(float), "*s:int, *s", form="of an integer factor"
    ),
    *configurations("reduce_precision", lambda x: lax.reduce_precision(x, 8, 23), "*s", form="to float32"),
    *configurations("reduce_precision", lambda x: lax.reduce_precision(x, 11, 52), "*s", form="to float64"),
]
