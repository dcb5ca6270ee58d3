"""Annotations of GitHub Actions: workflow commands, a line a finding, shown at the lines of a pull request.

Their syntax: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from pathlib import Path

from certgrad.report.audited import Audit, summary
from certgrad.report.problems import Level, Problem, ignored, path, problems, told_each

_COMMANDS = {Level.error: "error", Level.warning: "warning", Level.note: "notice"}


def render(audit: Audit, base: Path) -> str:
    """Return the annotations and the summary line. Paths are relative to `base`, the root of the repository.

    Findings in the baseline are left out: they would be shown in every pull request.
    """
    single_problems, count_lines = told_each(
        [p for p in problems(audit) if not p.covered]
    )  # GitHub shows at most ten notices
    lines = [_annotation(p, base) for p in single_problems]
    lines += [f"::notice title=certgrad::{_escaped(text)}" for text in count_lines]
    lines += [f"::notice title=certgrad::{_escaped(text)}" for text in ignored(audit)]
    lines += [f"::error title=certgrad::{_escaped(problem)}" for problem in audit.problems]
    return "\n".join([*lines, summary(audit.certificates, audit.missing)]) + "\n"


def _annotation(problem: Problem, base: Path) -> str:
    file = path(problem.place, base)
    where = {"file": file, "line": str(problem.place.line)} if file else {}
    properties = ",".join(f"{k}={_escaped(v, ':,')}" for k, v in {**where, "title": problem.title}.items())
    return f"::{_COMMANDS[problem.level]} {properties}::{_escaped(problem.text)}"


def _escaped(text: str, more: str = "") -> str:
    """Return the text with percent codes for characters that would end the command, and for those in `more`."""
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)
