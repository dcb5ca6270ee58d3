"""What an audit found, one record a finding or remark: what tools for code review, editors and CI show at a line."""

import hashlib
import os.path
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from certgrad.obligations.certificate import CaseClaim, Certificate, Claim, fails, verdict_text
from certgrad.report import brief, wording
from certgrad.report import findings as _findings
from certgrad.report.audited import Audit, Place, RuleResult, case_name, is_discharged, open_cases, told_once
from certgrad.report.codes import CODES, REMARKS
from certgrad.report.labelled import fields, witness_rows


class Level(StrEnum):
    """The severity of a problem. The audit fails on errors."""

    error = "error"
    warning = "warning"
    note = "note"


@dataclass(frozen=True)
class Problem:
    """An obligation that is not proved, or a remark."""

    rule: str
    code: str
    verdict: str
    title: str
    """One line: the code, the rule, the verdict."""
    brief: str
    """What is wrong, in one line without them."""
    text: str
    """All of it: the reason and the mend, the claim, the witness. Several lines."""
    level: Level
    place: Place
    line: int
    """In the rule's file: where it is wrong, if that is known, or else where the rule is."""
    fingerprint: str
    """The same while the finding is: it does not change when code is moved."""
    covered: bool = False
    """The project's baseline lists it."""


def problems(audit: Audit) -> list[Problem]:
    """Findings in the order of the rules, then remarks."""
    found = [
        _of_claim(audit, one, certificate, claim, also[claim.code])
        for one, certificate in audit.certified
        for also in [told_once(certificate, one.covered or ())]
        for claim in _open_claims(certificate, audit.failing)
        if claim.code in also
    ]
    return [*found, *remarks(audit)]


def remarks(audit: Audit) -> list[Problem]:
    """Return the remarks on each rule: what its proof does not cover, or why there is none."""
    return [remark for one in audit.results for remark in remarks_of(one, strict=audit.strict)]


def remarks_of(one: RuleResult, *, strict: _findings.Strictness) -> list[Problem]:
    """Return the same of one rule; with `strict`, an audit fails on remarks."""
    found = [_of_remark(one, remark, strict) for remark in one.remarks]
    if one.ignored:  # no row and no finding is left of it, and nothing that fails
        remark = _findings.Remark(_findings.IGNORED, f"every obligation is ignored: {', '.join(one.ignored)}")
        found.append(replace(_of_remark(one, remark, False), covered=False))
    return found


MOST_RULES_NAMED = 3
"""Of so many rules each is told that its shapes are inferred, and the like."""


def told_each(found: Sequence[Problem]) -> tuple[list[Problem], list[str]]:
    """Return the problems to report one by one, and lines that count the others: notes that many rules have and that
    limit none.
    """
    plain = [p for p in found if p.level is Level.note and p.code in _findings.CODES_IN_A_ROW]
    counts = {code: n for code, n in Counter(p.code for p in plain).items() if n > MOST_RULES_NAMED}
    listed = [f"{code} {_findings.REMARKS[code]}: {n} rules; --strict lists them" for code, n in counts.items()]
    return [p for p in found if p.code not in counts or p not in plain], listed


def of_row(one: RuleResult) -> list[Problem]:
    """Return the remarks that limit a rule's row: warnings, and those in no other line of the row."""
    found = remarks_of(one, strict=False) if one.certificate is not None else []
    return [r for r in found if not r.covered and (r.level is not Level.note or r.code not in _findings.CODES_IN_A_ROW)]


def ignored(audit: Audit) -> list[str]:
    """Return, for each rule with ignored obligations, its verdict without them."""
    return [
        f"{certificate.op}: {verdict_text(certificate)}" for certificate in audit.certificates if certificate.ignored
    ]


def gravest(found: Sequence[Problem]) -> Level | None:
    """Return the gravest level among them, if there is one."""
    return min((p.level for p in found), key=[*Level].index, default=None)


