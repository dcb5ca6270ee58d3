"""The certificate of a composed op: its graph at symbolic dimensions, certified by induction over the nodes.

The theorem. Let the program of the op be a graph whose every node has a lemma: the node's JVP is the derivative of its
forward, its VJP is the adjoint of that, and its rule returns the forward's value, where the node's hypotheses hold.
Then what JAX computes by running these rules along the program is the derivative of the op, its adjoint, and its
value, where all hypotheses hold (`induction` has the step, `theorems` its algebra). A claim that a part refutes is
refuted of the whole only by a witness of its own: two wrong parts might make a right whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from certgrad._subject import OF_RULES
from certgrad.errors import TraceError
from certgrad.graph.certificate import GraphCertificate, Lemma, Step, all_steps
from certgrad.graph.certifying.certify import Certification, certification
from certgrad.graph.certifying.own_witness import own_witness
from certgrad.graph.certifying.provenance import dtypes_of
from certgrad.graph.induction.conclusions import ASSUMPTIONS
from certgrad.graph.tracing.jaxpr import installed_rules
from certgrad.graph.tracing.trace import TracedGraph, trace
from certgrad.graph.wording.explain import broken_in_floats
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.language.coding import encode
from certgrad.language.tree import OffBoundaries, Statement, Words
from certgrad.obligations.auditing.claims import at_shapes, case_claim, certificate_of, joined_claim
from certgrad.obligations.auditing.conventions import conventions
from certgrad.obligations.cache import Cache
from certgrad.obligations.certificate import (
    PROOFS,
    PROVED_AS_WRITTEN,
    CaseClaim,
    Certificate,
    Convention,
    Hypothesis,
    ObligationKind,
    TracedCase,
    VerdictName,
    each_once,
    holding,
    hypothesis,
    worst,
)
from certgrad.obligations.generality.looks import ALL_SHAPES
from certgrad.obligations.generality.rank_blind import dtype_sensitive
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_internals import wide_floats
from certgrad.obligations.verify._programs import digest
from certgrad.ops._composed import Composed
from certgrad.process.threads import without_collection
from certgrad.signatures.cases import Case

ELSEWHERE = (
    "another claim fails at a part; whether all hypotheses can hold together, and what runs at sizes that are numbers, "
    "was therefore not looked at"
)
OpenReason = tuple[str, VerdictName]
"""Why a claim does not hold, and the verdict that this gives it."""


def certified(op: Composed) -> list[GraphCertificate]:
    """Return the graph certificate of each case of a composed op. Raises TraceError where the op does not trace."""
    return [of_case.certificate for of_case in certifications(op)]


def certifications(op: Composed) -> list[Certification]:
    """Return the certificates of a composed op's graphs with their proofs."""
    return list(_certified(op, installed_rules()))


@lru_cache(maxsize=128)
def _certified(op: Composed, rules: int) -> tuple[Certification, ...]:
    """Return the certification of each case of an op. `rules` is a number of JAX's present rules: while they are the
    same, the result is kept, for the audit and for the page on graphs.
    """
    return tuple(certification(graph_of(op, case), compare=False) for case in op.cases)


def audit(op: Composed, cache: Cache | None = None) -> Certificate:
    """Return the certificate of a composed op. A part that is wrong is a verdict, not an exception.

    With a cache, the op is still traced; where its programs, its parts and all versions are those of an earlier audit,
    its certificate is taken from the cache. Raises TraceError where the op does not trace.
    """
    with without_collection():
        traced = [_identity(op, case) for case in op.cases]
        certificate = None if cache is None else cache.recall(op, traced)
        if certificate is None:
            certificate = _audited(op, traced)
            if cache is not None:
                cache.remember(op, traced, certificate)
        return certificate


