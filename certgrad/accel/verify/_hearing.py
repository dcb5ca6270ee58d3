"""The questions of a graph's code about sizes and state, and a comparison of calls with the trace, as in certifying."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from certgrad.accel.verify._steps import Walk
from certgrad.graph.certificate import GraphCertificate
from certgrad.graph.certifying.certify import CERTIFIED_TOO
from certgrad.graph.induction.induction import in_names_of_node, in_rule_of
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.ir import Node
from certgrad.graph.lemmas.operation import own_table
from certgrad.graph.lemmas.proof import of_node, runs_as
from certgrad.graph.tracing.cases import case_text, other_programs
from certgrad.graph.tracing.subject import measured, unlike_its_graph
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.obligations.generality.decisions import Cases, Fixed, Sample


class NotHeardError(Exception):
    """The error where the certificate says that another program runs at some sizes: this check does not look at it."""


def problems(walk: Walk, certificate: GraphCertificate) -> Iterator[str]:
    """Yield the code's questions about sizes, and its state, that the certificate does not account for.

    Raises NotHeardError where there are none, but the certificate says that another program runs at some sizes.
    """
    contradictions = [*unsaid(walk.traced, certificate.dimensions, certificate.assumptions)]
    unheard: list[str] = []
    for node, judgement in _judged(walk):
        unheard += _of_rule(node, judgement, certificate.dimensions)
    if not contradictions and certificate.measured and (difference := measured(walk.traced).difference) is not None:
        contradictions.append(f"what runs is not what was traced: {difference.reason}")
    yield from contradictions
    unheard += [note for note in certificate.assumptions if note.endswith(CERTIFIED_TOO.partition("{}")[2])]
    if unheard and not contradictions:
        raise NotHeardError(unheard[0])


def unsaid(traced: TracedGraph, dimensions: Collection[str], assumptions: Collection[str]) -> Iterator[str]:
    """Yield the function's own questions about sizes, and its state, that its certificate does not account for."""
    for case in other_programs(traced):
        if case.graph is not None and (case.same or not case.asked):
            continue  # questions of JAX alone, as in every broadcast: the certificate need not name them
        excluded = any(text.startswith(f"not {case}: ") for text in dimensions)
        if not excluded and (isinstance(case.fixed, Sample) or CERTIFIED_TOO.format(case) not in assumptions):
            yield f"where {case}, the function is another program, and the certificate says nothing of that"
    if why := unlike_its_graph(traced):
        yield why


def _judged(walk: Walk) -> Iterator[tuple[Node, Judgement]]:
    """Yield the nodes that have a lemma, those inside loops and branches as well."""
    for number, judgement in walk.judged.items():
        yield walk.traced.nodes[number], judgement
    for inner in walk.inside.values():
        for inner_walk in inner:
            yield from _judged(inner_walk)


def _of_rule(node: Node, judgement: Judgement, dimensions: list[str]) -> Iterator[str]:
    """Yield the sizes at which a node's rule may be another program, and which the certificate does not exclude."""
    general = judgement.instance.proof.programs
    if general is None:
        return
    cases = Cases(everything=False)
    questions = cases.met(general, {})
    for case, text in [*((c, case_text(c)) for c in cases.asked), *((Fixed(), q) for q in questions)]:
        condition = in_names_of_node(f"not {text}", {m: str(s) for m, s in judgement.instance.sizes.items()})
        if not condition or f"{condition} {in_rule_of(node)}" in dimensions or (case and _is_general(judgement, case)):
            continue
        yield f"where {condition.removeprefix('not ')} {in_rule_of(node)}, the rule is another program than its lemma's"


def _is_general(judgement: Judgement, case: Fixed) -> bool:
    """Return whether the rule's program at these sizes is the general one, whose sizes are the node's own."""
    operation, general = judgement.operation, judgement.instance.proof.programs
    table = own_table(operation)  # to the lemma's names
    if general is None or {*judgement.instance.sizes} != {*table.values()}:
        return False
    return runs_as(general, operation, of_node(operation, table, case), case)
