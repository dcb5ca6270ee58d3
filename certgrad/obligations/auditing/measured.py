"""A certificate with what comes of comparing the traced programs with what happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from certgrad.obligations import auditing
from certgrad.obligations.certificate import PROOFS, CaseClaim, Certificate, Claim, Witness, sealed, worst
from certgrad.obligations.conformance import Compared, Conformance, Difference, conformance
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.generality.traces import Traces

OF_KINDS: Mapping[str, frozenset[str]] = {
    "jvp_is_derivative": frozenset({"forward", "jvp"}),
    "vjp_is_adjoint": frozenset({"forward", "jvp", "vjp"}),
    "rule_runs_forward": frozenset({"forward", "primal"}),
    "forward_equals_reference": frozenset({"forward", "reference"}),
}
"""The programs that each obligation is about."""
LARGEST = 64
"""A witness is looked for where no array has more entries."""


def compared(
    traces: Traces,
    run: Traces,
    certificate: Certificate,
    dtypes: Sequence[tuple[Sequence[Traces], Sequence[str]]],
) -> Certificate:
    """The certificate with what was measured of the traces of what runs.

    `dtypes` gives each case's, and the dtypes that it is claimed in.

    A case where something else happens than what was proved is refuted where a witness shows that, else unproved.
    """
    instances = [family.prove[0] for family in run.families]
    found = [conformance(Compared(t, i), d) for i, (t, d) in zip(instances, dtypes, strict=True)]
    seen = [r.difference.sizes for r in found if r.difference is not None and r.difference.programs]
    traces.op.differs_at = [sizes for sizes in seen if sizes]
    claims = []
    for claim in certificate.claims:
        cases = [
            _case(traces, claim, case, instance, result)
            for case, instance, result in zip(claim.cases, instances, found, strict=True)
        ]
        verdict = worst([c.verdict for c in cases])
        claims.append(
            msgspec.structs.replace(claim, cases=cases, verdict=verdict if cases != claim.cases else claim.verdict)
        )
    changed = msgspec.structs.replace(certificate, claims=claims, verdict=worst([c.verdict for c in claims]))
    ranks = [f"programs at {f.ranked}" for f in traces.families if f.ranked and not traces.op.is_op]
    return with_measured(changed, list(dict.fromkeys([*ranks, *(text for r in found for text in r.compared)])))


def with_measured(certificate: Certificate, texts: Sequence[str]) -> Certificate:
    """With a text in each claim of what it was compared with."""
    claims = [msgspec.structs.replace(claim, measured=list(texts)) for claim in certificate.claims]
    return sealed(msgspec.structs.replace(certificate, claims=claims))


def _case(traces: Traces, claim: Claim, case: CaseClaim, instance: Instance, result: Conformance) -> CaseClaim:
    difference = result.difference
    if difference is None and result.only and case.scope:
        return msgspec.structs.replace(case, scope=f"{case.scope}, {result.only}")
    if difference is None or case.verdict not in PROOFS:
        return case
    if difference.programs and OF_KINDS[claim.kind].isdisjoint(difference.programs):
        return case
    witness = _witness(traces, claim.kind, instance, difference)
    return msgspec.structs.replace(
        case, verdict="unproved" if witness is None else "refuted", reason=difference.reason, witness=witness
    )


def _witness(traces: Traces, kind: str, instance: Instance, difference: Difference) -> Witness | None:
    """A point at these very sizes where the two sides of the obligation provably differ."""
    if not difference.traced:
        return None
    there = instance.at(difference.sizes)
    shapes = there.shapes().inputs
    if max(map(prod, shapes), default=0) > LARGEST:
        return None
    return auditing.witnesses.search(traces.op, there, kind, wide=difference.wide)
