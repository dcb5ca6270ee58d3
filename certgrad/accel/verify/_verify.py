"""The check of one graph certificate: versions, checksum, the function traced again, every step, the whole sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from certgrad.accel.verify import _evaluate, _hearing, _theorems
from certgrad.accel.verify._evaluate import Counts, NotEvaluatedError
from certgrad.accel.verify._steps import Shared, StepError, Walk
from certgrad.errors import CertgradError
from certgrad.graph.certificate import FORMAT, GraphCertificate, checksum
from certgrad.graph.certifying.provenance import digest, installed, kinds_of
from certgrad.graph.induction.conclusions import ASSUMPTIONS, conclusions
from certgrad.graph.induction.induction import Shared as Proofs
from certgrad.graph.induction.regions import joined_as
from certgrad.graph.ir import Graph
from certgrad.graph.tracing.trace import TracedGraph, trace
from certgrad.obligations.balls._draw import seeded
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, holding

Outcome = Literal["verified", "failed", "not checked", "not a proof"]
DRAWS = 10


class GraphVerification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the check of one graph certificate.

    `verified`: the function traces to the graph, every step is the one that the induction takes there with a lemma
    about the node's own programs, and where the graph was evaluated, its sweep is the adjoint of its derivative.
    `not_evaluated` says why it was not.
    """

    graph: str
    outcome: Outcome
    problems: tuple[str, ...] = ()
    nodes: int = 0
    lemmas: int = 0
    sizes: tuple[str, ...] = ()
    """The dimensions at which the graph was evaluated."""
    points: int = 0
    boundary: int = 0
    undecided: int = 0
    not_evaluated: str = ""


def verify_graph(
    certificate: GraphCertificate, function: Callable[..., Any], *specs: Any, seed: str = "", draws: int = DRAWS
) -> GraphVerification:
    """Check a graph certificate against its function, without the calculus.

    The function is traced at the specs, and compared with the certificate's graph node by node. Each step is walked
    again: the lemma's digest is that of the node's own programs at its shapes, its hypotheses are stated or discharged,
    cotangents are added up completely. The questions of its code about sizes, and the state that it keeps, are looked
    for as certifying does, and calls are compared with the trace. Then the whole sweep is evaluated in ball arithmetic
    against the derivative of the function, at points inside the hypotheses, where the size allows.

    Raises:
        UsageError: the specs do not fit.
    """
    other_versions = list(_other_versions(certificate))
    if other_versions:
        text = f"made with {', '.join(other_versions)}; install those versions, or certify the graph again with these"
        return _ended(certificate, "not checked", text)
    if certificate.checksum != checksum(certificate):
        return _ended(certificate, "failed", "its checksum does not fit: it was edited, or is not whole")
    if certificate.verdict not in PROVED_AS_WRITTEN:
        findings = certificate.findings or [f"it says {certificate.verdict}"]
        return _ended(certificate, "not a proof", *findings)
    try:
        traced = trace(function, *specs, name=certificate.graph.name)
    except CertgradError as error:
        return _ended(certificate, "failed", f"the function does not trace: {error}")
    return _checked(certificate, traced, seed, draws)


