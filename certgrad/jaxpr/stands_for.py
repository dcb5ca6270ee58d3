"""Objects that JAX takes for the arrays that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._src import core, dtypes


def stands_for(kind: type, value: Callable[[Any], Any]) -> None:
    """Make JAX's primitives and `jit` accept objects of a class; `value` returns the array that one stands for."""
    core.pytype_aval_mappings[kind] = lambda x: core.typeof(value(x))
    dtypes.register_canonicalize_value_handler(kind, value)
