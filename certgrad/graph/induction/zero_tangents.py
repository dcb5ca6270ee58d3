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
    still = induction.still.get(key)
    if still is None:
        still = induction.still[key] = _is_still(induction, ref)
    return still


def _is_still(induction: Induction, ref: Ref) -> bool:
    """Return whether the value has a zero tangent wherever it is 0, by the lemma of its node alone or because the
    node's moving operands have such tangents too.
    """
    judgement = induction.judged.get(ref.node)
    if judgement is None or ref.node in induction.inside:
        return False
    slots = induction.traced.slots(induction.traced.nodes[ref.node])
    active = judgement.operation.active
    # First for any operands; else with the property required of all of them, which is the most they can give.
    if _output(induction, judgement, (), ref.output):
        return True
    return _output(induction, judgement, active, ref.output) and all(is_still(induction, slots[k]) for k in active)


def to_rest(induction: Induction, ref: Ref) -> set[int] | None:
    """Return the nodes that must have a zero tangent where they are 0 so that the value has one where it is 0.

    None where no such requirement helps; the empty set where the value has a zero tangent there already. A relu of a
    masked product has no hypothesis where the mask is 0; so the product is required to be 0 nowhere else.
    """
    judgement = induction.judged.get(ref.node)
    if is_still(induction, ref):
        return set()
    if judgement is None or ref.node in induction.inside:
        return None
    slots = induction.traced.slots(induction.traced.nodes[ref.node])
    active = judgement.operation.active
    if _output(induction, judgement, active, ref.output):
        by_operand = [to_rest(induction, slots[k]) for k in active]
        if all(nodes is not None for nodes in by_operand):
            return set().union(*(nodes for nodes in by_operand if nodes is not None))
    resting = replace(judgement, operation=replace(judgement.operation, resting=True))
    return {ref.node} if _output(induction, resting, (), ref.output, beside=True) else None


def _output(
    induction: Induction, judgement: Judgement, still: Collection[int], output: int, beside: bool = False
) -> bool:
    """Return whether this output of a judged operation has a zero tangent wherever it is 0 (`_outputs`, remembered)."""
    operation = judgement.operation
    # The judgement is kept beside the result: it keeps the proof alive, whose id is in the key.
    key = id(judgement.instance.proof), operation.equation, operation.resting, tuple(still), beside
    remembered = induction.shared.still.get(key)
    if remembered is None:
        with induction.shared.lemmas.allowance():
            remembered = induction.shared.still[key] = judgement, _outputs(judgement, still, beside)
    return output < len(remembered[1]) and remembered[1][output]


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
    """Return, for each output of these programs, whether it has a zero tangent wherever it is 0; () if not known.

    With a `lemma` the proof may use the lemma's hypotheses alone, those included which it leaves out of its statement;
    with None it may use any.
    """
    sizes = tuple(tuple(v.aval.shape) for v in programs.forward.jaxpr.invars)
    try:
        with limited():
            rules = TracedRules(operation, active_shapes(operation, sizes), programs, ())
            problem = built(rules, Reading())
            if lemma is None and not problem.also:  # there is no condition under which the result would rest
                return ()
            outcome = prove(problem, "jvp_is_derivative")
            if not outcome.proved:
                return ()
            clauses = hypothesis_clauses(rules, outcome)
            if lemma is not None and not clauses.keys() <= lemma.stated.keys() | lemma.left_out:
                return ()
            return still_outputs(problem, list(clauses.values()), still)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return ()
