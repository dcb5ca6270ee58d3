"""Certifying a graph: induction over its nodes, each step the instance of a lemma."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from certgrad.errors import TraceError
from certgrad.graph.certificate import FORMAT, GraphCertificate, Lemma, NodeHypothesis, Step, Theorem, sealed
from certgrad.graph.certifying.at_arrays import at_arrays
from certgrad.graph.certifying.at_numbers import rules_are_those_of_lemmas
from certgrad.graph.certifying.look import defects
from certgrad.graph.certifying.negligible import with_open_sets
from certgrad.graph.certifying.own_witness import NO_POINT_FOUND, OwnWitness, at_witness, own_witness, refuted_kinds
from certgrad.graph.certifying.provenance import digest, installed, kinds_of, traced_in
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
from certgrad.graph.tracing.subject import measured, rules_of_users, unlike_its_graph
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.graph.tracing.values import Values
from certgrad.language.sizes import at_sizes
from certgrad.obligations.certificate import PROOFS, PROVED_AS_WRITTEN, VerdictName, holding, worst
from certgrad.obligations.conformance import Conformance
from certgrad.obligations.generality.decisions import UNANSWERABLE, Fixed, Sample, rendering
from certgrad.obligations.generality.reach import reachable_from
from certgrad.obligations.tracing.jax_dimensions import sizes_as_integers
from certgrad.process.threads import without_collection
from certgrad.signatures.sizes import Size

LARGE = ". Each takes long at these sizes: with the batch left open, as in `n 3 64 64`, more are tried"
SEEN_IN_FLOATS = (
    "That some point satisfies all hypotheses was seen in float64, not proved: at these sizes rigorous "
    "arithmetic takes too long."
)
CERTIFIED_TOO = "Where {}, the function is another program than this graph. That one was certified too."
RULE_CERTIFIED_TOO = "Where {}, a rule is another program than in this graph. That one was certified too."


@dataclass
class Certification:
    """A certificate with the proofs behind it: what compiled execution is built from."""

    traced: TracedGraph
    """The graph that the certificate is about, in which some operations may be joined to regions."""
    certificate: GraphCertificate
    induction: Induction
    elsewhere: OwnWitness | None = None
    """A witness against the graph at sizes at which it, or one of its rules, is another program; or None."""


def certify(traced: TracedGraph, *, seconds: float | None = None) -> GraphCertificate:
    """Return the certificate of a graph. A node that is not proved is a finding, and all else is still reported.

    Args:
        traced: the graph, as `certgrad.trace` makes it.
        seconds: the budget of processor time, 20 if None. Each lemma may take half of it, and all lemmas that come to
            no proof may together take half of it. A lemma without time left is `unproved`, with that reason. The time
            for anything but lemmas, which grows with the number of nodes, is not counted.

    Raises TraceError where the graph is not well formed.
    """
    return certification(traced, seconds=seconds).certificate


def certification(
    traced: TracedGraph, compare: bool = True, shared: Shared | None = None, seconds: float | None = None
) -> Certification:
    """Return the certificate of a graph as `certify` does, with the proofs behind it.

    With `compare`, calls of the function are compared with its trace; the library's own ops are not compared yet.
    `shared` has the lemmas of another graph of the same function, and what is left of their budget.
    """
    with without_collection(), sizes_as_integers(reachable_from([traced.fn])):
        return _certification(traced, compare, Shared(Lemmas(seconds)) if shared is None else shared)


def _certification(traced: TracedGraph, compare: bool, shared: Shared) -> Certification:
    """Certify a graph with the lemmas in `shared`. Raises TraceError where the graph is not well formed."""
    if problem := traced.check() or traced.changed():
        raise TraceError(f"The graph of {traced.ir.name} is not well formed: {problem}. Trace the function again.")
    induction, point_search = _run_induction(traced, shared)
    elsewhere = _at_other_sizes(induction)
    certificate = _certificate(induction, compare, point_search, elsewhere)
    return Certification(induction.traced, certificate, induction, elsewhere.witness)


def _run_induction(traced: TracedGraph, shared: Shared) -> tuple[Induction, PointSearch | None]:
    """Return the induction over the graph with regions, and the result of the search for a point inside its hypotheses.

    A region is several operations that are proved together. Where no point is found, a comparison may ask that two
    sides differ that are one function: such comparisons are joined with the operations before them, and that graph
    counts if a point is found for it.
    """
    induction = Induction(_well_formed(traced, with_regions(traced, shared)), shared).run()
    search = _point_search(induction)
    if search is not None and search.found == "none":
        joined = with_comparisons(traced, induction, search.never)
        if joined is not None:
            joined_induction = Induction(_well_formed(traced, joined), shared).run()
            joined_search = _point_search(joined_induction)
            if joined_search is not None and joined_search.found != "none":
                return joined_induction, joined_search
    return induction, search


def _well_formed(traced: TracedGraph, joined: TracedGraph) -> TracedGraph:
    """Return the graph `joined`, that of `traced` with regions. Raises TraceError where it is not well formed."""
    if joined is not traced and (problem := joined.check()):
        raise TraceError(f"The graph of {traced.ir.name} with regions is not well formed: {problem}.")
    return joined


def _point_search(induction: Induction) -> PointSearch | None:
    """Return the result of the search for a point inside the hypotheses; None where a step is not proved."""
    if not all(s.verdict in PROOFS for s in induction.steps):
        return None
    return satisfiable(induction.traced, induction.asked)


def _certificate(
    induction: Induction, compare: bool, point_search: PointSearch | None, elsewhere: AtOtherSizes
) -> GraphCertificate:
    """Return the certificate of a graph: its verdict, the steps and lemmas behind it, and what it rests on.

    With `compare`, calls of the function are compared with its trace. `point_search` is the result of the search for a
    point that satisfies all hypotheses, None where a step is not proved.
    """
    traced, graph = induction.traced, induction.traced.ir
    judgement = _judgement(induction, compare, point_search, elsewhere)
    proved = judgement.verdict in PROOFS
    steps, hypotheses = induction.steps, _hypotheses(induction)
    arrays = traced.specs.arrays if hypotheses and proved else None
    lemmas = sorted(induction.shared.used.values(), key=lambda lemma: (lemma.name, lemma.signature, lemma.digest))
    certificate = GraphCertificate(
        format=FORMAT,
        graph=graph,
        verdict=judgement.verdict,
        conclusions=conclusions(graph, proved),
        hypotheses=hypotheses,
        dimensions=judgement.dimensions,
        lemmas=lemmas,
        theorems=judgement.laws,
        steps=steps,
        findings=judgement.findings,
        assumptions=[
            *ASSUMPTIONS,
            *elsewhere.assumptions,
            *([SEEN_IN_FLOATS] if proved and point_search is not None and point_search.found == "in floats" else []),
            *([DRAWS_ARE_FIXED] if "draw" in kinds_of(traced) else []),
            *([f"This is of {judgement.comparison.only}."] if judgement.comparison.only else []),
            *sorted({f"In {lemma.name}, {note}." for lemma in lemmas for note in lemma.idealisations}),
        ],
        digest=digest(traced, steps, [law.digest for law in judgement.laws]),
        versions=installed(),
        measured=list(judgement.comparison.compared),
        traced_in=traced_in(traced),
        at_arrays=[] if arrays is None else at_arrays(induction, arrays),
    )
    return sealed(certificate)


@dataclass(frozen=True)
class _Judgement:
    """The verdict of a graph, with the claims beside its steps and the findings that led to it."""

    verdict: VerdictName
    dimensions: list[str]
    """The hypotheses on sizes, sorted."""
    laws: list[Theorem]
    comparison: Conformance
    findings: list[str]


def _judgement(
    induction: Induction,
    compare: bool,
    point_search: PointSearch | None,
    elsewhere: AtOtherSizes,
    outside: bool = True,
) -> _Judgement:
    """Return the verdict of a graph, and complete the steps of its induction: with open sets and cotangents.

    The verdict is the worst of the steps, the theorems on sweeps, and "unproved" if a question is unanswered. A refuted
    step refutes the graph only with a witness of the whole graph, or at other sizes. A proof needs a point that
    satisfies the hypotheses: `point_search`, which is None where a step is not proved. `elsewhere` has the results at
    sizes of other programs. With `compare`, calls are compared with the trace; with `outside`, rules are also evaluated
    where the hypotheses do not hold.
    """
    shared = induction.shared
    steps = induction.steps = with_open_sets(induction, _with_cotangents(induction))
    dimensions, unanswered, comparison = _answers(induction, compare, elsewhere, outside)
    laws = theorems(kinds_of(induction.traced))
    nodes = induction.traced.ir.nodes
    findings = [
        *(_finding(nodes[s.node], s, shared.used) for s in steps if s.verdict not in PROVED_AS_WRITTEN),
        *unanswered,
        *(f"the theorem on {law.name} is unproved" for law in laws if law.verdict != "proved"),
    ]
    of_questions: VerdictName = "unproved" if unanswered else "proved"
    verdict = worst([*(s.verdict for s in steps), *(law.verdict for law in laws), of_questions])
    if verdict == "refuted":
        findings += _conditions_where_proved(induction)
        witness = own_witness(induction, refuted_kinds(steps, shared.used))
        if witness is None:
            verdict = "unproved"
            findings.append(NO_POINT_FOUND)
        else:
            findings.append(f"the graph is refuted: {witness} ({at_witness(witness.witness)})")
    if verdict == "surrogate" and shared.lemmas.not_begun:
        verdict = "unproved"  # a lemma that was not begun might have failed
        findings.append(shared.lemmas.not_begun)
    if elsewhere.witness is not None:
        verdict = "refuted"
    if verdict in PROOFS:
        assert point_search is not None
        if (unsatisfied := _unsatisfied(point_search)) is not None:
            verdict = "unproved"
            findings.append(unsatisfied)
    if verdict in PROVED_AS_WRITTEN:
        verdict = holding(_hypotheses(induction) or dimensions)
    return _Judgement(verdict, dimensions, laws, comparison, findings)


def _answers(
    induction: Induction, compare: bool, elsewhere: AtOtherSizes, outside: bool
) -> tuple[list[str], list[str], Conformance]:
    """Return the hypotheses on sizes, findings on questions without an answer, and the comparison with calls.

    Questions are: what the function does at other sizes, whether it runs what was traced, whether outputs are numbers.
    Calls are compared only with `compare`, and where nothing else prevents a proof. With `outside`, rules are also
    evaluated where the hypotheses do not hold.
    """
    traced = induction.traced
    dimensions, unanswered = [*induction.dimensions, *elsewhere.hypotheses], list(elsewhere.findings)
    all_proved = all(s.verdict in PROOFS for s in induction.steps)
    if all_proved:
        size_conditions, failures = _at_numbers(induction, outside)
        dimensions += size_conditions
        unanswered += failures
        unanswered += filter(None, [unlike_its_graph(traced)])
    comparison = measured(traced) if compare and all_proved and not unanswered else Conformance(())
    if comparison.difference is not None:
        unanswered.append(f"what runs is not what was traced: {comparison.difference.reason}")
    unanswered += [f"output {k} is {NO_NUMBER}" for k, o in enumerate(traced.ir.outputs) if no_number(o)]
    return sorted(dict.fromkeys(dimensions)), unanswered, comparison


def _conditions_where_proved(induction: Induction) -> list[str]:
    """Return the finding that names conditions under which a refuted graph is proved; [] where none are found."""
    restricted = again_where_right(induction)
    if restricted is None:
        return []
    restricted_induction, nodes = restricted
    judgement = _judgement(
        restricted_induction,
        compare=False,
        point_search=_point_search(restricted_induction),
        elsewhere=_at_other_sizes(restricted_induction),
        outside=False,
    )
    return [conditions_text(restricted_induction, nodes)] if judgement.verdict in PROOFS else []


def _hypotheses(induction: Induction) -> list[NodeHypothesis]:
    return [h for s in induction.steps for h in s.hypotheses]


def _unsatisfied(search: PointSearch) -> str | None:
    """Return the finding that no point was found which satisfies all hypotheses; None if one was."""
    if search.found != "none":
        return None
    return (
        f"{search.tried} points were tried, and none was found that satisfies all hypotheses: "
        f"nothing shows that they can hold together{LARGE if search.cut_short else ''}"
    )


def _with_cotangents(induction: Induction) -> list[Step]:
    """Return the steps, each with the nodes from which the cotangents of its moving outputs come."""
    pairs = zip(induction.steps, induction.cotangents(), strict=True)
    return [msgspec.structs.replace(step, cotangents=cotangents) if cotangents else step for step, cotangents in pairs]


@dataclass
class AtOtherSizes:
    """The results at the sizes at which the function, or one of its rules, is another program than in the graph.

    Such a program is certified too, or the sizes are excluded, or a finding says that a question cannot be answered.
    """

    hypotheses: list[str] = field(default_factory=list)
    """Those that exclude sizes, and those of the programs at other sizes."""
    findings: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    """Sentences on sizes whose program is another one and is certified too."""
    witness: OwnWitness | None = None
    """A witness against the program of other sizes, which refutes the graph."""


def _at_other_sizes(induction: Induction) -> AtOtherSizes:
    """Certify the graph's other programs, at other sizes, where possible; a witness against one refutes the graph.

    A queue holds the cases of sizes that the function asked for, then those of rules; the program of a case can add
    further ones. No case is examined for a graph whose own steps are refuted: its own witness says more.
    """
    results = AtOtherSizes()
    if any(s.verdict == "refuted" for s in induction.steps):
        return results
    traced = induction.traced
    runs_the_same = partial(_runs_the_same, induction) if rules_of_users(traced) else None
    queue = deque(chain(other_programs(traced, runs_the_same), asked_by_rules(induction.cases)))
    of_function: set[Key] = set()  # the sizes examined because the function asked for them
    of_rules: set[Key] = set()  # the sizes examined because a rule did
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
        some_of_many = isinstance(case.fixed, Sample) and not case.same  # its result says nothing of the other sizes
        run = None if some_of_many else _run_at(case, induction)
        if run is not None and _is_accepted(run, induction):
            results.hypotheses += [f"where {case}: {text}" for text in _extra_hypotheses(run, case, induction)]
            queue.extend(asked_by_rules(one.within(case.fixed) for one in run.cases))
            if case.asked and not case.same:
                results.assumptions.append((RULE_CERTIFIED_TOO if case.rules else CERTIFIED_TOO).format(case))
        elif run is not None and (witness := _refuting(run)) is not None:
            results.findings.append(f"the graph is refuted where {case}: {witness} ({at_witness(witness.witness)})")
            results.witness = witness
            break
        elif case.question == UNANSWERABLE:
            results.findings.append(f"the function may be another program at some sizes: {UNANSWERABLE}")
        else:  # neither certified nor refuted: the hypotheses exclude these sizes
            results.hypotheses += case.excluded
            if case.fixed:
                excluded.add(case.key)
    return results


def _at_numbers(induction: Induction, outside: bool) -> tuple[list[str], list[str]]:
    """Return the further hypotheses of the graph where sizes are numbers, and findings if its program there fails.

    Two choices of numbers are tried. Where one gives the same program and rules as symbolic sizes, there are no further
    hypotheses, and the findings are defects that the evaluation of custom rules shows.
    """
    failed_cases: list[str] = []
    if not induction.traced.ir.dims:
        return [], defects(induction, induction.traced, {}, outside)
    for case, differs in at_numbers(induction.traced):
        if case.graph is not None and not differs and _runs_the_same(induction, case.graph, case.fixed):
            # The rules at numbers are those of the lemmas: evaluate them there, once.
            return [], defects(induction, case.graph, case.fixed, outside)
        run = _run_at(case, induction)
        if run is not None and _is_accepted(run, induction):
            texts = _extra_hypotheses(run, case, induction)
            return [f"where sizes are numbers, such as {case}: {text}" for text in texts], []
        failed_cases.append(str(case))
    uncertified = (
        f"where sizes are numbers ({'; '.join(failed_cases)}), what the function and its rules run is not certified"
    )
    return [], [f"{uncertified}: they tell a number from a symbolic size"] if failed_cases else []


def _run_at(case: Case, induction: Induction) -> Induction | None:
    """Return the induction over the program of other sizes; None where it does not trace."""
    if case.graph is None:
        return None
    shared = induction.shared
    if joins_comparisons(induction.traced):
        return _run_induction(case.graph, shared)[0]
    return Induction(with_regions(case.graph, shared), shared).run()


def _is_accepted(run: Induction, induction: Induction) -> bool:
    """Return whether each step at other sizes is proved: as written, if all of the graph's own steps are."""
    accepted = PROVED_AS_WRITTEN if all(s.verdict in PROVED_AS_WRITTEN for s in induction.steps) else PROOFS
    return all(s.verdict in accepted for s in run.steps)


