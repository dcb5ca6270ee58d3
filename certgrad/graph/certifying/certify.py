"""Certifying a graph: induction over its nodes, each step the instance of a lemma."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from certgrad.errors import TraceError
from certgrad.graph.certificate import FORMAT, GraphCertificate, Lemma, Step, pieces, sealed
from certgrad.graph.certifying.at_arrays import at_arrays
from certgrad.graph.certifying.at_numbers import rules_are_those_of_lemmas
from certgrad.graph.certifying.look import defects
from certgrad.graph.certifying.negligible import with_open_sets
from certgrad.graph.certifying.own_witness import NO_POINT_FOUND, OwnWitness, at_witness, own_witness, refuted_kinds
from certgrad.graph.certifying.restricted_domain import again_where_right, conditions_text
from certgrad.graph.induction.comparisons import joins_comparisons, with_comparisons
from certgrad.graph.induction.conclusions import ASSUMPTIONS, DRAWS_ARE_FIXED, conclusions
from certgrad.graph.induction.induction import Induction, Shared
from certgrad.graph.induction.regions import with_regions
from certgrad.graph.induction.theorems import theorems
from certgrad.graph.induction.walk import NO_NUMBER, no_number
from certgrad.graph.ir import Node
from certgrad.graph.lemmas.lemma import Lemmas
from certgrad.graph.points.run import Place
from certgrad.graph.points.satisfiable import PointSearch, satisfiable
from certgrad.graph.tracing.cases import CASES, Case, Key, asked_by_rules, at_numbers, other_programs
from certgrad.graph.tracing.jaxpr import bytes_of
from certgrad.graph.tracing.subject import measured, rules_of_users, unlike_its_graph
from certgrad.graph.tracing.trace import TracedGraph, equations_in, nodes_of
from certgrad.graph.tracing.values import Values
from certgrad.language.sizes import at_sizes
from certgrad.obligations.certificate import KERNEL, PROOFS, PROVED_AS_WRITTEN, VerdictName, holding, worst
from certgrad.obligations.conformance import Conformance
from certgrad.obligations.generality.decisions import UNANSWERABLE, Fixed, Sample, rendering
from certgrad.obligations.generality.reach import reachable_from
from certgrad.obligations.tracing.jax_dimensions import sizes_as_integers
from certgrad.obligations.tracing.jax_internals import versions
from certgrad.process.threads import without_collection
from certgrad.signatures.sizes import Size

LARGE = ". Each takes long at these sizes: with the batch left open, as in `n 3 64 64`, more are tried"
CERTIFIED_TOO = "Where {}, the function is another program than this graph. That one was certified too."
RULE_CERTIFIED_TOO = "Where {}, a rule is another program than in this graph. That one was certified too."


@dataclass
class Certification:
    """A certificate with the proofs behind it: what compiled execution is built from."""

    traced: TracedGraph
    """The graph whose nodes the certificate speaks of: some operations may stand in one region."""
    certificate: GraphCertificate
    induction: Induction
    elsewhere: OwnWitness | None = None
    """What refutes the graph at sizes at which it or its rules are others."""


def certify(traced: TracedGraph, *, seconds: float | None = None) -> GraphCertificate:
    """The certificate of a graph. A node that is not proved is a finding, and everything else is still reported.

    Args:
        traced: the graph, as `certgrad.trace` makes it.
        seconds: of processor time, 20 if None: each lemma has half of them, and so have those together that come to no
            proof. What is not decided then is `unproved`, with that reason. What a graph takes beside its lemmas, which
            grows with its nodes, is not counted.

    Raises TraceError where the graph is not well formed.
    """
    return certification(traced, seconds=seconds).certificate


def certification(
    traced: TracedGraph, compare: bool = True, shared: Shared | None = None, seconds: float | None = None
) -> Certification:
    """`certify`, with the proofs that stand behind the certificate.

    With `compare`, what runs is compared with what was traced. Of the library's own ops nothing does that yet. `shared`
    are the lemmas of another graph of the same function, with what is left of its budget.
    """
    with without_collection(), sizes_as_integers(reachable_from([traced.fn])):
        return _certification(traced, compare, Shared(Lemmas(seconds)) if shared is None else shared)


def _certification(traced: TracedGraph, compare: bool, shared: Shared) -> Certification:
    if problem := traced.check() or traced.changed():
        raise TraceError(f"The graph of {traced.ir.name} is not well formed: {problem}. Trace the function again.")
    induction, looked = _run_induction(traced, shared)
    elsewhere = _elsewhere(induction)
    certificate = _certificate(induction, compare, looked, elsewhere)
    return Certification(induction.traced, certificate, induction, elsewhere.refuted)


def _run_induction(traced: TracedGraph, shared: Shared) -> tuple[Induction, PointSearch | None]:
    """The induction over the graph with regions, and what came of the search for a point."""
    induction = Induction(_well_formed(traced, with_regions(traced, shared)), shared).run()
    looked = _looked_for(induction)
    if looked is not None and looked.found == "none":
        whole = with_comparisons(traced, induction, looked.never)
        if whole is not None:
            again = Induction(_well_formed(traced, whole), shared).run()
            there = _looked_for(again)
            if there is not None and there.found != "none":
                return again, there
    return induction, looked


def _well_formed(traced: TracedGraph, joined: TracedGraph) -> TracedGraph:
    if joined is not traced and (problem := joined.check()):
        raise TraceError(f"The graph of {traced.ir.name} with regions is not well formed: {problem}.")
    return joined


def _looked_for(induction: Induction) -> PointSearch | None:
    """Return the result of the search for a point inside the hypotheses; None where a step is not proved."""
    if not all(s.verdict in PROOFS for s in induction.steps):
        return None
    return satisfiable(induction.traced, induction.asked)


def _certificate(
    induction: Induction, compare: bool, looked: PointSearch | None, there: Elsewhere, outside: bool = True
) -> GraphCertificate:
    """Return the certificate of a graph. With `outside`, rules are looked at where the hypotheses do not hold as well.

    The verdict is the worst of the steps, the theorems on sweeps, and "unproved" if something is unanswered: at other
    sizes, in a comparison of what runs (with `compare`), for outputs that are no numbers. A refuted step refutes the
    graph only with a witness of the whole graph, or at other sizes. A proof needs a point that satisfies the
    hypotheses.
    """
    traced, graph, shared = induction.traced, induction.traced.ir, induction.shared
    steps = induction.steps = with_open_sets(induction, _with_cotangents(induction))
    hypotheses = [h for s in steps for h in s.hypotheses]
    dimensions, unanswered = [*induction.dimensions, *there.asked], list(there.findings)
    if all(s.verdict in PROOFS for s in steps):
        size_conditions, failures = _at_numbers(induction, outside)
        dimensions, unanswered = dimensions + size_conditions, unanswered + failures
        unanswered += filter(None, [unlike_its_graph(traced)])
    compare = compare and not unanswered and all(s.verdict in PROOFS for s in steps)
    seen = measured(traced) if compare else Conformance(())
    if seen.difference is not None:
        unanswered.append(f"what runs is not what was traced: {seen.difference.reason}")
    dimensions = sorted(dict.fromkeys(dimensions))
    findings = [_finding(graph.nodes[s.node], s, shared.used) for s in steps if s.verdict not in PROVED_AS_WRITTEN]
    unanswered += [f"output {k} is {NO_NUMBER}" for k, o in enumerate(graph.outputs) if no_number(o)]
    findings += unanswered
    laws = theorems(kinds_of(traced))
    findings += [f"the theorem on {law.name} is unproved" for law in laws if law.verdict != "proved"]
    of_questions: VerdictName = "unproved" if unanswered else "proved"
    verdict = worst([*(s.verdict for s in steps), *(law.verdict for law in laws), of_questions])
    if verdict == "refuted" and (restricted := again_where_right(induction)) is not None:
        again, nodes = restricted
        if _certificate(again, compare, _looked_for(again), _elsewhere(again), outside=False).verdict in PROOFS:
            findings.append(conditions_text(again, nodes))
    if verdict == "refuted":
        witness = own_witness(induction, refuted_kinds(steps, shared.used))
        verdict = "unproved" if witness is None else verdict
        findings.append(
            NO_POINT_FOUND if witness is None else f"the graph is refuted: {witness} ({at_witness(witness.witness)})"
        )
    if verdict == "surrogate" and shared.lemmas.not_begun:
        verdict = "unproved"  # beside what was not begun, nothing might be stopped
        findings.append(shared.lemmas.not_begun)
    if there.refuted is not None:
        verdict = "refuted"
    assumptions = [*ASSUMPTIONS, *there.others]
    if verdict in PROOFS:
        assert looked is not None
        if (unsatisfied := _unsatisfied(looked)) is not None:
            verdict = "unproved"
            findings.append(unsatisfied)
        elif looked.found == "in floats":
            assumptions.append(
                "That some point satisfies all hypotheses was seen in float64, not proved: at these sizes rigorous "
                "arithmetic takes too long."
            )
    if verdict in PROVED_AS_WRITTEN:
        verdict = holding(hypotheses or dimensions)
    arrays = traced.specs.arrays if hypotheses and verdict in PROOFS else None
    lemmas = sorted(shared.used.values(), key=lambda one: (one.name, one.signature, one.digest))
    certificate = GraphCertificate(
        format=FORMAT,
        graph=graph,
        verdict=verdict,
        conclusions=conclusions(graph, verdict in PROOFS),
        hypotheses=hypotheses,
        dimensions=dimensions,
        lemmas=lemmas,
        theorems=laws,
        steps=steps,
        findings=findings,
        assumptions=[
            *assumptions,
            *([DRAWS_ARE_FIXED] if "draw" in kinds_of(traced) else []),
            *([f"This is of {seen.only}."] if seen.only else []),
            *sorted({f"In {one.name}, {note}." for one in lemmas for note in one.idealisations}),
        ],
        digest=digest(traced, steps, [t.digest for t in laws]),
        versions=installed(),
        measured=list(seen.compared),
        traced_in=traced_in(traced),
        at_arrays=[] if arrays is None else at_arrays(induction, arrays),
    )
    return sealed(certificate)


def _unsatisfied(looked: PointSearch) -> str | None:
    """Return the finding that no point was found which satisfies all hypotheses; None if one was."""
    if looked.found != "none":
        return None
    return (
        f"{looked.tried} points were tried, and none was found that satisfies all hypotheses: "
        f"nothing shows that they can hold together{LARGE if looked.cut_short else ''}"
    )


def installed() -> dict[str, str]:
    """Return the versions of libraries and kernel that a certificate made now rests on."""
    return {**versions(), "kernel": KERNEL}


def traced_in(traced: TracedGraph) -> str:
    """Return, as text, the dtypes of the program's floats and whether JAX had 64-bit numbers."""
    reals = dtypes_of(traced) or ["no floats"]
    return f"{', '.join(reals)}, {'with' if traced.specs.wide else 'without'} 64-bit numbers"


