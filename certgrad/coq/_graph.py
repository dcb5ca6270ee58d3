"""A certified graph as data for the printer: lemmas, nodes with the values that they read, outputs.

A value "moves" if it has a tangent: it is a float that depends on an input which is differentiated. Masks, integers and
constants do not move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certgrad.language import tree as e
from certgrad.language.tree import Statement
from certgrad.specification import program as p

NODES_PER_LIST = 25
"""Nodes in one printed list; a graph has several lists, as one long one would be slow in Coq."""
Value = tuple[int, int]
"""A value of a graph: the number of its node, and which of the node's outputs it is."""


@dataclass(frozen=True)
class Claim:
    """A node's claim on signs, which Coq proves; signs are names of `proofs/Signs.v`.

    If the operands that move have the signs `knows`, its outputs have the signs `tells`. `asks` says whether hypotheses
    of its lemma are still open.
    """

    knows: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    asks: bool = True


NO_CLAIM = Claim()
"""The claim of a node that says nothing of signs."""


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
        """The lemma itself, which has what is read of a signature: its inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a graph.

    One that moves is an input, an instance of a lemma, or a loop. One that does not is a program of the specification,
    or an array of which nothing is known.
    """

    text: str
    outputs: tuple[p.Tensor, ...]
    moves: bool
    reads: tuple[Value, ...] = ()
    lemma: Lemma | None = None
    sizes: Mapping[str, e.Node] = field(default_factory=dict)
    """The lemma's sizes, by name, as expressions in those of the graph."""
    program: Any = None
    claim: Claim = NO_CLAIM
    loop: Loop | None = None
    said: tuple[str, ...] = ()
    """The names of the node's outputs in the whole program; empty if they are not known. Coq proves the equality."""
    through: tuple[str, ...] = ()
    """The names of the values that the whole program computes on the way to these outputs."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A certified graph: its sizes, its nodes in order, and those of its outputs that move."""

    name: str
    sizes: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    program: p.Program | None = None
    """The whole program, as the specification reads it, or None. Its inputs have the names of `input_name`; its outputs
    are those that move."""


def input_name(number: int) -> str:
    """Return the name that the input node with this number has in the whole program."""
    return f"x{number}'"


@dataclass(frozen=True, eq=False)
class Loop:
    """The loop of a node, a scan.

    Its body takes `consts` constants, `carries` carried values and a row of each scanned array, which are its first
    nodes, and returns the next carry and the outputs of the step. `length` is the number of steps.
    """

    body: Graph
    consts: int
    carries: int
    length: e.Node
