"""Steps of nodes that hold graphs: loops by induction over their steps, `cond` branch by branch.

The theorem of a `scan`. If every step of the body is certified (its tangents are A·(const, carry, row) and its sweep is
the adjoint of A, at every point that satisfies the body's hypotheses), then running the body's tangents along the loop
gives the loop's derivative, and sweeping the steps in reverse, with the cotangent of the carry handed on, the
cotangents of the constants summed over the steps and those of the rows stacked, is its adjoint, for every length. The
algebra of one more step is proved by the kernel (`_theorems`); the length is the induction. The hypotheses of the body
are asked at every step.

The theorem of a `cond`. Where the index, an integer, is locally constant (the node that makes it of a real number says
where), the function is one of its branches near the point, so its derivative is that branch's. The hypotheses of a
branch are asked where it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import msgspec

from certgrad.graph import _bounds
from certgrad.graph._induction import NO_NUMBER, Induction, as_inside, no_number
from certgrad.graph._trace import TracedGraph, moving_values
from certgrad.graph.certificate import NodeHypothesis, Step
from certgrad.graph.ir import Node, Operand, Ref
from certgrad.obligations.assume.signs import ANY
from certgrad.obligations.certificate import HOLDS, VerdictName, worst
from certgrad.obligations.tracing.jax_internals import scan_loop, while_loop

ROUNDS = 3
"""How often the signs of a loop's carries are looked for; then nothing is said of them."""


def step_inside(induction: Induction, node: Node) -> Step:
    """The step of a `scan`, a `cond` or a `while`."""
    if node.kind == "scan":
        return _scan(induction, node)
    return _cond(induction, node) if node.kind == "cond" else _while(induction, node)


def moves(traced: TracedGraph, moving: Sequence[bool]) -> list[bool]:
    """Which outputs of a graph depend on the inputs that move."""
    values = moving_values(traced, moving)
    return [isinstance(o, Ref) and (o.node, o.output) in values for o in traced.ir.outputs]


def _given(induction: Induction, operands: Sequence[Operand]) -> tuple[list[bool], list[int], list[str]]:
    """What is known of operands: whether they move, their signs, and what they are called."""
    return (
        [induction.is_moving(o) for o in operands],
        [induction.sign(o) for o in operands],
        [induction.expressions.of(o) for o in operands],
    )


def _body(
    induction: Induction, node: Node, k: int, moving: Sequence[bool], signs: Sequence[int], names: Sequence[str]
) -> Induction:
    """The induction over one of the graphs inside a node."""
    return Induction(
        induction.traced.bodies[node.id][k],
        induction.shared,
        dict(enumerate(moving)),
        dict(enumerate(signs)),
        dict(enumerate(names)),
        (*induction.place, (node.id, k)),
        induction.values.inside(node, k),
    ).run()


def _output_signs(inner: Induction) -> list[int]:
    return [inner.sign(o) for o in inner.traced.ir.outputs]


def _scan(induction: Induction, node: Node) -> Step:
    loop = scan_loop(induction.traced.equations[node.id].eqn)
    (body,) = induction.traced.bodies[node.id]
    moving, signs, names = _given(induction, node.operands)
    first, last = loop.consts, loop.consts + loop.carries
    names[first:last] = [f"carry of {name}" for name in names[first:last]]
    names[last:] = [f"row of {name}" for name in names[last:]]
    while True:  # a carry moves as soon as one step makes it move
        found = moves(body, moving)[: loop.carries]
        more = [*moving[:first], *(a or b for a, b in zip(moving[first:last], found, strict=True)), *moving[last:]]
        if more == moving:
            break
        moving = more
    for attempt in range(ROUNDS + 1):
        if attempt == ROUNDS:
            signs[first:last] = [ANY] * loop.carries
        inner = _body(induction, node, 0, moving, signs, names)
        joined = [_bounds.joined(a, b) for a, b in zip(signs[first:last], _output_signs(inner), strict=False)]
        if joined == signs[first:last]:
            break
        signs[first:last] = joined
    rows = _output_signs(inner)[loop.carries :]
    for k, sign in enumerate([*signs[first:last], *rows]):  # what is joined holds of a loop without steps, too
        induction.signs[node.id, k] = sign
    moved = moves(body, moving)
    moved[: loop.carries] = moving[first:last]
    real = [m and o.real for m, o in zip(moved, node.outputs, strict=True)]
    return _taken(induction, node, [inner], real, [(m, k) for k, m in enumerate(moving)], "at every step of the scan")


