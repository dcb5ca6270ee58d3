"""The table of primitive semantics, and what a rule may ask of its context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var

from ..literals import Reading

Params = dict[str, Any]
Rule = Callable[..., list[Tensor]]
"""`(context, parameters, shapes of the results, *operands) -> results`."""

RULES: dict[str, Rule] = {}

Control = Callable[["Context", Any, list[bool], list[Tensor | None]], list[Tensor | None]]
CONTROL: dict[str, Control] = {}
"""Primitives that run inner programs: `(context, equation, which outputs are needed, inputs) -> outputs`."""


class UnprovedError(Exception):
    """The calculus cannot follow the program. The message is the reason that the verdict gives."""


class Context:
    """What the interpretation of one program carries along.

    `facts` hold for every call (constraints on parameters), `reading` says what float literals mean. `notes` collects
    what the certificate must say: idealisations such as a narrowing cast. `stop` keeps `stop_gradient` visible, for
    differentiating a forward. With `opaque`, what cannot be followed is a value of which nothing is known, and recorded
    there (see `_opaque`).
    """

    def __init__(
        self,
        facts: Facts,
        stop: bool = False,
        reading: Reading | None = None,
        opaque: dict[str, Any] | None = None,
    ) -> None:
        self.facts = facts
        self.reading = reading or Reading()
        self.stop = stop
        self.opaque: dict[str, Any] = {} if opaque is None else opaque
        self.everything_followed = opaque is None
        """Whether an equation that cannot be followed ends the interpretation: also inside loops and branches."""
        self.names_tables = opaque is not None
        """Whether a large table may be a value of which nothing is known but its name (`_tables`)."""
        self.notes: dict[str, None] = {}
        self.used_facts: dict[str, None] = {}
        self.primitives: dict[str, None] = {}
        self.known: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        """What equations gave, by what they do and to which values, with these values (see `_interpreter`)."""
        self.untouched: dict[int, Tensor] = {}
        """Inputs, constants and what has their entries elsewhere, by object: the floats are those of the term."""
        self.arrays: dict[int, tuple[Tensor, Any]] = {}
        """Constant arrays of programs, by the objects that they are as tensors, with these."""
        self.integers: dict[int, tuple[Tensor, Any]] = {}
        """Integers whose values are known, by the objects that they are as tensors, with these (`_known_integers`)."""
        self.tests: dict[Var, Poly] = {}
        """For each loop that ends by its values, the variable that numbers its steps, and its test as 0 or 1."""
        self.ranges: dict[Var, Poly] = {}
        """How far the variables run that number the steps of loops."""
        self.wrapped: dict[int, tuple[Tensor, Ix]] = {}
        """Sums of an index and a size of which it is not said that they fit, by object, with the index (`_fits`)."""
        self.in_range: dict[Clause, None] = {}
        """What says of indices that are clamped that they need not be, as it is asked of those that are not."""
        self.dtypes: tuple[Any, ...] = ()
        """The operands' types in the equation that is being read."""

    def note(self, text: str) -> None:
        self.notes.setdefault(text)


LIBRARY: dict[str, tuple[Callable[[Any], bool], Rule]] = {}
"""Functions of JAX's library that are recognised by their program and have semantics of their own."""


def library(name: str, recognised: Callable[[Any], bool]) -> Callable[[Rule], Rule]:
    """Register the semantics of a library function; `recognised` says whether an equation is a call of it."""

    def register(f: Rule) -> Rule:
        LIBRARY[name] = recognised, f
        return f

    return register


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the semantics of the named primitives: `(context, params, output shapes, *inputs) -> outputs`."""

    def register(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return register


def control(name: str) -> Callable[[Control], Control]:
    """Register the semantics of a primitive that runs inner programs."""

    def register(f: Control) -> Control:
        CONTROL[name] = f
        return f

    return register
