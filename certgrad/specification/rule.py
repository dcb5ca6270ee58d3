"""What a rule is: from one equation to the entries of its results.

    @rule("reduce_sum")
    def reduce_sum(call: Call, x: Operand) -> Entries:
        return lambda *index: ...

A rule is given the call (parameters, shapes of the results) and the operands, and returns a function from the indices
of an entry to an expression for the entry; for several results, a list of such functions. `call.bound()` names a new
bound variable. A primitive whose results take several definitions (loops, equations, random bits) has a rule that is
`structured`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from certgrad.language.tree import Both, Compare, If, Index, Integer, Node, Sort
from certgrad.process.on_demand import Table

Entries = Callable[..., Node]
"""A function from the indices of an entry, one an axis, to an expression for the entry."""


@dataclass(frozen=True)
class Operand:
    """An operand of an equation, or a result of an earlier one: its shape and sort, and its entries."""

    shape: tuple[Node, ...]
    sort: Sort
    dtype: Any
    at: Entries
    factored: tuple[Operand, int] | None = None
    """For a result of an LU factorisation, the matrix and the number of the result; None for other values."""

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    def beside(self, *index: Node) -> Node:
        """Return the entry that an elementwise primitive takes at this index of its result.

        A scalar is the same at all indices; along an axis of size 1 the entry is at 0.
        """
        return self.at(
            *(ZERO if n == ONE else i for i, n in zip(index[len(index) - self.rank :], self.shape, strict=True))
        )


@dataclass(frozen=True)
class Result:
    """A result of an equation: its shape, sort and dtype."""

    shape: tuple[Node, ...]
    sort: Sort
    dtype: Any


@dataclass
class Call:
    """An equation: its primitive's name, its parameters, its results. `notes` collects idealisations, in words."""

    primitive: str
    parameters: dict[str, Any]
    results: Sequence[Result]
    notes: dict[str, None]
    counter: Iterator[int] = field(default_factory=count)
    """Numbers bound variables; calls whose results become parts of one expression share it."""

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    @property
    def shape(self) -> tuple[Node, ...]:
        """Return the shape of the first result."""
        return self.results[0].shape

    def bound(self) -> str:
        """Return the name of a new bound variable: k0, k1, …"""
        return f"k{next(self.counter)}"

    def note(self, text: str) -> None:
        """Note an idealisation: how the rule's meaning differs from floats and machine integers."""
        self.notes.setdefault(text)


Rule = Callable[..., "Entries | Sequence[Entries]"]
MODULES = (
    "elementwise comparisons shape reductions contractions casts windows cumulative gather_scatter order "
    "control linear_algebra opaque"
)
RULES: Table[Rule] = Table("certgrad.specification.primitives", MODULES)


rule = RULES.adds
"""Decorator that registers a rule for the named primitives."""

Structured = Callable[..., "Sequence[Operand]"]
STRUCTURED: Table[Structured] = Table("certgrad.specification.primitives", MODULES)


structured = STRUCTURED.adds
"""Decorator for a rule of primitives whose results take several definitions: `f(reader, equation, *operands)`."""


class UnreadableError(Exception):
    """The specification does not say what the program means. The message is why."""


# --- words that many rules use ---------------------------------------------------------------------------------------

ZERO, ONE = Integer(0), Integer(1)


def less_than(left: Node, right: Node) -> Node:
    """Return left < right."""
    return Compare("<", left, right)


def at_most(left: Node, right: Node) -> Node:
    """Return left ≤ right."""
    return Compare("<=", left, right)


def equal(left: Node, right: Node) -> Node:
    """Return left = right, for numbers."""
    return Compare("=", left, right)


def in_bounds(index: Node, count: Node) -> Node:
    """Return 0 ≤ index < count."""
    return Both((at_most(ZERO, index), less_than(index, count)))


def clamped(index: Node, greatest: Node) -> Node:
    """Return the index moved into 0 ≤ … ≤ greatest, as JAX does: what is below 0 becomes 0, even if greatest < 0."""
    return If(less_than(index, ZERO), ZERO, If(less_than(greatest, index), greatest, index))


Binder = Callable[[str, Node, Node], Node]


def nested_binders(binder: Binder, variables: Sequence[str], counts: Sequence[Node], body: Node) -> Node:
    """Return a binder, such as a sum, nested over several variables, the first outermost."""
    for name, length in zip(reversed(variables), reversed(counts), strict=True):
        body = binder(name, length, body)
    return body


def indices(names: Sequence[str]) -> list[Node]:
    """Return index nodes of these names."""
    return [Index(name) for name in names]


def product_of(sizes: Sequence[Node]) -> Node:
    """Return the product of sizes; 1 if there are none."""
    total: Node = ONE
    for k, n in enumerate(sizes):
        total = n if k == 0 else total * n
    return total


def row_major(index: Sequence[Node], shape: Sequence[Node]) -> Node:
    """Return the position of an index in row-major order, in which the last axis runs fastest."""
    position: Node = ZERO
    for k, (i, n) in enumerate(zip(index, shape, strict=True)):
        position = i if k == 0 else position * n + i
    return position


def unravelled(position: Node, shape: Sequence[Node]) -> list[Node]:
    """Return the index at a position in row-major order."""
    out = []
    for k, n in enumerate(shape):
        after = product_of(shape[k + 1 :])
        out.append(position // after if k == 0 else position // after % n)
    return out