def _extra_hypotheses(run: Induction, case: Case, induction: Induction) -> list[str]:
    """Return the hypotheses of the program at other sizes beyond those of the graph."""
    of_graph = {statement for _, statement in _stated_hypotheses(induction, case.fixed)}
    texts = [shown for shown, statement in _stated_hypotheses(run, {}) if statement not in of_graph]
    return list(dict.fromkeys([*texts, *(d for d in run.dimensions if d not in induction.dimensions)]))


def _refuting(run: Induction) -> OwnWitness | None:
    """Return a point at which the program of other sizes is wrong; None where none of its rules is refuted."""
    if all(s.verdict != "refuted" for s in run.steps):
        return None
    return own_witness(run, refuted_kinds(run.steps, run.shared.used))


def _stated_hypotheses(induction: Induction, fixed: Fixed) -> list[tuple[str, Any]]:
    """Return the text of each hypothesis of a graph, with its statement and values at sizes set by `fixed`."""
    hypotheses = _hypotheses(induction)
    inside: dict[Place, Values] = {(): Values(induction.traced, rendering(fixed))}
    out: list[tuple[str, Any]] = []
    for h, hypothesis in zip(hypotheses, induction.asked, strict=True):
        values = inside[()]
        for k in range(len(hypothesis.place)):
            node, body = hypothesis.place[k]
            place = hypothesis.place[: k + 1]
            if place not in inside:
                inside[place] = values.inside(values.traced.nodes[node], body)
            values = inside[place]
        digests = {name: values.of(ref) for name, ref in hypothesis.arguments.items() if name in h.of}
        sizes = {mine: str(fixed.get(size, size)) for mine, size in _rendered(hypothesis.own_sizes, fixed)}
        out.append((h.text, (at_sizes(h.tree, sizes), tuple(sorted(digests.items())))))
    return out