def _cond(induction: Induction, node: Node) -> Step:
    moving, signs, names = _given(induction, node.operands[1:])
    branches = induction.traced.bodies[node.id]
    inner = [_body(induction, node, k, moving, signs, names) for k in range(len(branches))]
    for k in range(len(node.outputs)):
        signs_there = [one.sign(one.traced.ir.outputs[k]) for one in inner]
        induction.signs[node.id, k] = reduce(_bounds.joined, signs_there)
    moved = [any(found) for found in zip(*(moves(b, moving) for b in branches), strict=True)]
    real = [m and o.real for m, o in zip(moved, node.outputs, strict=True)]
    return _taken(induction, node, inner, real, [(m, k + 1) for k, m in enumerate(moving)], "where branch {k} is taken")


def _while(induction: Induction, node: Node) -> Step:
    loop = while_loop(induction.traced.equations[node.id].eqn)
    moving, _, names = _given(induction, node.operands)
    constants = loop.test_consts + loop.body_consts
    names[constants:] = [f"carry of {name}" for name in names[constants:]]
    if any(moving):
        reason = "JAX has no reverse mode for while_loop. Use scan, or fori_loop with a fixed number of steps"
        induction.moving.update((node.id, k) for k, o in enumerate(node.outputs) if o.real)
        return induction.plain(node, "moving", node.name, verdict="unproved", reason=reason)
    kept = [*range(loop.test_consts), *range(constants, len(names))]
    parts = [
        _body(induction, node, 0, [False] * len(kept), [ANY] * len(kept), [names[k] for k in kept]),
        _body(
            induction,
            node,
            1,
            [False] * (len(names) - loop.test_consts),
            [ANY] * (len(names) - loop.test_consts),
            names[loop.test_consts :],
        ),
    ]
    return _taken(induction, node, parts, [False] * len(node.outputs), [], "at every step of the loop")


def _taken(
    induction: Induction,
    node: Node,
    inner: list[Induction],
    real: list[bool],
    operands: list[tuple[bool, int]],
    where: str,
) -> Step:
    """The step of a node whose graphs have been certified: what they need is asked `where` they run."""
    induction.inside[node.id] = inner
    induction.moving.update((node.id, k) for k, m in enumerate(real) if m)
    for moving, k in operands:
        operand = node.operands[k]
        if moving and induction.is_moving(operand) and isinstance(operand, Ref):
            induction.consumers.setdefault((operand.node, operand.output), []).append(f"%{node.id} (operand {k})")
    hypotheses: list[NodeHypothesis] = []
    for k, one in enumerate(inner):
        for h in (h for s in one.steps for h in s.hypotheses):
            text = f"{h.text}, {where.format(k=k)}"
            hypotheses.append(msgspec.structs.replace(h, node=node.id, text=text))
        induction.asked += one.asked
        induction.dimensions += one.dimensions
        induction.cases += one.cases
    failing = next((s for one in inner for s in one.steps if s.verdict not in HOLDS), None)
    verdict: VerdictName = worst(["proved", *(s.verdict for one in inner for s in one.steps)])
    if verdict in HOLDS:
        verdict = HOLDS[bool(hypotheses)]
    reason = ""
    if failing is not None:
        reason = f"inside, {failing.operation} at {failing.source or f'%{failing.node}'}: {failing.reason}"
    elif any(map(no_number, (*node.operands, *(o for one in inner for o in one.traced.ir.outputs)))):
        verdict, reason = "unproved", f"it starts with, or a graph inside returns, {NO_NUMBER}"
    names = [b.ir.name for b in induction.traced.bodies[node.id]]
    return induction.plain(
        node,
        "moving" if any(real) else "constant",
        node.name,
        verdict=verdict,
        hypotheses=hypotheses,
        reason=reason,
        inside=[as_inside(name, one) for name, one in zip(names, inner, strict=True)],
    )
