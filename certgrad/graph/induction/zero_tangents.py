"""Values of a graph that have a zero tangent wherever they are 0, such as the entries of a relu.

This is examined only where a lemma's hypotheses would be weaker for it (`prove/zero_tangents.py`). The kernel shows it
for a node from its lemma and from the same property of its operands.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from certgrad.graph.ir import Ref
from certgrad.graph.lemmas.operation import (
    UNTRACEABLE,
    Operation,
    TracedRules,
    active_shapes,
    own_table,
    traced_programs,
)
from certgrad.graph.lemmas.proof import CASES, Proof, built, hypothesis_clauses, of_node
from certgrad.obligations.generality.decisions import Cases
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.zero_tangents import still_outputs
from certgrad.obligations.terms.budget import BudgetError, limited

if TYPE_CHECKING:
    from .induction import Induction
    from .walk import Judgement


def is_still(induction: Induction, ref: Ref) -> bool:
    """Return whether each entry of the value that is 0 has a zero tangent, whatever the graph's inputs, under its
    hypotheses.
    """
    key = ref.node, ref.output
    if key not in induction.moving:
        return True
    found = induction.still.get(key)
    if found is None:
        found = induction.still[key] = _is_still(induction, ref)
    return found


def _is_still(induction: Induction, ref: Ref) -> bool:
    judgement = induction.judged.get(ref.node)
    if judgement is None or ref.node in induction.inside:
        return False
    slots = induction.traced.slots(induction.traced.nodes[ref.node])
    active = judgement.operation.active
    # What is so whatever the operands are needs none of them; what is not so if all are still, is never so.
    if _output(induction, judgement, (), ref.output):
        return True
    return _output(induction, judgement, active, ref.output) and all(is_still(induction, slots[k]) for k in active)


def to_rest(induction: Induction, ref: Ref) -> set[int] | None:
    """Return the nodes that must have a zero tangent at 0 so that the value has; None where that does not help.

    A relu of a masked product has no hypothesis where the mask is 0; so the product is required to be 0 nowhere else.
    """
    judgement = induction.judged.get(ref.node)
    if is_still(induction, ref):
        return set()
    if judgement is None or ref.node in induction.inside:
        return None
    slots = induction.traced.slots(induction.traced.nodes[ref.node])
    active = judgement.operation.active
    if _output(induction, judgement, active, ref.output):
        before = [to_rest(induction, slots[k]) for k in active]
        if all(one is not None for one in before):
            return set().union(*(one for one in before if one is not None))
    resting = replace(judgement, operation=replace(judgement.operation, resting=True))
    return {ref.node} if _output(induction, resting, (), ref.output, beside=True) else None


def _output(
    induction: Induction, judgement: Judgement, still: Collection[int], output: int, beside: bool = False
) -> bool:
    operation = judgement.operation
    key = id(judgement.instance.proof), operation.equation, operation.resting, tuple(still), beside
    found = induction.shared.still.get(key)
    if found is None:
        with induction.shared.lemmas.allowance():
            found = induction.shared.still[key] = judgement, _outputs(judgement, still, beside)
    return output < len(found[1]) and found[1][output]


def _outputs(judgement: Judgement, still: Collection[int], beside: bool = False) -> tuple[bool, ...]:
    """Return, for each output of an operation, whether it has a zero tangent wherever it is 0, given that the operands
    `still` do; () where that is not known.

    It must hold at the node's sizes and in each case of sizes that tracing decided. With `beside`, it may rest on
    hypotheses that the lemma does not have.
    """
    if not judgement.instance.proof.holds:
        return ()
    operation = replace(judgement.operation, signs=judgement.informed)
    table = own_table(operation)
    cases = Cases(everything=True, first=[{}])
    by_case: list[tuple[bool, ...]] = []
    try:
        for case in cases:
            setting = of_node(operation, table, case)
            programs = traced_programs(operation, setting.run, setting.shapes)
            if cases.met(programs, case) or cases.count > CASES:
                return ()
            lemma = None if beside else judgement.instance.proof
            by_case.append(_of_programs(operation, programs, lemma, still))
    except UNTRACEABLE:
        return ()
    return tuple(map(all, zip(*by_case, strict=True))) if all(by_case) else ()


def _of_programs(
    operation: Operation, programs: Programs, lemma: Proof | None, still: Collection[int]
) -> tuple[bool, ...]:
    """Return the same for these programs, under hypotheses of the lemma alone, those included which it leaves out."""
    sizes = tuple(tuple(v.aval.shape) for v in programs.forward.jaxpr.invars)
    try:
        with limited():
            rules = TracedRules(operation, active_shapes(operation, sizes), programs, ())
            problem = built(rules, Reading())
            if lemma is None and not problem.also:
                return ()
            outcome = prove(problem, "jvp_is_derivative")
            if not outcome.proved:
                return ()
            asked = hypothesis_clauses(rules, outcome)
            if lemma is not None and not asked.keys() <= lemma.stated.keys() | lemma.left_out:
                return ()
            return still_outputs(problem, list(asked.values()), still)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return ()
