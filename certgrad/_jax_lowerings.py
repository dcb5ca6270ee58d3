"""Primitives that JAX itself runs as programs of others: what one of them means is that program."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax._src.lax.lax import _ragged_dot_general_impl

PROGRAMS: dict[str, Callable[..., Any]] = {"ragged_dot_general": _ragged_dot_general_impl}
"""By name, the function of operands and parameters that JAX lowers it to, on a CPU."""


def lowered(name: str, params: Mapping[str, Any], avals: Sequence[Any]) -> Any:
    """The closed jaxpr that an equation of the primitive runs on arrays of these shapes and dtypes."""
    wide = any(str(a.dtype) in ("float64", "int64") for a in avals)
    with jax.enable_x64(wide):
        return jax.make_jaxpr(lambda *args: PROGRAMS[name](*args, **params))(*avals)
