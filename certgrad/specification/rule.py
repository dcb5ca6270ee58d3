"""What a rule is: from one equation to the entries of its results.

    @rule("reduce_sum")
    def reduce_sum(call: Call, x: Operand) -> Entries:
        return lambda *index: ...

A rule is given the call (parameters, shapes of the results) and the operands, and returns for each result a function
from the indices of an entry to its expression. It makes bound variables with `call.bound()`, and says nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .expression import Entry, Expression, Index, Sort

Entries = Callable[..., Expression]
"""From the indices of an entry, one an axis, to what the entry is."""


@dataclass(frozen=True)
class Operand:
    """An operand of an equation: its shape and sort, and its entries; `dtype` as JAX has it."""

    shape: tuple[Expression, ...]
    sort: Sort
    dtype: Any
    at: Entries

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Result:
    """A result of an equation: its shape, sort and dtype."""

    shape: tuple[Expression, ...]
    sort: Sort
    dtype: Any


@dataclass
class Call:
    """An equation: its primitive's name, its parameters (sizes in them as expressions), its results."""

    primitive: str
    parameters: dict[str, Any]
    results: Sequence[Result]
    idealised: dict[str, None] = field(default_factory=dict)
    _bound: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    def bound(self) -> str:
        """A new bound variable: k0, k1, …"""
        self._bound += 1
        return f"k{self._bound - 1}"

    def note(self, text: str) -> None:
        """What is read otherwise than floats and machine integers have it."""
        self.idealised.setdefault(text)


Rule = Callable[..., "Entries | Sequence[Entries]"]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register what the named primitives mean."""

    def register(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return register


class UnreadableError(Exception):
    """The specification does not say what the program means. The message is why."""


def variable(name: str) -> Expression:
    return Index(name)


def entry_of(tensor: str, sort: Sort, before: tuple[Expression, ...] = ()) -> Entries:
    """The entries of a named tensor, at the given times."""
    return lambda *index: Entry(tensor, (*before, *index), sort)