def dtypes_of(traced: TracedGraph) -> list[str]:
    """Return the dtypes of the program's floats, in order of their names."""
    alone = (n.outputs for n in nodes_of(traced) if n.kind in ("input", "constant"))
    outputs = [*alone, *(equation.output_types for equation in equations_in(traced))]
    return sorted({o.dtype for row in outputs for o in row if o.real})


def digest(traced: TracedGraph, steps: list[Step], laws: list[str]) -> str:
    """Return a digest of all that the certificate rests on: the graph with its constants, the lemma of each step, the
    theorems.
    """
    found = hashlib.blake2b(digest_size=32)
    lemmas = [s.lemma if not s.inside else [s.lemma, *_inner_lemmas(s)] for s in steps]
    for piece in chain(pieces(traced.ir), pieces(lemmas)):
        found.update(piece)
    _add_constants(found, traced)
    for law in laws:
        found.update(law.encode())
    return found.hexdigest()


def kinds_of(traced: TracedGraph) -> set[str]:
    """Return the kinds of nodes in a graph and in the graphs inside it."""
    inner = (kind for bodies in traced.bodies.values() for body in bodies for kind in kinds_of(body))
    return {*(n.kind for n in traced.nodes), *inner}


def _inner_lemmas(step: Step) -> list[str]:
    return [text for part in step.inside for s in part.steps for text in (s.lemma, *_inner_lemmas(s))]


