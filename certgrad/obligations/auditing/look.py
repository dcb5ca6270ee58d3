"""The last look: both sides of what a certificate says is proved are evaluated once more before it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, prod
from typing import Any

import msgspec

from certgrad.jaxpr.at_shapes import Programs
from certgrad.language.tree import Statement
from certgrad.obligations import auditing, verify
from certgrad.obligations.certificate import (
    PROVED_AS_WRITTEN,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    VerdictName,
    each_once,
    sealed,
    worst,
)
from certgrad.obligations.generality.traces import Trace, Traces
from certgrad.obligations.terms.budget import budget
from certgrad.signatures.cases import Shape
from certgrad.signatures.schedule import MAX_ENTRIES

LEAST = 2.0
"""Seconds that the last look takes if the audit of the rule has no time left."""
PLACES = 2
"""The number of shapes, of those traced for the proof, at which a case is evaluated: a small one and a larger one."""


def looked_at(traces: Traces, certificate: Certificate) -> Certificate:
    """Return the certificate; a claim is `unproved: defect` in it if it fails where its hypotheses hold."""
    if certificate.verdict not in PROVED_AS_WRITTEN:
        return certificate
    until = budget.until(inf, LEAST)
    for index in range(len(traces.op.cases)):
        failure = verify.last_look(traces.op, certificate, index, places(traces, index), until)
        if failure is not None:
            return _with_defect(certificate, index, *failure)
    return certificate


def places(traces: Traces, index: int, narrow: bool = False) -> Iterator[tuple[Shape, Programs]]:
    """Yield concrete shapes of a case (its `index`) with the programs there.

    They are the smallest and the largest of the shapes that the audit traced at numbers. If all arrays of these are
    empty or have one entry, a larger shape is traced first; a user's rule is also traced with all sizes 1. With
    `narrow`, traces in float32 count as well, where Python computes floats of sizes coarsely.
    """
    by_shapes: dict[tuple, tuple[Shape, Programs]] = {}
    for trace, sizes in traces.at_numbers(index, narrow):
        shape = Shape(
            {n: k for n, k in sizes.items() if n in traces.op.cases[index].names},
            {star: tuple(sizes[axis] for axis in axes) for star, axes in trace.instance.groups.items()},
            trace.shapes.inputs,
        )
        if max(map(prod, shape.inputs), default=0) <= MAX_ENTRIES:
            programs = _evaluated(trace)
            by_shapes.setdefault(shape.inputs, (shape, programs))
    ordered = sorted(by_shapes.values(), key=lambda place: sum(map(prod, place[0].inputs)))
    if not ordered or max(map(prod, ordered[-1][0].inputs), default=0) <= 1:
        yield from _cached_traces(traces, index, verify.first_shape)
    yield from ordered if len(ordered) <= PLACES else (ordered[0], ordered[-1])
    if not traces.op.is_op and ordered and not any(set(shape.sizes.values()) == {1} for shape, _ in ordered):
        yield from _cached_traces(traces, index, verify.least_shape)


def _cached_traces(traces: Traces, index: int, traced: Callable[..., Iterator[Any]]) -> list[Any]:
    """Return the shapes and programs that `traced` yields, which are traced once and kept for the next look."""
    key = index, traced.__name__
    if key not in traces.of_looks:
        traces.of_looks[key] = list(traced(traces.op, index))
    return traces.of_looks[key]


def _evaluated(trace: Trace) -> Programs:
    """Return the programs of a trace in the form in which they are evaluated."""
    p = trace.programs
    return Programs(p.forward, p.jvp, p.vjp, p.primal, trace.shapes.inputs, p.out_shapes, p.reference)


def _with_defect(certificate: Certificate, index: int, kind: str, what: str) -> Certificate:
    """Return the certificate with one claim of a case unproved, as it was proved and does not hold."""
    reason = f"defect: this was proved, and does not hold {what}. Please report it: certgrad is wrong here"
    return _with_verdict(certificate, index, kind, verdict="unproved", reason=reason)


def _with_verdict(certificate: Certificate, index: int, kind: str, verdict: VerdictName, **fields: Any) -> Certificate:
    """Return the certificate with another verdict, and other `fields`, of the claim about `kind` of one case."""
    change = msgspec.structs.replace

    def case(k: int, old: CaseClaim) -> CaseClaim:
        return change(old, verdict=verdict, **fields) if k == index else old

    def claim(old: Claim) -> Claim:
        if old.kind != kind:
            return old
        cases = [case(k, c) for k, c in enumerate(old.cases)]
        return change(old, verdict=verdict, cases=cases, hypotheses=each_once(h for c in cases for h in c.hypotheses))

    claims = [claim(c) for c in certificate.claims]
    return sealed(change(certificate, claims=claims, verdict=worst([c.verdict for c in claims])))


def where_excluded(traces: Traces, certificate: Certificate) -> Certificate:
    """Return the certificate after an evaluation at points that its hypotheses exclude.

    It is refuted if the forward has a derivative at such a point, and the rule returns another value or none. Else each
    hypothesis outside of which points were evaluated says what was seen there (`Hypothesis.outside`). Where what runs
    only approximates what the proof is about, a rule is refuted only by a point at which it is undefined.
    """
    if certificate.verdict not in PROVED_AS_WRITTEN or not any(claim.hypotheses for claim in certificate.claims):
        return certificate
    approximate = any(ideal.met for ideal in traces.op.ideals)
    kinked: set[Statement] = set()
    smooth: set[Statement] = set()
    for index in range(len(traces.op.cases)):
        outside = verify.excluded_look(traces.op, certificate, index, places(traces, index))
        if outside.wrong is not None and (outside.wrong.witness.undefined or not approximate):
            return _refuted(traces, certificate, index, outside.wrong)
        kinked |= outside.kinked
        smooth |= outside.smooth
    change = msgspec.structs.replace

    def stated(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        return [
            change(h, outside="no derivative" if h.tree in kinked else "right") if h.tree in kinked | smooth else h
            for h in hypotheses
        ]

    def case(case_claim: CaseClaim) -> CaseClaim:
        return change(case_claim, hypotheses=stated(case_claim.hypotheses))

    claims = [change(c, hypotheses=stated(c.hypotheses), cases=list(map(case, c.cases))) for c in certificate.claims]
    return sealed(change(certificate, claims=claims))


def _refuted(traces: Traces, certificate: Certificate, index: int, found: verify.Excluded) -> Certificate:
    """Return the certificate with the claim refuted that an excluded point contradicts.

    The hypothesis that fails at the point moves from `hypotheses` to `needless`.
    """
    case = traces.op.cases[index]
    witness = auditing.witnesses.as_data(found.witness, case.keywords(found.shape.ranks, found.shape.sizes))
    before = next(claim for claim in certificate.claims if claim.kind == found.kind).cases[index]
    fields: dict[str, Any] = {
        "reason": str(found),
        "witness": witness,
        "hypotheses": [h for h in before.hypotheses if h.tree != found.statement],
        "needless": [h for h in before.hypotheses if h.tree == found.statement],
    }
    return _with_verdict(certificate, index, found.kind, verdict="refuted", **fields)
