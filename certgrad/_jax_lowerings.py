"""Primitives that JAX itself runs as programs of others: what one of them means is that program."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.core import jaxprs_in_params
from jax._src.lax.lax import _ragged_dot_general_impl

from certgrad import _pallas


def _over_positions(reduction: Callable[..., Any], axes: Sequence[Any], groups: Any) -> Callable[..., Any] | None:
    """A collective under `vmap` alone, which has turned names of axes into positions; None where a name is left."""
    if groups is not None or not all(isinstance(axis, int) for axis in axes):
        return None
    return lambda *arrays: [reduction(x, axis=tuple(axes)) for x in arrays]


def _ragged_dot(params: Mapping[str, Any]) -> Callable[..., Any]:
    return partial(_ragged_dot_general_impl, **params)


def _collective(reduction: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None]:
    return lambda params: _over_positions(reduction, params["axes"], params.get("axis_index_groups"))


_PROGRAMS: dict[str, Callable[[Mapping[str, Any]], Callable[..., Any] | None]] = {
    "ragged_dot_general": _ragged_dot,
    "psum": _collective(jnp.sum),
    "pmax": _collective(jnp.max),
    "pmin": _collective(jnp.min),
    "pallas_call": _pallas.program,
}
"""By name, what the parameters make of it: a function of the operands, as JAX runs it on a CPU."""


_WIDE = ("float64", "int64", "uint64", "complex128")


def _variables(jaxpr: Any) -> list[Any]:
    """What a program computes, with what the programs in it compute."""
    inner = [v for eqn in jaxpr.eqns for one in jaxprs_in_params(eqn.params) for v in _variables(one)]
    return [*(v for eqn in jaxpr.eqns for v in eqn.outvars), *inner]


def lowered(eqn: Any) -> Any:
    """The closed jaxpr that an equation runs as at its shapes and dtypes; None where it is run as it is."""
    found = _PROGRAMS.get(eqn.primitive.name)
    function = found(eqn.params) if found is not None else None
    if function is None:
        return None
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
    inside = [v.aval for inner in jaxprs_in_params(eqn.params) for v in _variables(inner)]
    with jax.enable_x64(any(str(getattr(a, "dtype", "")) in _WIDE for a in (*avals, *inside))):
        try:
            return jax.make_jaxpr(function)(*avals)
        except _pallas.KernelError:
            return None
