"""Which values of a graph do not move where they are 0, as the entries of a relu.

A value is asked only where a lemma would ask less because of it (`prove/still.py` says what follows). Of a node it is
shown by the kernel, from its lemma and from what holds of its operands in turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from certgrad.errors import CertgradError
from certgrad.hypotheses.tree import ForAll, Statement, once_or_zero
from certgrad.obligations.generality.decisions import Fixed
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.still import still_outputs
from certgrad.obligations.terms.budget import BudgetError, limited

from ._cases import contrary_cases
from ._operation import Operation, active_shapes, own_table, traced_programs
from ._proof import CASES, Proof, built, of_node, read
from .ir import Ref

if TYPE_CHECKING:
    from ._induction import Induction, Judgement


def is_still(induction: Induction, ref: Ref) -> bool:
    """Each entry of the value that is 0 has the tangent 0, whatever the graph's inputs do, under its hypotheses."""
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


def _output(induction: Induction, judgement: Judgement, still: Collection[int], output: int) -> bool:
    key = id(judgement.instance.proof), judgement.operation.equation, tuple(still)
    found = induction.shared.still.get(key)
    if found is None:
        found = induction.shared.still[key] = judgement, _outputs(judgement, still)
    return output < len(found[1]) and found[1][output]


def _outputs(judgement: Judgement, still: Collection[int]) -> tuple[bool, ...]:
    """Which outputs of an operation are still, given that these operands are: at its own sizes, in each case of them
    that tracing decided away.
    """
    if not judgement.instance.proof.holds:
        return ()
    operation = replace(judgement.operation, signs=judgement.informed)
    table = own_table(operation)
    queue: list[Fixed] = [{}]
    found: list[tuple[bool, ...]] = []
    try:
        while queue and len(found) < CASES:
            case = queue.pop(0)
            setting = of_node(operation, table, case)
            programs = traced_programs(operation, setting.run, setting.shapes)
            more, questions = contrary_cases(programs, case, everything=True)
            if questions:
                return ()
            queue += [one for one in more if one not in queue]
            found.append(_of_programs(operation, programs, judgement.instance.proof, still))
    except (CertgradError, UnprovedError, KeyError, NotImplementedError, TypeError):
        return ()
    return () if queue else tuple(map(all, zip(*found, strict=True)))


def _of_programs(operation: Operation, programs: Programs, proof: Proof, still: Collection[int]) -> tuple[bool, ...]:
    """The same of these programs, under hypotheses that the lemma at the node has as well.

    Where that one says that a maximum is attained once or is 0, its tangent is 0 wherever it is 0 without being
    attained once, and what is left to show is shown where it is attained once.
    """
    sizes = tuple(tuple(v.aval.shape) for v in programs.forward.jaxpr.invars)
    try:
        with limited():
            problem = built(operation, active_shapes(operation, sizes), programs, Reading())
            outcome = prove(problem, "jvp_is_derivative")
            known = {*proof.stated, *map(_once, proof.stated)}
            if not outcome.proved or not known >= read(operation, programs, outcome).keys():
                return ()
            return still_outputs(problem, outcome.hypotheses, still)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return ()


def _once(statement: Statement) -> Statement:
    """That a maximum is attained once, where the statement is that it is, or is 0."""
    if isinstance(statement, ForAll):
        return ForAll(statement.over, _once(statement.holds))
    return once_or_zero(statement) or statement
