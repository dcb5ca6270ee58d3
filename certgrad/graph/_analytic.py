"""Which values of a graph are analytic functions of its inputs: there a boundary is a set of measure zero.

`x ≠ 0` excludes next to nothing where x is an input or a polynomial of inputs, and an open set where x is a relu. So a
hypothesis at a node is marked as negligible only if nothing piecewise stands before the node.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from certgrad.graph._induction import Induction
from certgrad.graph._lemma import Instance, Operation, forward_terms
from certgrad.graph.certificate import Step
from certgrad.graph.ir import Ref
from certgrad.obligations.terms.atoms import Fn, Max
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.predicates import Pred, Side
from certgrad.obligations.terms.walk import deep_atoms

_STEPS = ("floor", "ceil", "round_even", "round_away", "stop")


def with_open_sets(induction: Induction, steps: list[Step]) -> list[Step]:
    """The steps; hypotheses that may fail on an open set are no longer marked as negligible."""
    asking = {step.node for step in steps if any(h.negligible for h in step.hypotheses)}
    if not asking:
        return steps
    analytic = _analytic(induction, asking)
    change = msgspec.structs.replace
    return [
        change(step, hypotheses=[change(h, negligible=False) for h in step.hypotheses])
        if step.node in asking and not (_reads(induction, step.node) <= analytic and _inside(induction, step.node))
        else step
        for step in steps
    ]


def _inside(induction: Induction, node: int) -> bool:
    """All nodes of the graphs inside the node are analytic functions of their operands."""
    return all(
        _is_analytic(inner, one.id, {}) for inner in induction.inside.get(node, ()) for one in inner.traced.nodes
    )


def _reads(induction: Induction, node: int) -> set[int]:
    return {o.node for o in induction.traced.nodes[node].operands if isinstance(o, Ref)}


def _analytic(induction: Induction, asking: Iterable[int]) -> set[int]:
    """Those among the nodes before `asking` whose values are analytic functions of the inputs."""
    live = {parent for node in asking for parent in _reads(induction, node)}
    for node in reversed(induction.traced.nodes):
        if node.id in live:
            live |= _reads(induction, node.id)
    known: dict[int, bool] = {}
    found: set[int] = set()
    for node in induction.traced.nodes:
        if node.id in live and _reads(induction, node.id) <= found and _is_analytic(induction, node.id, known):
            found.add(node.id)
    return found


def _is_analytic(induction: Induction, node: int, known: dict[int, bool]) -> bool:
    """The node is an analytic function of its operands; a node without a judgement computes no real number of one."""
    if not _inside(induction, node):
        return False
    judgement = induction.judged.get(node)
    if judgement is None:
        return True
    key = id(judgement.instance)
    if key not in known:
        known[key] = _of_instance(judgement.operation, judgement.instance)
    return known[key]


def _of_instance(operation: Operation, instance: Instance) -> bool:
    if instance.proof.programs is None:
        return False
    terms = forward_terms(operation, instance.proof.programs)
    if terms is None:
        return False
    atoms = [a for term in terms for a in deep_atoms(term)]
    return not any(isinstance(a, (Pred, Side, Max, Matrix)) or (isinstance(a, Fn) and a.name in _STEPS) for a in atoms)
