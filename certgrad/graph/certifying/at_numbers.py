"""Whether rules at sizes that are numbers run the lemmas' programs with these sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.lemmas.proof import Setting, runs_as
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.signatures.sizes import Size


def rules_are_those_of_lemmas(induction: Induction, other: TracedGraph, fixed: Mapping[str, Size]) -> bool:
    """Return whether the rules of every node of `other`, the same graph at the sizes `fixed`, are those of the lemmas.

    If they trace to the lemmas' programs, the lemmas, which hold at all sizes, are about the rules that run. False
    where this cannot be seen.
    """
    nodes = induction.traced.nodes
    if [(n.kind, n.name) for n in nodes] != [(n.kind, n.name) for n in other.nodes]:
        return False  # also where this graph has a region: the other graph has none
    for node in nodes:
        judgement = induction.judged.get(node.id)
        if judgement is not None and judgement.operation.equation.holds_program:
            if not _runs_same_programs(judgement, other.equations[node.id], fixed):
                return False
        inside, bodies = induction.inside.get(node.id, []), other.bodies.get(node.id, [])
        if len(inside) != len(bodies):
            return False
        if not all(rules_are_those_of_lemmas(*pair, fixed) for pair in zip(inside, bodies, strict=True)):
            return False
    return True


def _runs_same_programs(judgement: Judgement, equation: Equation, fixed: Mapping[str, Size]) -> bool:
    """Return whether a node's equation at numbers has the rules of its lemma; False where a size is not in `fixed`."""
    operation, instance = judgement.operation, judgement.instance
    programs = instance.proof.programs
    sizes = {mine: fixed.get(str(size)) for mine, size in instance.sizes.items()}
    known_sizes = {mine: size for mine, size in sizes.items() if size is not None}
    if programs is None or len(known_sizes) < len(sizes):
        return False
    shapes = tuple(tuple(v.aval.shape) for v in equation.variables)
    return runs_as(programs, replace(operation, equation=equation), Setting(equation.run, shapes, ()), known_sizes)
