"""What an audit learns of code beside its proof, for `verify` to compare: without terms and without a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certgrad.errors import CertgradError
from certgrad.obligations.certificate import Claim
from certgrad.obligations.generality.hidden import untraceable
from certgrad.obligations.generality.looks import Looks, digest_of, scope_of
from certgrad.obligations.generality.traces import Traces
from certgrad.process.threads import without_collection

from .cases import proved_in
from .measured import conformances, is_about, scope_with, unlike_what_runs


@dataclass(frozen=True)
class Heard:
    """What a certificate of this code must be about.

    `digest` is the digest of the programs of all traces. `scopes` has, for each case, the shapes, ranks and dtypes that
    a claim may be about.
    """

    digest: str = ""
    scopes: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """Sizes at which the programs are others than the general ones, as `n = 9`."""
    problems: tuple[str, ...] = ()
    """Why no claim can be made of all shapes, or of what runs."""


def heard(traces: Traces, claims: Sequence[Claim]) -> Heard:
    """Return what a subject's code asks of sizes, ranks, dtypes and state, and whether what runs is what was traced.

    A difference between what runs and what was traced is a problem only if one of the `claims`, which are proved, is
    about the programs that differ.
    """
    if why := untraceable(traces.op):
        return Heard(problems=(why,))
    try:
        with without_collection():
            return _heard(traces, claims)
    except CertgradError as error:
        return Heard(problems=(str(error),))


def _heard(traces: Traces, claims: Sequence[Claim]) -> Heard:
    """Return the digest of all traces, the scopes of the cases, and the differences that were seen.

    All traces of an audit are made again for it. If nothing could be proved of the code, the result has only the
    problems that say why.
    """
    texts: list[str] = []
    scopes: list[str] = []
    differing_places: dict[str, None] = {}
    for family in traces.families:
        dtypes = proved_in(traces, family.prove[0], family.compare)
        looks = [Looks(width_traces, family, dtypes.numbers) for width_traces in dtypes.traces]
        all_looks = [look for looks_at_width in looks for look in looks_at_width]
        problems = [dtypes.unproved, *(look.problem for look in all_looks)]
        if any(problems):
            return Heard(problems=tuple(dict.fromkeys(filter(None, problems))))
        texts += [look.text for look in all_looks]
        differing_places |= dict.fromkeys(look.where for look in all_looks if look.where)
        scopes.append(scope_of(traces.op, family, dtypes.only, looks))
    run = traces.as_run()
    if hidden := unlike_what_runs(traces, run):
        return Heard(problems=(hidden.reason,))
    measured = conformances(run) if run.op.conformance else []
    differences = [r.difference for r in measured if r.difference is not None]
    reasons = [d.reason for d in differences if any(is_about(d, claim.kind) for claim in claims)]
    scopes = [scope_with(scope, r) for scope, r in zip(scopes, measured, strict=True)] if measured else scopes
    return Heard(digest_of(texts), tuple(scopes), tuple(differing_places), tuple(dict.fromkeys(reasons)))
