"""Equations that call a program on their operands: one that they hold, or one that JAX runs in their place."""

from __future__ import annotations

from typing import Any

from ._jax_lowerings import lowered
from ._jax_programs import CALLS, held


def called(eqn: Any) -> Any:
    """The closed jaxpr that an equation runs on its operands; None for one that is run as it is."""
    return held(eqn) if eqn.primitive.name in CALLS else lowered(eqn)