def graph_of(op: Composed, case: Case) -> TracedGraph:
    """Return the graph of a case of the op, with 64-bit numbers."""
    statics = case.keywords({}, {})
    specs = [f"{name}: {spec}" for name, spec in zip(op.arg_names, case.signature.inputs, strict=True)]
    with wide_floats():  # whatever the caller's configuration: every op is proved so
        return trace(lambda *arrays: op.run(list(arrays), statics), *specs, name=op.name)


def _identity(op: Composed, case: Case) -> TracedCase:
    """Return a case with the digest of its programs, by which a cache knows it. Raises TraceError."""
    statics = {name: str(value) for name, value in case.statics.items()}
    try:
        return TracedCase(signature=str(case.signature), statics=statics, digest=digest(op, case))
    except DoesNotTraceError as error:
        raise TraceError(
            f"JAX could not trace '{op.name}' ({op.where}): {error}. Call it, and jax.grad of it, once on small arrays "
            "to see the full error; if that runs, it depends on a concrete shape or value."
        ) from error


def _audited(op: Composed, identities: list[TracedCase]) -> Certificate:
    """Return the certificate of an op, each claim joined from the graphs of its cases."""
    certifications = _certified(op, installed_rules())
    graphs = [graph.certificate for graph in certifications]
    kinds: tuple[ObligationKind, ...] = OF_RULES  # type: ignore[assignment]
    facts = {text for graph in graphs for text in broken_in_floats(graph)}
    idealisations = {text for graph in graphs for text in graph.assumptions if text not in ASSUMPTIONS}
    claims = []
    for kind in kinds:
        cases = [_case_claim(op, *pair, kind) for pair in zip(op.cases, certifications, strict=True)]
        claims.append(joined_claim(op, kind, cases, facts, idealisations))
    lemmas = {lemma.digest: lemma for graph in graphs for lemma in graph.lemmas}
    theorems = dict.fromkeys(theorem.name for graph in graphs for theorem in graph.theorems)
    return certificate_of(
        op,
        claims,
        conventions=_conventions(certifications),
        digest=hashlib.blake2b("\n".join(graph.digest for graph in graphs).encode(), digest_size=32).hexdigest(),
        rules_used=[*(f"induction: {name}" for name in theorems), *sorted(map(_lemma_text, lemmas.values()))],
        traced=identities,
    )


def _lemma_text(lemma: Lemma) -> str:
    given = f", given {', '.join(lemma.given)}" if lemma.given else ""
    return f"lemma {lemma.digest[:16]} of {lemma.name}: {lemma.signature}{given}"


def _case_claim(op: Composed, case: Case, certified: Certification, kind: ObligationKind) -> CaseClaim:
    """Return one claim about a case, by the certificate of its graph; only a witness of the whole op refutes it."""
    certificate = certified.certificate
    problems = list(_problems(kind, certificate))
    hypotheses = each_once(_hypotheses(certificate))
    verdict = worst([holding(hypotheses), *(verdict for _, verdict in problems)])
    if verdict not in PROOFS:
        hypotheses = []
    witness = None
    at_other_sizes = certified.elsewhere
    if at_other_sizes is not None and at_other_sizes.kind == kind:
        witness, verdict = at_other_sizes.witness, "refuted"
    elif verdict == "refuted":
        whole_witness = own_witness(certified.induction, [kind])
        witness, verdict = (None, "unproved") if whole_witness is None else (whole_witness.witness, "refuted")
    reason = "; ".join(dict.fromkeys(reason for reason, _ in problems))
    scope = f"{_scope(op, certified.traced)}, by induction over {_count(certificate.steps)} nodes"
    return case_claim(case, scope, [at_shapes(verdict, hypotheses, reason, witness=witness)])


def _scope(op: Composed, traced: TracedGraph) -> str:
    """Return for which shapes and dtypes a claim holds; code that asks for a dtype may be another program in others."""
    reason = dtype_sensitive(op)
    return f"{ALL_SHAPES}, {', '.join(dtypes_of(traced))} only ({reason})" if reason else ALL_SHAPES


