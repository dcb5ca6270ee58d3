"""Which findings an audit prints, and on which it fails.

Findings are filtered in this order: by comments on a definition, per-file-ignores, `--select` and `--ignore`, the
baseline, `--strict` and `--fail-on`.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from certgrad.cli._code import Code, pluralized
from certgrad.cli._select import Selection
from certgrad.obligations.certificate import ORDER, PROVED_AS_WRITTEN, VerdictName

if TYPE_CHECKING:
    from certgrad.report.audited import Audit, RuleResult
    from certgrad.report.findings import Finding
    from certgrad.rules.project.configuration import Configuration


def selected(code: Code, selection: Selection, configuration: "Configuration") -> "list[RuleResult]":
    """Return the results of all rules, without the claims and remarks that are ignored by path or not selected."""
    out = []
    for rule in code.rules:
        dropped = configuration.ignored_in(rule.place.file)
        for_file = replace(selection, ignore=replace(selection.ignore, codes=(*selection.ignore.codes, *dropped)))
        certificate = for_file.narrow(rule.certificate) if rule.certificate else None
        remarks = [r for r in rule.remarks if not for_file.ignore.matches_code(r.code)]
        ignored = list(for_file.ignored(rule.certificate)) if rule.certificate else rule.ignored
        out.append(msgspec.structs.replace(rule, certificate=certificate, remarks=remarks, ignored=ignored))
    return out


def covered(rules: "Iterable[RuleResult]", baseline: "Collection[Finding]") -> "list[RuleResult]":
    """Return the results, each with the codes of its findings that the baseline lists in `covered`."""
    return [
        msgspec.structs.replace(rule, covered=sorted({f.code for f in rule.findings if f in baseline}))
        for rule in rules
    ]


def notes(audit: "Audit", *, brief: bool = False, rows: bool = False) -> list[str]:
    """Return the notes on rules that stand beside the findings: remarks, and lines that count remarks.

    With `brief` (the concise format), remarks that are lines there are left out, and the others counted. With `rows`
    (the text format), remarks that stand in a rule's row, or that `--strict` lists as failures, are left out. Remarks
    on inferred shapes are counted if many rules have one.
    """
    from certgrad.report import concise
    from certgrad.report.findings import CODES_IN_A_ROW, IGNORED, INFERRED
    from certgrad.report.problems import MOST_RULES_NAMED, Level, of_row, remarks_of

    texts: list[str] = []
    counts: Counter[tuple[str, str]] = Counter()
    many = sum(r.code == INFERRED for rule in audit.results for r in rule.remarks) > MOST_RULES_NAMED
    for rule in audit.results:
        noted = [r for r in remarks_of(rule, strict=audit.strict) if not (r.covered or (brief and concise.listed(r)))]
        if rows and audit.certified:
            in_row = {r.code for r in of_row(rule)}
            noted = [r for r in noted if not (r.code in in_row or (audit.strict and r.level is Level.error))]
        counted_codes = CODES_IN_A_ROW if rows else {INFERRED}
        of_many = [r for r in noted if many and r.code in counted_codes and not concise.listed(r)]
        counted_only = [r for r in noted if r in of_many or (brief and r.code != IGNORED)]
        counts.update((r.code, r.verdict) for r in counted_only)
        texts += [f"{r.code} {rule.named}: {r.text}" for r in noted if r not in counted_only]
        texts += [f"{rule.named}: {note}" for note in rule.notes]
    count_lines = (
        f"{code} {what}: {pluralized(n, 'rule')}; --strict lists {'it' if n == 1 else 'them'}"
        for (code, what), n in counts.items()
    )
    return [*count_lines, *texts]


def failed(audit: "Audit") -> bool:
    """Return whether the audit has a failure that the baseline does not list.

    By default these are: refuted, contradicted in floats, a declaration that does not fit, and a module that does not
    import.
    """
    from certgrad.report.problems import Level, gravest, problems

    return gravest(problems(audit)) is Level.error


def failing(named: Collection[str], *, strict: bool) -> frozenset[VerdictName]:
    """Return the verdicts to fail on: the `named` ones, or else refuted.

    With `strict`, also every verdict that is no proof of the rule as it is written.
    """
    return frozenset(v for v in ORDER if v in (named or ("refuted",)) or (strict and v not in PROVED_AS_WRITTEN))
