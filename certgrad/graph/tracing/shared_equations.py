"""What a graph and the graphs inside it have once: equal equations, literals, and lines of the user's code."""

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
        """The user's line and function, by traceback: those of a loop in Python are equal."""
        self.literals: dict[Any, Literal] = {}
        self.atoms: dict[int, Any] = {}
        """One of JAX's literals behind each of ours, by identity."""
        self.kept: list[Any] = []

    def place(self, eqn: Any) -> tuple[str, str]:
        """The user's file and line of an equation, and the name of the function there."""
        traceback = eqn.source_info.traceback
        found = self.places.get(traceback)
        if found is None:
            found = self.places[traceback] = source_of(eqn)
        return found

    def equation(self, eqn: Any, original: Any, jaxpr: Any, operands: Sequence[Operand]) -> Equation:
        """Return the one equation that stands for all which do the same to values of the same types.

        `original` is the equation of the program `jaxpr`; `eqn` is the same with folded literals put in. Two are the
        same if primitive, parameters, types, literals and the pattern of repeated operands are.
        """
        slots: dict[Any, int] = {}
        reads = tuple([_operand_key(v, o, slots) for v, o in zip(eqn.invars, operands, strict=True)])
        try:
            key: Any = (eqn.primitive, tuple(eqn.params.items()), reads, tuple([v.aval for v in eqn.outvars]))
            found = self.equations.get(key)
        except TypeError:  # a parameter that cannot be hashed: the same object is the same one
            self.kept.append(original)
            key = (id(original), reads)
            found = self.equations.get(key)
        if found is None:
            found = self.equations[key] = Equation(eqn, jaxpr, self.wide)
        return found


def _operand_key(v: Any, o: Operand, slots: dict[Any, int]) -> tuple[object, Any]:
    """Return what tells an equation's operand from another: its literal or its place among the variables, and its type.

    `slots` numbers the variables of the equation in the order in which they are met.
    """
    if not is_literal(v):
        return slots.setdefault(v, len(slots)), v.aval
    # `_Builder.read` keeps one Literal for each value in Shared.literals, so that equal ones have one id
    return (str(id(o)) if type(o) is Literal else np.asarray(v.val).tobytes()), v.aval