def path(place: Place, base: Path) -> str:
    """The place's file with slashes, from the base where it is inside, else in full; empty where there is none."""
    if not place.file:
        return ""
    file = Path(os.path.abspath(place.file))
    return (file.relative_to(base) if file.is_relative_to(base) else file).as_posix()


def _open_claims(certificate: Certificate, failing: frozenset) -> list[Claim]:
    """Return the claims that are not proved, or whose verdict fails the audit."""
    return [c for c in certificate.claims if fails(c, failing) or not is_discharged(c.verdict)]


def _of_claim(audit: Audit, one: RuleResult, certificate: Certificate, claim: Claim, also: Sequence[str]) -> Problem:
    rule = certificate.op
    covered = claim.code in (one.covered or ())
    said = next(f for f in _findings.findings_of(rule, certificate) if f.code == claim.code)
    cases = _cases(certificate, claim)
    return Problem(
        rule,
        claim.code,
        claim.verdict,
        f"{claim.code} {claim.id}: {claim.verdict}",
        brief.in_one_line(brief.of_claim(one, claim, cases, also)),
        _text(claim, cases, also, one.reproduction if claim.verdict == "refuted" else ""),
        Level.note if covered else _level(claim, audit.failing),
        one.place,
        brief.faulty_line(one, cases) or one.place.line,
        _fingerprint(said),
        covered,
    )


def _cases(certificate: Certificate, claim: Claim) -> list[CaseClaim]:
    """Return the cases to report: those that are not proved; or of a proof with limits, the most limited ones."""
    bare = [case for open_claim, case in open_cases([certificate]) if open_claim is claim]
    return bare or [c for c in claim.cases if c.verdict == claim.verdict]


def _text(claim: Claim, cases: Sequence[CaseClaim], also: Sequence[str], reproduction: str) -> str:
    """Return a claim's text, the reason first: it is what a list of problems shows, and names the mend."""
    parts = [CODES[claim.code].title[0].upper() + CODES[claim.code].title[1:] + f": {claim.verdict}."]
    parts += [f"{wording.open_too(also)}."] if also else []
    for case in cases:
        rows = [("claim", claim.statement), ("case", case_name(case)), ("residual", case.residual)]
        rows += witness_rows(case.witness) if case.witness is not None else []
        parts += ["", *case.reason.splitlines(), *fields(rows)]
    if reproduction:
        parts += ["", "to reproduce:", reproduction.rstrip("\n")]
    return "\n".join(parts)


def _of_remark(one: RuleResult, remark: _findings.Remark, strict: _findings.Strictness) -> Problem:
    code = remark.code
    covered = code in (one.covered or ())
    failing = _findings.fatal(code, strict)
    (said,) = _findings.findings_of(one.name, None, [remark])
    return Problem(
        one.name,
        code,
        _findings.REMARKS[code],
        f"{code} {one.name}: {REMARKS[code].title}",
        brief.in_one_line(remark.brief or remark.text),
        remark.text,
        Level.note if covered else Level.error if failing else _unfailing(one, remark),
        one.place,
        one.place.line,
        _fingerprint(said),
        covered,
    )


def _unfailing(one: RuleResult, remark: _findings.Remark) -> Level:
    """Return the level of a remark on which the audit does not fail.

    It is more than a note where nothing is known of the rule, or where it is proved, and wrong at shapes that may be
    meant.
    """
    proved = one.certificate is not None and is_discharged(one.certificate.verdict)
    return (
        Level.warning
        if (proved and remark.wrong_at_other_shapes) or remark.code == _findings.NOT_AUDITED
        else Level.note
    )


def _level(claim: Claim, failing: frozenset) -> Level:
    if fails(claim, failing):
        return Level.error
    return Level.note if claim.verdict == "surrogate" else Level.warning


def _fingerprint(said: _findings.Finding) -> str:
    return hashlib.blake2b(
        "\0".join([said.rule, said.code, said.verdict, said.digest]).encode(), digest_size=16
    ).hexdigest()
