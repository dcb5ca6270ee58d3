"""What of the findings an audit prints, and on which it fails: ignores, the baseline, `--strict`, `--fail-on`.

In this order: comments on a definition, per-file-ignores, `--select` and `--ignore`, the baseline, `--strict` and
`--fail-on`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from certgrad.cli import _library
from certgrad.cli._code import Code
from certgrad.cli._select import Selection
from certgrad.obligations.certificate import HOLDS, ORDER, VerdictName, fails
from certgrad.report.audited import Audited, Remarked
from certgrad.report.findings import ERRORS

if TYPE_CHECKING:
    from certgrad.report.findings import Finding
    from certgrad.rules._configuration import Configuration
    from certgrad.rules._worker import RuleResult


@dataclass(frozen=True)
class Judged:
    """What is left of an audit: rules with certificates, what to note, and whether there is something to fail on."""

    audited: list[Audited]
    notes: list[str]
    failed: bool
    covered: int
    """How many findings the baseline covers."""
    missing: int = 0
    """How many rules were found and could not be audited."""
    remarks: tuple[Remarked, ...] = ()
    failing: frozenset[VerdictName] = frozenset()
    """The verdicts to fail on."""


def selected(code: Code, selection: Selection, configuration: "Configuration") -> "list[RuleResult]":
    """The rules without what is ignored by path, or not selected."""
    out = []
    for rule in code.rules:
        dropped = configuration.ignored_in(rule.place.file)
        own = replace(selection, ignore=replace(selection.ignore, codes=(*selection.ignore.codes, *dropped)))
        certificate = own.narrow(rule.certificate) if rule.certificate else None
        remarks = [r for r in rule.remarks if not own.ignore.matches_code(r.code)]
        ignored = list(own.ignored(rule.certificate)) if rule.certificate else rule.ignored
        out.append(msgspec.structs.replace(rule, certificate=certificate, remarks=remarks, ignored=ignored))
    return out


def judge(
    rules: "Iterable[RuleResult]",
    library: Sequence[Audited],
    baseline: "Collection[Finding]",
    *,
    strict: bool,
    fail_on: Collection[str],
) -> Judged:
    """Which findings are left, and whether there is one to fail on: refuted or contradicted in floats, if nothing else
    is said, a declaration that does not fit, and a module that does not import.
    """
    verdicts = failing(fail_on, strict=strict)
    audited = list(library)
    notes: list[str] = []
    remarks: list[Remarked] = []
    failed = any(fails(claim, verdicts) for one in library for claim in one.certificate.claims)
    covered = missing = 0
    for rule in rules:
        missing += rule.missing
        known = {f.code for f in rule.findings if f in baseline}
        covered += len(known)
        if rule.certificate is not None:
            exhibit = _library.decoded(rule.exhibit)
            own = rule.certificate, rule.seconds, rule.reproduction, rule.place
            audited.append(Audited(*own, frozenset(known), exhibit))
            claims = [c for c in rule.certificate.claims if c.code not in known]
            failed = failed or any(fails(c, verdicts) for c in claims)
        said = [
            Remarked(rule.name, r.code, r.text, rule.place, strict or r.code in ERRORS, r.code in known)
            for r in rule.remarks
        ]
        if rule.ignored:  # no row and no finding is left of it, and nothing that fails
            said.append(Remarked(rule.name, _IGNORED, ALL.format(", ".join(rule.ignored)), rule.place))
        remarks += said
        notes += [f"{r.code} {rule.named}: {r.text}" for r in said if not r.covered]
        notes += [f"{rule.named}: {note}" for note in rule.notes]
        failed = failed or any(r.fails for r in said if not r.covered)
    return Judged(audited, notes, failed, covered, missing, tuple(remarks), verdicts)


def failing(named: Collection[str], *, strict: bool) -> frozenset[VerdictName]:
    """The verdicts to fail on: those that are named, or else refuted; strictly all that is not proved as written."""
    return frozenset(v for v in ORDER if v in (named or ("refuted",)) or (strict and v not in HOLDS))


ALL = "every obligation is ignored: {}"
_IGNORED = "CG205"
