"""Equations that call an inner program on their operands, in each version of JAX."""

from __future__ import annotations

from typing import Any

from ._jax_lowerings import lowered

CALLS = frozenset(
    "jit pjit closed_call core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr checkpoint remat remat2 "
    "composite custom_vmap_call linear_call remat_opt".split()
)
"""Primitives that run an inner program on their operands."""

_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "callee", "fwd_jaxpr")
"""The parameters, one a primitive, that hold an inner program; their names differ between versions of JAX."""


def called(eqn: Any) -> Any:
    """The closed jaxpr that an equation runs on its operands; None for one that is run as it is."""
    if eqn.primitive.name not in CALLS:
        return lowered(eqn)
    held = [eqn.params[key] for key in _INNER if key in eqn.params]
    return held[0] if len(held) == 1 else None
