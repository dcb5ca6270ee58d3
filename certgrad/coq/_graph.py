"""A certified graph as it is printed: lemmas, nodes with what they read, outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certgrad.language import tree as e
from certgrad.language.tree import Statement
from certgrad.specification import program as p

NODES_PER_LIST = 25
"""Nodes in one list of them."""
Value = tuple[int, int]
"""A node and which of its outputs."""


@dataclass(frozen=True)
class Claim:
    """A node's claim on signs, by names of `proofs/Signs.v`: signs of its operands in slots and of its outputs, and
    whether its hypotheses are still open. Coq proves it.
    """

    knows: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    asks: bool = True


NO_CLAIM = Claim()
"""Nothing."""


@dataclass(frozen=True)
class Argument:
    """An argument of a lemma: `float` if it moves, else `held`, `int` or `bool`."""

    name: str
    dtype: str


@dataclass(frozen=True, eq=False)
class Lemma:
    """A lemma on one operation at symbolic sizes: the traced programs of its rules, and its hypotheses."""

    title: str
    inputs: tuple[Argument, ...]
    programs: Any
    hypotheses: tuple[Statement, ...]
    params: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def arg_names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.inputs)

    @property
    def signature(self) -> Lemma:
        """The signature of the lemma's only case, with its inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Node:
    """A node: one that moves is an input or an instance of a lemma, one that does not a program or an unknown array."""

    text: str
    outputs: tuple[p.Tensor, ...]
    moves: bool
    reads: tuple[Value, ...] = ()
    lemma: Lemma | None = None
    sizes: Mapping[str, e.Node] = field(default_factory=dict)
    """What the lemma's sizes are here."""
    program: Any = None
    claim: Claim = NO_CLAIM
    loop: Loop | None = None
    said: tuple[str, ...] = ()
    """What the whole program calls its outputs; empty if that is not known. Coq proves it."""
    through: tuple[str, ...] = ()
    """What the whole program computes on the way to them."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A certified graph: its sizes, its nodes in order, and those of its outputs that move."""

    name: str
    sizes: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    program: p.Program | None = None
    """The whole program, as the specification reads it. Its inputs are called as `input_name` says, and its outputs are
    those that move."""


def input_name(number: int) -> str:
    """Return the name that the whole program has for the input of this node."""
    return f"x{number}'"


@dataclass(frozen=True, eq=False)
class Loop:
    """A node's loop. Its body takes constants, the carry and a row of each scanned array, and returns the next carry
    and outputs.

    Its first nodes are these inputs.
    """

    body: Graph
    consts: int
    carries: int
    length: e.Node
