"""Findings and remarks as records with a line, which tools for code review, editors and CI show."""

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
    """The severity of a problem, the gravest first. The audit fails on errors."""

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
    """What is wrong, in one line without the code, the rule and the verdict."""
    text: str
    """All about the problem in several lines: the reason and the mend, the claim, the witness."""
    level: Level
    place: Place
    line: int
    """A line of the rule's file: the one that is wrong, if that is known, or else that of the rule."""
    fingerprint: str
    """An identifier of the finding that does not change when code is moved."""
    covered: bool = False
    """Whether the project's baseline lists the problem."""


def problems(audit: Audit) -> list[Problem]:
    """Return the findings in the order of the rules, then the remarks."""
    findings = [
        _of_claim(audit, one, certificate, claim, also[claim.code])
        for one, certificate in audit.certified
        for also in [told_once(certificate, one.covered or ())]
        for claim in _open_claims(certificate, audit.failing)
        if claim.code in also
    ]
    return [*findings, *remarks(audit)]


def remarks(audit: Audit) -> list[Problem]:
    """Return the remarks on each rule: what its proof does not cover, or why there is none."""
    return [remark for one in audit.results for remark in remarks_of(one, strict=audit.strict)]


def remarks_of(one: RuleResult, *, strict: _findings.Strictness) -> list[Problem]:
    """Return the remarks on one rule as problems; `strict` says on which an audit fails.

    If all obligations of the rule are ignored, a remark says so.
    """
    of_rule = [_of_remark(one, remark, strict) for remark in one.remarks]
    if one.ignored:  # no row and no finding mentions the rule otherwise
        remark = _findings.Remark(_findings.IGNORED, f"every obligation is ignored: {', '.join(one.ignored)}")
        of_rule.append(replace(_of_remark(one, remark, False), covered=False))
    return of_rule


MOST_RULES_NAMED = 3
"""For up to this many rules, notes of one code (inferred shapes, say) are reported one by one, else counted."""


def told_each(found: Sequence[Problem]) -> tuple[list[Problem], list[str]]:
    """Return the problems to report one by one, and lines that count the others.

    Counted are notes that are also in the rows of rules, if more than `MOST_RULES_NAMED` rules have them.
    """
    countable = [p for p in found if p.level is Level.note and p.code in _findings.CODES_IN_A_ROW]
    counts = {code: n for code, n in Counter(p.code for p in countable).items() if n > MOST_RULES_NAMED}
    count_lines = [f"{code} {_findings.REMARKS[code]}: {n} rules; --strict lists them" for code, n in counts.items()]
    return [p for p in found if p.code not in counts or p not in countable], count_lines


def of_row(one: RuleResult) -> list[Problem]:
    """Return the remarks that are shown with a rule's row: warnings, and notes that the row itself does not say."""
    rule_remarks = remarks_of(one, strict=False) if one.certificate is not None else []
    return [
        r
        for r in rule_remarks
        if not r.covered and (r.level is not Level.note or r.code not in _findings.CODES_IN_A_ROW)
    ]


def ignored(audit: Audit) -> list[str]:
    """Return a line for each rule with ignored obligations: its verdict, which says that some are ignored."""
    return [
        f"{certificate.op}: {verdict_text(certificate)}" for certificate in audit.certificates if certificate.ignored
    ]


def gravest(found: Sequence[Problem]) -> Level | None:
    """Return the gravest level among the problems; None without problems."""
    return min((p.level for p in found), key=[*Level].index, default=None)


def path(place: Place, base: Path) -> str:
    """Return the file of a place with slashes, relative to `base` if it is below that; "" if there is no file."""
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
    finding = next(f for f in _findings.findings_of(rule, certificate) if f.code == claim.code)
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
        _fingerprint(finding),
        covered,
    )


def _cases(certificate: Certificate, claim: Claim) -> list[CaseClaim]:
    """Return the cases to report: those that are not proved, or else those with the verdict of the claim."""
    unproved = [case for open_claim, case in open_cases([certificate]) if open_claim is claim]
    return unproved or [c for c in claim.cases if c.verdict == claim.verdict]


def _text(claim: Claim, cases: Sequence[CaseClaim], also: Sequence[str], reproduction: str) -> str:
    """Return the text on a claim, with the reason first, as lists of problems show the beginning."""
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
    (finding,) = _findings.findings_of(one.name, None, [remark])
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
        _fingerprint(finding),
        covered,
    )


def _unfailing(one: RuleResult, remark: _findings.Remark) -> Level:
    """Return the level of a remark on which the audit does not fail: warning or note.

    It is a warning if the rule was not audited, or if it is proved and wrong at other shapes that may be meant.
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