def _add_constants(found: object, traced: TracedGraph) -> None:
    for node, value in sorted(traced.constants.items()):
        dtype, shape, contents = bytes_of(value)
        found.update(f"{node} {dtype} {shape}".encode())  # type: ignore[attr-defined]
        found.update(contents)  # type: ignore[attr-defined]
    for bodies in traced.bodies.values():
        for body in bodies:
            _add_constants(found, body)


def _with_cotangents(induction: Induction) -> list[Step]:
    """Return the steps, each with the nodes from which the cotangents of its moving outputs come."""
    pairs = zip(induction.steps, induction.cotangents(), strict=True)
    return [msgspec.structs.replace(step, cotangents=found) if found else step for step, found in pairs]


@dataclass
class Elsewhere:
    """The results at sizes at which the function, or one of its rules, is another program.

    Such a program is certified too, or the sizes are excluded, or a finding says that a question cannot be answered.
    """

    asked: list[str] = field(default_factory=list)
    """Hypotheses: on the sizes, and those of the programs there."""
    findings: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """What to say of sizes whose program is another one, and certified."""
    refuted: OwnWitness | None = None


def _elsewhere(induction: Induction) -> Elsewhere:
    """Certify the graph's other programs, at other sizes, where possible; a witness against one refutes the graph.

    None is examined for a graph whose own steps are refuted: its own witness says more.
    """
    out = Elsewhere()
    if any(s.verdict == "refuted" for s in induction.steps):
        return out
    traced = induction.traced
    alike = partial(_runs_the_same, induction) if rules_of_users(traced) else None
    queue = deque(chain(other_programs(traced, alike), asked_by_rules(induction.cases)))
    of_function: set[Key] = set()  # sizes that were examined as the function asked for them
    of_rules: set[Key] = set()  # and as a rule did
    excluded: set[Key] = set()
    while queue:
        case = queue.popleft()
        if case.rules:
            if case.key in of_function | of_rules or any(one <= case.key for one in excluded):
                continue
            of_rules.add(case.key)
            case = case.traced(traced) if len(of_rules) <= CASES else case
        elif case.fixed and not case.same:
            of_function.add(case.key)
        if case.same and case.graph is not None and _runs_the_same(induction, case.graph, case.fixed):
            continue
        some_of_many = isinstance(case.fixed, Sample) and not case.same  # what holds there says nothing of the others
        run = None if some_of_many else _run_at(case, induction)
        if run is not None and _is_accepted(run, induction):
            out.asked += [f"where {case}: {text}" for text in _extra_hypotheses(run, case, induction)]
            queue.extend(asked_by_rules(one.within(case.fixed) for one in run.cases))
            if case.asked and not case.same:
                out.others.append((RULE_CERTIFIED_TOO if case.rules else CERTIFIED_TOO).format(case))
        elif run is not None and (witness := _refuting(run)) is not None:
            out.findings.append(f"the graph is refuted where {case}: {witness} ({at_witness(witness.witness)})")
            out.refuted = witness
            break
        elif case.question == UNANSWERABLE:
            out.findings.append(f"the function may be another program at some sizes: {UNANSWERABLE}")
        else:  # neither certified nor refuted: the hypotheses exclude these sizes
            out.asked += case.excluded
            if case.fixed:
                excluded.add(case.key)
    return out


