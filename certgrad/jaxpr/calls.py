"""Equations that call a program on their operands: one that they hold, or one that JAX runs in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certgrad.jaxpr.linear import LINEAR, linear_program
from certgrad.jaxpr.lowerings import DECLARED, is_python, lowered
from certgrad.jaxpr.programs import CALLS, held


def called(eqn: Any) -> Any:
    """The closed jaxpr that an equation runs on its operands; None for one that is run as it is."""
    own = eqn.primitive.name in CALLS and not is_python(eqn.primitive)
    return held(eqn) if own else lowered(eqn)


def written(eqn: Any) -> Mapping[str, Any]:
    """The parameters that say which function an equation computes: for one with an object among them, its program."""
    if eqn.primitive.name == LINEAR:
        return {"jaxpr": linear_program(eqn)}
    program = lowered(eqn) if eqn.primitive.name == DECLARED else None
    return eqn.params if program is None else {"jaxpr": program}
