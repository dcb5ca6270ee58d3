"""The numbers at the head of a page: rules by verdict, by hypotheses and by generality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from certgrad.obligations.certificate import AT_SIZES, ORDER, PROOFS, RANKS, Certificate
from certgrad.report.audited import Audit, count, hypotheses_of
from certgrad.report.html._verdicts import Mark, mark

ANY, SIGNED, INDUCTION, LISTED, BROADCAST, SIZES = (
    "all shapes, any rank",
    "all shapes of the signature",
    "all shapes, by induction over the graph",
    "all shapes, at the ranks listed",
    "all shapes that broadcast",
    "at sizes only",
)
NONE = "nothing is proved"
_ORDER = (ANY, INDUCTION, BROADCAST, SIGNED, LISTED, SIZES, NONE)
"""How general a claim is, the most general first."""


@dataclass(frozen=True)
class Share:
    """The number of rules with a verdict, and their share of all rules in percent."""

    mark: Mark
    verdict: str
    count: int
    percent: float


@dataclass(frozen=True)
class Summary:
    """The numbers of an audit."""

    total: int
    shares: list[Share]
    under: list[tuple[int, str]]
    generality: list[tuple[int, str]]
    coq: list[tuple[int, str]]
    versions: list[tuple[str, str]]
    seconds: float


def generality(certificate: Certificate) -> str:
    """Return for which shapes a rule is proved, by the least general of its claims."""
    if certificate.verdict == AT_SIZES or certificate.sizes:
        return SIZES
    if certificate.verdict not in PROOFS:
        return NONE
    generalities = {_of_scope(case.scope) for claim in certificate.claims for case in claim.cases}
    return max(generalities, key=_ORDER.index, default=NONE)


def _of_scope(scope: str) -> str:
    if "by induction" in scope:
        return INDUCTION
    if RANKS in scope:
        return LISTED
    if "broadcast" in scope:
        return BROADCAST
    return ANY if "any rank" in scope else SIGNED


def of_audit(audit: Audit) -> Summary:
    """Return the summary of an audit. Counts of 0 are left out."""
    certificates = audit.certificates
    counts = count(certificates)
    total = len(certificates)
    shares = [Share(mark(v), v, counts[v], round(100 * counts[v] / total, 3)) for v in ORDER if counts[v]]
    general = Counter(map(generality, certificates))
    accepted = Counter(one.coq for one, _ in audit.certified if one.coq)
    return Summary(
        total,
        shares,
        _hypothesis_counts(certificates),
        [(general[g], g) for g in _ORDER if general[g]],
        [(n, f"of {total} accepted by Coq {version}") for version, n in accepted.items()],
        _versions(certificates),
        audit.seconds,
    )


def _hypothesis_counts(certificates: Sequence[Certificate]) -> list[tuple[int, str]]:
    """Return the numbers of proved rules by how much their hypotheses exclude, without zeros."""
    proved = [c for c in certificates if c.verdict in (*PROOFS, AT_SIZES)]
    sorts = Counter(
        "with no hypothesis"
        if not (hypotheses := hypotheses_of(c))
        else "at all but a set of measure zero"
        if all(h.negligible for h in hypotheses)
        else "on a domain that excludes an open set"
        for c in proved
    )
    listed = ("with no hypothesis", "at all but a set of measure zero", "on a domain that excludes an open set")
    return [(sorts[text], text) for text in listed if sorts[text]]


def _versions(certificates: Sequence[Certificate]) -> list[tuple[str, str]]:
    """Return the libraries that certificates name, each with its versions."""
    by_name: dict[str, dict[str, None]] = {}
    for certificate in certificates:
        for name, version in certificate.versions.items():
            by_name.setdefault(name, {})[version] = None
    return [(name, ", ".join(versions)) for name, versions in by_name.items()]