def _at_numbers(induction: Induction, outside: bool) -> tuple[list[str], list[str]]:
    """Return the further hypotheses of the graph where sizes are numbers, and findings if its program there fails.

    Nothing is added where sizes that are numbers give the same program as symbolic ones.
    """
    tried: list[str] = []
    if not induction.traced.ir.dims:
        return [], defects(induction, induction.traced, {}, outside)
    for case, differs in at_numbers(induction.traced):
        if case.graph is not None and not differs and _runs_the_same(induction, case.graph, case.fixed):
            return [], defects(induction, case.graph, case.fixed, outside)
        run = _run_at(case, induction)
        if run is not None and _is_accepted(run, induction):
            more = _extra_hypotheses(run, case, induction)
            return [f"where sizes are numbers, such as {case}: {text}" for text in more], []
        tried.append(str(case))
    told = f"where sizes are numbers ({'; '.join(tried)}), what the function and its rules run is not certified"
    return [], [f"{told}: they tell a number from a symbolic size"] if tried else []


def _run_at(case: Case, induction: Induction) -> Induction | None:
    """Return the induction over the program of other sizes; None where it does not trace."""
    if case.graph is None:
        return None
    shared = induction.shared
    if joins_comparisons(induction.traced):
        return _run_induction(case.graph, shared)[0]
    return Induction(with_regions(case.graph, shared), shared).run()