def _problems(kind: ObligationKind, found: GraphCertificate) -> Iterator[OpenReason]:
    """Yield the reasons why the claim does not hold: parts whose lemma fails this obligation, findings on the whole."""
    lemmas = {lemma.digest: lemma for lemma in found.lemmas}
    open_steps = [step for step in all_steps(found.steps) if step.verdict not in PROVED_AS_WRITTEN and not step.inside]
    for step in open_steps:
        where = f"{step.operation} at {step.source}" if step.source else step.operation
        lemma = lemmas.get(step.lemma)
        if lemma is None or lemma.verdict in PROVED_AS_WRITTEN:
            yield f"{where}: {step.reason}", "unproved"
            continue
        for obligation in lemma.obligations:
            if obligation.kind == kind and obligation.verdict not in PROVED_AS_WRITTEN:
                yield (
                    f"its part {where} is {obligation.verdict}: {obligation.kind}: {obligation.reason}",
                    obligation.verdict,
                )
    yield from ((f"the theorem on {t.name} is unproved", "unproved") for t in found.theorems if t.verdict != "proved")
    if found.verdict not in PROOFS:
        parts_hold = all(step.verdict in PROOFS for step in open_steps)
        yield from ((text, "unproved") for text in (found.findings if parts_hold else [ELSEWHERE]))


def _count(steps: Sequence[Step]) -> int:
    """Return the number of nodes; those inside loops and branches count once."""
    return sum(1 for _ in all_steps(steps))


def _hypotheses(found: GraphCertificate) -> Iterator[Hypothesis]:
    """Yield the hypotheses of a graph certificate, on values and on dimensions, as those of an op."""
    for h in found.hypotheses:
        tree = _tree(h.text, h.boundary, encode(h.tree), *(f"{name}: {value}" for name, value in h.of.items()))
        yield hypothesis(tree, f"asked at node %{h.node}", h.negligible, "at every entry of what the part reads")
    boundaries = {_unnumbered(h.text) for h in found.hypotheses if h.boundary}
    for text in found.dimensions:
        condition = _unnumbered(text.partition(": ")[2])  # the text without the sizes that it is for
        tree = _tree(text, condition in boundaries)
        yield hypothesis(tree, "asked of the dimensions", False, "of the sizes, whatever an entry is")


def _tree(text: str, boundary: bool, *of: str) -> Statement:
    """Return a node's hypothesis as a statement on the whole op, in words; `of` tells it from others of equal text."""
    return OffBoundaries(text, of) if boundary else Words(text, of)


def _unnumbered(text: str) -> str:
    """Return a text without the numbers of nodes, which another graph counts differently."""
    return re.sub(r"%\d+", "%", text)


def _conventions(cases: Sequence[Certification]) -> list[Convention]:
    """Return the conventions of the parts' rules, each where a hypothesis at its node fails."""
    by_point: dict[str, Convention] = {}
    of_part: dict[str, list[Convention]] = {}
    for part, source in (asking for one in cases for asking in _asking(one.traced, one.certificate.steps)):
        if part.convention and part.name not in of_part:
            of_part[part.name] = conventions(Traces(part))
        for one in of_part.get(part.name, ()):
            point = f"{one.point} of {part.name}" + (f" at {source}" if source else "")
            by_point[point] = Convention(point=point, rule=one.rule, jax=one.jax, torch=one.torch)
    return [by_point[point] for point in sorted(by_point)]


def _asking(traced: TracedGraph, steps: Sequence[Step]) -> Iterator[tuple[Any, str]]:
    """Yield the ops at whose nodes a hypothesis is left, each with its source line."""
    ops: Mapping[int, Any] = traced.ops
    for step in steps:
        if step.hypotheses and step.node in ops:
            yield ops[step.node][0], step.source
        for body, part in zip(traced.bodies.get(step.node, ()), step.inside, strict=True):
            yield from _asking(body, part.steps)
