"""The audit of one op: every case, every family of shapes, all three obligations; then its certificate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from certgrad._subject import Subject
from certgrad.obligations import auditing
from certgrad.obligations.balls import Run
from certgrad.obligations.certificate import (
    PROOFS,
    PROVED_AS_WRITTEN,
    CaseClaim,
    Certificate,
    LiteralMeaning,
    TracedCase,
    with_cases,
    with_claims,
)
from certgrad.obligations.conformance import NOT_COMPARED, WIDTHS, listening
from certgrad.obligations.generality.hidden import untraceable
from certgrad.obligations.generality.looks import digest_of
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.terms.law import Law
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.verify.digest import case_digest
from certgrad.process.threads import without_collection
from certgrad.signatures.cases import Case

from .attempts import OPEN_VERDICTS, StillOpenError, plainly_refuted
from .cases import proved_case, proved_in
from .claims import Record, case_claim, certificate_of, joined_claim, untraced
from .look import looked_at, where_excluded
from .measured import compared, unlike_what_runs, with_measured
from .readings import as_stored, ordinary_runs, read_otherwise, rounded_in, unproved, with_reason

if TYPE_CHECKING:
    from certgrad.obligations.cache import Cache


def audit(op: Subject, cache: Cache | None = None, traces: Traces | None = None) -> Certificate:
    """Return the certificate of an op. A rule that is wrong is a verdict, not an exception.

    With a cache the op is traced, too; if all traces are those of an earlier audit, the certificate of that audit is
    returned and nothing is proved again. `traces` are traces of this op that were made already; after the audit they
    have the sizes at which something else runs than what was proved. Raises TraceError or RuleError where the op's
    functions do not trace, or return the wrong number, shape or dtype.
    """
    op.check_complete()
    if why := untraceable(op):
        return untraced(op, why)
    with without_collection():
        try:
            traces = traces or Traces(op)
            certificate = None if cache is None else cache.find(traces)
            if certificate is None:
                certificate = _guarded(traces)
                if cache is not None:
                    cache.keep(traces, certificate)
            return certificate
        finally:
            clear_caches()  # the terms go now, by their reference counts, so that collection finds little to scan


def _guarded(traces: Traces) -> Certificate:
    """Return the certificate of the traces, after the checks that can take a proof away.

    The rule is evaluated at points that hypotheses exclude; if it is proved, what runs is compared with the traces, the
    literals are read as floats store them, and the claims are evaluated once more. Nothing is claimed where what runs
    may differ from the traces.
    """
    if traces.op.conformance:
        traces.listening = partial(listening, traces.op)
    certificate = where_excluded(traces, _audited(traces))
    if certificate.verdict not in PROOFS or traces.op.tentative:
        return certificate
    run = traces.as_run()
    if hidden := unlike_what_runs(traces, run):
        if hidden.anywhere:
            traces.differs_anywhere, traces.refused = True, hidden.reason
        return untraced(traces.op, hidden.reason)
    return _as_floats_decide(traces, looked_at(traces, _compared(traces, run, certificate)))


def _as_floats_decide(traces: Traces, certificate: Certificate) -> Certificate:
    """Return the certificate; a case is unproved in it if its programs decide otherwise with literals as floats store
    them.
    """
    for index, family in enumerate(traces.families) if certificate.verdict in PROOFS else ():
        claimed = proved_in(traces, family.prove[0]).claimed
        widths = [width for width in WIDTHS if width in claimed]
        programs = [p for traced in traces.programs_at(family.prove[0]) for p in traced.all().values()]
        # Without a literal that floats store as another number, no program needs to run.
        runs = ordinary_runs(traces, certificate, index) if any(rounded_in(p, widths) for p in programs) else ()
        if why := as_stored(runs, widths):
            return unproved(certificate, index, why)
    return certificate


def _compared(traces: Traces, run: Traces, certificate: Certificate) -> Certificate:
    """Return the certificate after the traces are compared with what runs."""
    if traces.op.conformance is None or certificate.verdict not in PROOFS:
        return certificate
    if not traces.op.conformance:
        return with_measured(certificate, [NOT_COMPARED])
    return compared(traces, run, certificate)


def _audited(traces: Traces) -> Certificate:
    """Return the certificate of the program as written or, if that is not proved, with literals read as closed forms.

    The first attempt, under the reading `trial`, ends early if rounding alone may be what prevents a proof: then closed
    forms are tried before the long search for witnesses.
    """
    trial, plain = Reading(trial=True), Reading()
    try:
        return _audit_as_written(traces, trial)
    except StillOpenError as error:
        otherwise = None if error.plainly_wrong else _read_otherwise(traces, trial)
        return otherwise or _audit_as_written(traces, plain)


def _audit_as_written(traces: Traces, plain: Reading) -> Certificate:
    """Return the certificate of the program as written.

    If it is open, and not plainly refuted, return the certificate under another reading of the literals, if there is
    one. Raises StillOpenError as `_audit` does.
    """
    certificate = _audit(traces, plain)
    witnesses = [c.witness for claim in certificate.claims for c in claim.cases]
    if certificate.verdict not in OPEN_VERDICTS or any(plainly_refuted(w, plain.exact) for w in witnesses):
        return certificate
    return _read_otherwise(traces, plain) or with_reason(certificate, plain.refused)


def _read_otherwise(traces: Traces, plain: Reading) -> Certificate | None:
    """Return the certificate with literals read as closed forms, but for those that cannot be read so; None if it is
    not proved.
    """

    def proved(reading: Reading) -> Certificate | None:
        try:
            certificate = _audit(traces, reading)
        except StillOpenError:
            return None
        return certificate if certificate.verdict in PROVED_AS_WRITTEN else None

    def runs(certificate: Certificate) -> list[Run]:
        return [run for case in range(len(traces.op.cases)) for run in ordinary_runs(traces, certificate, case)]

    proof = read_otherwise(plain, proved, runs)
    return None if proof is None else _up_to_rounding(*proof)


def _up_to_rounding(certificate: Certificate, reading: Reading) -> Certificate:
    """Return the certificate, proved under this reading of literals and approximations, as `proved up to rounding`."""
    change = msgspec.structs.replace
    claims = [
        with_cases(
            claim,
            (change(case, verdict="proved up to rounding") for case in claim.cases),
            idealisations=sorted([*claim.idealisations, *reading.idealisations()]),
        )
        for claim in certificate.claims
    ]
    literals = [LiteralMeaning(literal=literal.text, **form.data()) for literal, form in reading.meant.items()]
    return with_claims(certificate, claims, literals=literals)


def _audit(traces: Traces, reading: Reading) -> Certificate:
    """Return the certificate of an op under one reading of its literals: each case, each obligation.

    Raises StillOpenError if an obligation is not proved and the reading gives up then.
    """
    op = traces.op
    texts: list[str] = []
    traced_cases: list[TracedCase] = []
    record = Record({}, {}, {}, reading)
    claims: dict[str, list[CaseClaim]] = {kind: [] for kind in op.kinds}
    for case, instances in zip(op.cases, traces.families, strict=True):
        results, scope, case_texts, general_programs = proved_case(traces, instances, record)
        texts += case_texts
        traced_cases.append(_identity(op, case, traces.apart(instances.prove[0], general_programs)))
        for kind in op.kinds:
            claims[kind].append(case_claim(case, scope, results[kind]))
    finished = [joined_claim(op, kind, claims[kind], record.facts, record.notes) for kind in op.kinds]
    return certificate_of(
        op,
        finished,
        conventions=auditing.conventions.conventions(traces) if op.convention else [],
        digest=digest_of(texts),
        rules_used=_rules_used(record),
        traced=traced_cases,
    )


def _rules_used(record: Record) -> list[str]:
    """Return the names of the primitives' rules, the relations between loops, and the laws that the proofs used."""
    laws = (law for law in Law if law in record.laws)
    return [
        *(f"semantics of {name}" for name in sorted(record.primitives)),
        *sorted(record.relations),
        *(f"law: {law.title}" for law in laws),
    ]


def _identity(op: Subject, case: Case, programs: Programs) -> TracedCase:
    """Return the case with the digest of its programs, by which `verify` finds them again."""
    return TracedCase(
        signature=str(case.signature),
        statics={k: str(v) for k, v in case.statics.items()},
        digest=case_digest(op, case, {k: (p.jaxpr, p.consts) for k, p in programs.all().items()}),
    )
