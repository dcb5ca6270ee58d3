"""What equations that hold programs say of them, in each version of JAX; values that are no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp


def no_number(shape: Sequence[int], dtype: Any) -> Any:
    """An array whose entries are undefined: what memory holds that nothing was written to, a choice nobody made."""
    nothing = jnp.full(tuple(shape), jnp.nan, jnp.result_type(float))
    return nothing > 0 if jnp.issubdtype(dtype, jnp.bool_) else nothing.astype(dtype)


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried; the others are gone through."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carries, *_ = params["ft_in"].unpack()  # from JAX 0.11 on, they are counted by trees
    return len(consts), len(carries)


CALLS = frozenset(
    "jit pjit closed_call core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr checkpoint remat remat2 "
    "composite custom_vmap_call linear_call remat_opt".split()
)
"""Primitives that run an inner program on their operands."""

_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "callee", "fwd_jaxpr")
"""The parameters, one a primitive, that hold an inner program; their names differ between versions of JAX."""


def held(eqn: Any) -> Any:
    """The closed jaxpr that an equation holds and runs on its operands; None where it does not say which."""
    if eqn.primitive.name not in CALLS:
        return None
    found = [eqn.params[key] for key in _INNER if key in eqn.params]
    return found[0] if len(found) == 1 else None