def _rendered(sizes: Mapping[str, Any], fixed: Fixed) -> list[tuple[str, str]]:
    return [(mine, rendering(fixed)(size)) for mine, size in sizes.items()]


def _runs_the_same(induction: Induction, graph: TracedGraph, fixed: Mapping[str, Size]) -> bool:
    """Return whether a graph of the same program runs the same rules: it has none of its own, or the lemmas'."""
    return not _has_rules(graph) or rules_are_those_of_lemmas(induction, graph, fixed)


def _has_rules(traced: TracedGraph) -> bool:
    """Return whether a node has a custom rule, whose code does not run when the function is traced."""
    has_own = any(n.kind in ("custom_jvp", "custom_vjp", "op", "call") for n in traced.nodes)
    return has_own or any(_has_rules(body) for bodies in traced.bodies.values() for body in bodies)


def _finding(node: Node, step: Step, lemmas: Mapping[str, Lemma]) -> str:
    """Return the line that says why a node is not proved, with the witness of its lemma if there is one."""
    where = f"%{node.id} {node.name}" + (f" at {node.source}" if node.source else "")
    text = f"{where} is {'a surrogate' if step.verdict == 'surrogate' else step.verdict}: {step.reason}"
    lemma = lemmas.get(step.lemma)
    witness = next((o.witness for o in lemma.obligations if o.witness), None) if lemma else None
    return text if witness is None else f"{text} ({at_witness(witness)})"
