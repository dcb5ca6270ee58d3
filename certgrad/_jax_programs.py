"""Equations that call an inner program of their own on their operands, in each version of JAX."""

from __future__ import annotations

from typing import Any

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
