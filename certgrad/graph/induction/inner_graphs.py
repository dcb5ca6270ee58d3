"""The graphs inside a node: loops are certified by induction over their steps, a `cond` branch by branch.

The theorem of a `scan`. If every step of the body is certified (its tangents are A·(const, carry, row) and its sweep is
the adjoint of A, at every point that satisfies the body's hypotheses), then running the body's tangents along the loop
gives the loop's derivative, and sweeping the steps in reverse, with the cotangent of the carry handed on, the
cotangents of the constants summed over the steps and those of the rows stacked, is its adjoint, for every length. The
algebra of one more step is proved by the kernel (`theorems`); the length is the induction. The body's
hypotheses have to hold at every step.

The theorem of a `cond`. Where the index, an integer, is locally constant (the node that makes it of a real number says
where), the function is one of its branches near the point, so its derivative is that branch's. The hypotheses of a
branch have to hold where it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certgrad.graph.ir import Kind, Node, Ref
from certgrad.graph.tracing.trace import TracedGraph, moving_values
from certgrad.obligations.tracing.jax_internals import scan_loop, while_loop


@dataclass(frozen=True)
class Part:
    """One graph inside a node."""

    moving: list[bool]
    """Which of its inputs depend on the function's real inputs."""
    names: list[str]
    """The names of its inputs."""


@dataclass(frozen=True)
class Parts:
    """The graphs inside a node, and which outputs of the node move; made from which of its operands move."""

    moved: list[bool]
    """Which of the node's outputs are real and move."""
    read: list[int]
    """The positions of the operands that get cotangents."""
    inside: list[Part]
    where: str
    """Where a graph inside runs, in words that are appended to its hypotheses."""
    refused: str = ""
    """Why the node has no step of the induction; "" where it has one."""


def _moves(traced: TracedGraph, moving: Sequence[bool]) -> list[bool]:
    """Return which outputs of a graph depend on the inputs that move."""
    values = moving_values(traced, moving)
    return [isinstance(o, Ref) and (o.node, o.output) in values for o in traced.ir.outputs]


def _moved_real_outputs(moved: Sequence[bool], node: Node) -> list[bool]:
    return [m and o.real for m, o in zip(moved, node.outputs, strict=True)]


def _scan(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    """Return the body of a scan, whose operands are constants, carries and rows, in this order."""
    loop = scan_loop(traced.equations[node.id].eqn)
    (body,) = traced.bodies[node.id]
    first, last = loop.consts, loop.consts + loop.carries
    names[first:last] = [f"carry of {name}" for name in names[first:last]]
    names[last:] = [f"row of {name}" for name in names[last:]]
    while True:  # a carry moves if it does at the start or after a step: repeat until no step adds one
        moved = _moves(body, moving)
        moving_after = [
            *moving[:first],
            *(a or b for a, b in zip(moving[first:last], moved, strict=False)),
            *moving[last:],
        ]
        if moving_after == moving:
            break
        moving = moving_after
    moved[: loop.carries] = moving[first:last]
    read = [k for k, m in enumerate(moving) if m]
    return Parts(_moved_real_outputs(moved, node), read, [Part(moving, names)], "at every step of the scan")


def _cond(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    """Return the branches of a cond, which take all operands but the first, the index."""
    branches = traced.bodies[node.id]
    moved = [any(by_branch) for by_branch in zip(*(_moves(b, moving[1:]) for b in branches), strict=True)]
    read = [k + 1 for k, m in enumerate(moving[1:]) if m]
    part = Part(moving[1:], names[1:])
    return Parts(_moved_real_outputs(moved, node), read, [part] * len(branches), "where branch {k} is taken")


def _while(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    """Return the test and the body of a while loop; it is refused where an operand moves."""
    loop = while_loop(traced.equations[node.id].eqn)
    constants = loop.test_consts + loop.body_consts
    names[constants:] = [f"carry of {name}" for name in names[constants:]]
    test = [*names[: loop.test_consts], *names[constants:]]
    parts = [Part([False] * len(inputs), inputs) for inputs in (test, names[loop.test_consts :])]
    reason = "JAX has no reverse mode for while_loop. Use scan, or fori_loop with a fixed number of steps"
    refused = reason if any(moving) else ""
    return Parts([False] * len(node.outputs), [], parts, "at every step of the loop", refused)


PARTS: dict[Kind, Callable[[TracedGraph, Node, list[bool], list[str]], Parts]] = {
    "scan": _scan,
    "cond": _cond,
    "while": _while,
}
"""For each kind of node, the function that returns its parts; `moving` and `names` describe the node's operands."""