def _is_accepted(run: Induction, induction: Induction) -> bool:
    """Return whether each step at other sizes holds as the graph's own do."""
    accepted = PROVED_AS_WRITTEN if all(s.verdict in PROVED_AS_WRITTEN for s in induction.steps) else PROOFS
    return all(s.verdict in accepted for s in run.steps)


def _extra_hypotheses(run: Induction, case: Case, induction: Induction) -> list[str]:
    """Return the hypotheses of the program at other sizes beyond those of the graph."""
    known = {said for _, said in _stated_hypotheses(induction, case.fixed)}
    texts = [shown for shown, said in _stated_hypotheses(run, {}) if said not in known]
    return list(dict.fromkeys([*texts, *(d for d in run.dimensions if d not in induction.dimensions)]))


def _refuting(run: Induction) -> OwnWitness | None:
    """Return a point at which the program of other sizes is wrong; None where none of its rules is refuted."""
    if all(s.verdict != "refuted" for s in run.steps):
        return None
    return own_witness(run, refuted_kinds(run.steps, run.shared.used))


def _stated_hypotheses(induction: Induction, fixed: Fixed) -> list[tuple[str, Any]]:
    """Return the text of each hypothesis of a graph, with its statement and values at sizes set by `fixed`."""
    hypotheses = [h for s in induction.steps for h in s.hypotheses]
    inside: dict[Place, Values] = {(): Values(induction.traced, rendering(fixed))}
    out: list[tuple[str, Any]] = []
    for h, asked in zip(hypotheses, induction.asked, strict=True):
        values = inside[()]
        for k in range(len(asked.place)):
            node, body = asked.place[k]
            here = asked.place[: k + 1]
            if here not in inside:
                inside[here] = values.inside(values.traced.nodes[node], body)
            values = inside[here]
        read = {name: values.of(ref) for name, ref in asked.arguments.items() if name in h.of}
        sizes = {mine: str(fixed.get(size, size)) for mine, size in _rendered(asked.own_sizes, fixed)}
        out.append((h.text, (at_sizes(h.tree, sizes), tuple(sorted(read.items())))))
    return out


def _rendered(sizes: Mapping[str, Any], fixed: Fixed) -> list[tuple[str, str]]:
    return [(mine, rendering(fixed)(size)) for mine, size in sizes.items()]


def _runs_the_same(induction: Induction, graph: TracedGraph, fixed: Mapping[str, Size]) -> bool:
    """Return whether a graph of the same program runs the same rules as well, where any are code of their own."""
    return not _has_rules(graph) or rules_are_those_of_lemmas(induction, graph, fixed)


def _has_rules(traced: TracedGraph) -> bool:
    """Return whether a node has a custom rule, whose code does not run when the function is traced."""
    own = any(n.kind in ("custom_jvp", "custom_vjp", "op", "call") for n in traced.nodes)
    return own or any(_has_rules(body) for bodies in traced.bodies.values() for body in bodies)


def _finding(node: Node, step: Step, lemmas: Mapping[str, Lemma]) -> str:
    where = f"%{node.id} {node.name}" + (f" at {node.source}" if node.source else "")
    text = f"{where} is {'a surrogate' if step.verdict == 'surrogate' else step.verdict}: {step.reason}"
    lemma = lemmas.get(step.lemma)
    witness = next((o.witness for o in lemma.obligations if o.witness), None) if lemma else None
    return text if witness is None else f"{text} ({at_witness(witness)})"
