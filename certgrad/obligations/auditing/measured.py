"""The comparison of traced programs with what runs, and what it changes in a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from certgrad.obligations import auditing
from certgrad.obligations.certificate import PROOFS, CaseClaim, Certificate, Claim, Witness, with_claims, worst
from certgrad.obligations.conformance import (
    Compared,
    Conformance,
    Difference,
    called_with_numbers,
    conformance,
)
from certgrad.obligations.generality.hidden import Hidden, unlike_its_traces
from certgrad.obligations.generality.instances import Family, Instance
from certgrad.obligations.generality.traces import Traces

from .cases import proved_in

OF_KINDS: Mapping[str, frozenset[str]] = {
    "jvp_is_derivative": frozenset({"forward", "jvp"}),
    "vjp_is_adjoint": frozenset({"forward", "jvp", "vjp"}),
    "rule_runs_forward": frozenset({"forward", "primal"}),
    "forward_equals_reference": frozenset({"forward", "reference"}),
}
"""The programs that each obligation is about."""
LARGEST = 64
"""A witness is looked for at sizes at which no array has more entries than this."""


def unlike_what_runs(traces: Traces, run: Traces) -> Hidden | None:
    """Return why what runs may differ from these traces, or None.

    `run` are the traces of what runs, which differ from `traces` where the proof reads approximations as ideal.
    """
    return unlike_its_traces(run.op, run.general(), [*traces.answers, *run.answers])


def conformances(run: Traces) -> list[Conformance]:
    """Return, for each case, the comparison of the traces with what runs, in the dtypes claimed."""
    return [_conformance(run, family) for family in run.families]


def _conformance(run: Traces, family: Family) -> Conformance:
    """Return the comparison for one case; a user's rule that takes scalars is also called with plain numbers."""
    general = family.prove[0]
    dtypes = proved_in(run, general)
    result = conformance(Compared(dtypes.traces, general), dtypes.claimed)
    scalars = next((i for i in (*family.prove[1:], *family.compare) if not any(i.shapes().inputs)), None)
    if result.difference is None and scalars is not None and not run.op.is_op:
        difference = called_with_numbers(Compared(dtypes.traces, scalars), dtypes.claimed)
        result = result if difference is None else Conformance((), difference)
    return result


def is_about(difference: Difference, kind: str) -> bool:
    """Return whether an obligation is about the programs that differ."""
    return not (difference.programs and OF_KINDS[kind].isdisjoint(difference.programs))


def scope_with(scope: str, result: Conformance) -> str:
    """Return the scope of a claim, narrowed to what the comparison found that the claim is about, if anything."""
    return f"{scope}, {result.only}" if scope and result.only and result.difference is None else scope


def compared(traces: Traces, run: Traces, certificate: Certificate) -> Certificate:
    """Return the certificate after the comparison of its traces with what runs.

    `run` are the traces of what runs. A case in which what runs differs from what was proved is refuted if a witness
    shows it, else unproved. `traces` notes the sizes of such differences, and whether they are at any sizes.
    """
    instances = [family.prove[0] for family in run.families]
    results = conformances(run)
    differing_sizes = [r.difference.sizes for r in results if r.difference is not None and r.difference.programs]
    traces.differs_at = [sizes for sizes in differing_sizes if sizes]
    for difference in (r.difference for r in results if r.difference is not None and r.difference.anywhere):
        traces.differs_anywhere = True
        traces.refused = traces.refused if difference.programs else difference.reason
    # A claim keeps its verdict if the comparison changes none of its cases.
    claims = []
    for claim in certificate.claims:
        cases = [
            _case(traces, claim, case, instance, result)
            for case, instance, result in zip(claim.cases, instances, results, strict=True)
        ]
        verdict = worst([c.verdict for c in cases])
        claims.append(
            msgspec.structs.replace(claim, cases=cases, verdict=verdict if cases != claim.cases else claim.verdict)
        )
    changed = with_claims(certificate, claims)
    ranks = [f"programs at {f.ranked}" for f in traces.families if f.ranked and not traces.op.is_op]
    return with_measured(changed, list(dict.fromkeys([*ranks, *(text for r in results for text in r.compared)])))


def with_measured(certificate: Certificate, texts: Sequence[str]) -> Certificate:
    """Return the certificate with these texts in each claim: what it was compared with."""
    claims = (msgspec.structs.replace(claim, measured=list(texts)) for claim in certificate.claims)
    return with_claims(certificate, claims)


def _case(traces: Traces, claim: Claim, case: CaseClaim, instance: Instance, result: Conformance) -> CaseClaim:
    """Return the claim about one case after the comparison: as it is, with a narrower scope, unproved or refuted."""
    difference = result.difference
    if difference is None:
        return msgspec.structs.replace(case, scope=scope_with(case.scope, result))
    if case.verdict not in PROOFS or not is_about(difference, claim.kind):
        return case
    witness = _witness(traces, claim.kind, instance, difference)
    return msgspec.structs.replace(
        case, verdict="unproved" if witness is None else "refuted", reason=difference.reason, witness=witness
    )


def _witness(traces: Traces, kind: str, instance: Instance, difference: Difference) -> Witness | None:
    """Return a point at the sizes of the difference where both sides of the obligation provably differ, or None."""
    if not difference.traced:
        return None
    member = instance.at(difference.sizes)
    shapes = member.shapes().inputs
    if max(map(prod, shapes), default=0) > LARGEST:
        return None
    return auditing.witnesses.search(traces.op, member, kind, wide=difference.wide)
