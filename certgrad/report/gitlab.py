"""GitLab's Code Quality report: findings, which a merge request lists and shows at their lines.

The format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from pathlib import Path
from typing import Any

import msgspec

from certgrad.report.audited import Audit
from certgrad.report.problems import Level, Problem, path, problems

_SEVERITIES = {Level.error: "major", Level.warning: "minor", Level.note: "info"}
_NOWHERE = "."
"""The path of entries without a file, as GitLab takes none without a path."""


def render(audit: Audit, base: Path) -> bytes:
    """Return an entry for each finding and remark. Paths are relative to `base`, the root of the repository.

    Findings in the baseline are left out: they would be in every report.
    """
    entries = [_entry(problem, base) for problem in problems(audit) if not problem.covered]
    entries += [
        _code_quality_entry(problem_text, "certgrad", problem_text, "blocker", _NOWHERE, 1)
        for problem_text in audit.problems
    ]
    return msgspec.json.format(msgspec.json.encode(entries), indent=2) + b"\n"


def _entry(problem: Problem, base: Path) -> dict[str, Any]:
    description = f"{problem.code} {problem.rule}: {problem.brief}"
    file = path(problem.place, base) or _NOWHERE
    return _code_quality_entry(
        description, problem.code, problem.fingerprint, _SEVERITIES[problem.level], file, problem.line or 1
    )


def _code_quality_entry(said: str, check: str, fingerprint: str, severity: str, file: str, line: int) -> dict[str, Any]:
    """Return one entry of the report. GitLab shows only one of several entries with the same fingerprint."""
    return {
        "description": said,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": file, "lines": {"begin": line}},
    }
