"""The equations, literals and lines of the user's code that a graph shares with the graphs inside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certgrad.graph.ir import ArrayType, Literal, Operand
from certgrad.graph.tracing.jaxpr import Equation, source_of
from certgrad.obligations.tracing.jax_internals import Program, is_literal


class Shared:
    """The state that a graph and its inner graphs share: equations, and what is equal at each of their nodes."""

    def __init__(self, wide: bool) -> None:
        self.wide = wide
        self.equations: dict[Any, Equation] = {}
        self.params: dict[Equation, dict[str, str]] = {}
        self.outputs: dict[Equation, list[ArrayType]] = {}
        self.ops: dict[Equation, tuple[Any, dict[str, Any]] | None] = {}
        self.called: dict[Equation, tuple[Program | None, str]] = {}
        """The program that an equation calls, and the function of `jax.random` that it draws by."""
        self.places: dict[Any, tuple[str, str]] = {}
        """The user's line and function for each traceback; the steps of a Python loop have equal ones."""
        self.literals: dict[Any, Literal] = {}
        self.atoms: dict[int, Any] = {}
        """For each `Literal` of a graph, by its id, one of the literals of JAX that it stands for."""
        self.kept: list[Any] = []
        """Equations of JAX whose ids are keys, so that no other object gets the same id."""

    def place(self, eqn: Any) -> tuple[str, str]:
        """Return the user's file and line of an equation, and the name of the function there."""
        traceback = eqn.source_info.traceback
        position = self.places.get(traceback)
        if position is None:
            position = self.places[traceback] = source_of(eqn)
        return position

    def equation(self, eqn: Any, original: Any, jaxpr: Any, operands: Sequence[Operand]) -> Equation:
        """Return the one `Equation` that is shared by all equations which do the same to values of the same types.

        `original` is the equation of the program `jaxpr`; `eqn` is `original` with folded literals put in. Equations do
        the same if their primitive, parameters, types, literals and pattern of repeated operands are equal.
        """
        slots: dict[Any, int] = {}
        reads = tuple([_operand_key(v, o, slots) for v, o in zip(eqn.invars, operands, strict=True)])
        try:
            key: Any = (eqn.primitive, tuple(eqn.params.items()), reads, tuple([v.aval for v in eqn.outvars]))
            equation = self.equations.get(key)
        except TypeError:  # some parameter has no hash: share only what comes from one and the same equation of JAX
            self.kept.append(original)
            key = (id(original), reads)
            equation = self.equations.get(key)
        if equation is None:
            equation = self.equations[key] = Equation(eqn, jaxpr, self.wide)
        return equation


def _operand_key(v: Any, o: Operand, slots: dict[Any, int]) -> tuple[object, Any]:
    """Return a key of an operand: its literal or its number among the equation's variables, and its type.

    `slots` numbers the variables of the equation in the order in which they are met.
    """
    if not is_literal(v):
        return slots.setdefault(v, len(slots)), v.aval
    # `_Builder.read` keeps one Literal for each value in Shared.literals, so that equal ones have one id
    return (str(id(o)) if type(o) is Literal else np.asarray(v.val).tobytes()), v.aval