def _checked(certificate: GraphCertificate, traced: TracedGraph, seed: str, draws: int) -> GraphVerification:
    """Return the outcome of the check: of the graph, each step, the algebra, the code's questions, then of points.

    The first contradiction ends it as "failed", and a program that it does not look at as "not checked".
    """
    try:
        joined = joined_as(traced, certificate.graph, Proofs())
    except (ValueError, KeyError, IndexError) as error:
        return _ended(certificate, "failed", f"the function traces to another graph: {error}")
    problem = joined.check() or _difference(certificate.graph, joined.ir)
    if problem:
        return _ended(certificate, "failed", f"the function traces to another graph: {problem}")
    shared = Shared({lemma.digest: lemma for lemma in certificate.lemmas})
    rng = seeded(certificate.digest, seed)
    try:
        walk = Walk(joined, certificate.steps, shared).run()
        walk.check_cotangents()
    except StepError as error:
        return _ended(certificate, "failed", str(error))
    problems = [*_contradictions(certificate, joined)]
    problems += _theorems.contradictions(certificate.theorems, kinds_of(joined), rng)
    if problems:
        return _ended(certificate, "failed", *problems)
    try:
        problems += _hearing.problems(walk, certificate)
    except _hearing.NotHeardError as error:
        return _ended(certificate, "not checked", str(error))
    if problems:
        return _ended(certificate, "failed", *problems)
    counts, reason = Counts(), ""
    try:
        problems += filter(None, [_evaluate.check(walk, bool(certificate.dimensions), rng, draws, counts)])
    except NotEvaluatedError as error:
        reason = str(error)
    return GraphVerification(
        graph=certificate.graph.name,
        outcome="failed" if problems else "verified",
        problems=tuple(problems),
        nodes=len(joined.nodes),
        lemmas=len(shared.used),
        sizes=tuple(counts.sizes),
        points=counts.points,
        boundary=counts.boundary,
        undecided=counts.undecided,
        not_evaluated=reason,
    )


def _other_versions(certificate: GraphCertificate) -> Iterator[str]:
    """Yield the format, libraries or kernel of other versions than those that are installed."""
    if certificate.format != FORMAT:
        yield f"format {certificate.format} (here {FORMAT})"
    own_versions = installed()
    for name in sorted({*own_versions, *certificate.versions}):
        theirs, ours = certificate.versions.get(name, "none"), own_versions.get(name, "none")
        if theirs != ours:
            yield f"{name} {theirs} (here {ours})"


def _difference(stated: Graph, found: Graph) -> str:
    """Return the first difference between two graphs; "" if there is none."""
    for name in ("format", "name", "dims", "outputs"):
        if getattr(stated, name) != getattr(found, name):
            return f"its {name} are {getattr(found, name)}, and the certificate has {getattr(stated, name)}"
    if len(stated.nodes) != len(found.nodes):
        return f"it has {len(found.nodes)} nodes, and the certificate {len(stated.nodes)}"
    for ours, theirs in zip(found.nodes, stated.nodes, strict=True):
        if ours != theirs:
            field = next(f for f in ours.__struct_fields__ if getattr(ours, f) != getattr(theirs, f))
            return f"node {ours.id} ({ours.name}) has another {field} than in the certificate"
    return ""


def _contradictions(certificate: GraphCertificate, joined: TracedGraph) -> Iterator[str]:
    """Yield what a certificate says about the whole graph that does not follow from its steps."""
    hypotheses = [h for step in certificate.steps for h in step.hypotheses]
    if certificate.hypotheses != hypotheses:
        yield "its hypotheses are not those of its steps"
    if certificate.verdict != holding(hypotheses or certificate.dimensions):
        yield f"it says {certificate.verdict}, and has {len(hypotheses)} hypotheses"
    if certificate.conclusions != conclusions(joined.ir, True):
        yield "its conclusions are not those of the induction"
    if certificate.findings:
        yield "it has findings, and says that it is proved"
    if len({lemma.digest for lemma in certificate.lemmas}) != len(certificate.lemmas):
        yield "two of its lemmas have one digest"
    notes = {f"In {lemma.name}, {note}." for lemma in certificate.lemmas for note in lemma.idealisations}
    if missing := sorted({*ASSUMPTIONS, *notes} - set(certificate.assumptions)):
        yield f"it leaves out the assumption: {missing[0]}"
    if certificate.digest != digest(joined, certificate.steps, [t.digest for t in certificate.theorems]):
        yield "its digest is not that of its graph, constants and lemmas"


def _ended(certificate: GraphCertificate, outcome: Outcome, *problems: str) -> GraphVerification:
    return GraphVerification(graph=certificate.graph.name, outcome=outcome, problems=problems)
