"""Equations that call a program on their operands: one that they hold, or one that JAX runs in their place."""

from __future__ import annotations

from typing import Any

from ._jax_lowerings import is_python, lowered
from ._jax_programs import CALLS, held


def called(eqn: Any) -> Any:
    """The closed jaxpr that an equation runs on its operands; None for one that is run as it is."""
    own = eqn.primitive.name in CALLS and not is_python(eqn.primitive)
    return held(eqn) if own else lowered(eqn)
