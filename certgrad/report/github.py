"""Annotations of GitHub Actions: workflow commands, a line a finding, shown at the lines of a pull request.

Their syntax: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from pathlib import Path

from certgrad.report.audited import Audit, summary
from certgrad.report.problems import Level, Problem, ignored, path, problems, told_each

_COMMANDS = {Level.error: "error", Level.warning: "warning", Level.note: "notice"}


def render(audit: Audit, base: Path) -> str:
    """Return the annotations, and the summary line. Files are named from `base`, the root of the repository.

    What the baseline lists is not annotated: it would stand in every pull request.
    """
    told, counted = told_each([p for p in problems(audit) if not p.covered])  # GitHub shows ten notices, and no more
    lines = [_annotation(p, base) for p in told]
    lines += [f"::notice title=certgrad::{_escaped(said)}" for said in counted]
    lines += [f"::notice title=certgrad::{_escaped(said)}" for said in ignored(audit)]
    lines += [f"::error title=certgrad::{_escaped(problem)}" for problem in audit.problems]
    return "\n".join([*lines, summary(audit.certificates, audit.missing)]) + "\n"


def _annotation(problem: Problem, base: Path) -> str:
    file = path(problem.place, base)
    where = {"file": file, "line": str(problem.place.line)} if file else {}
    properties = ",".join(f"{k}={_escaped(v, ':,')}" for k, v in {**where, "title": problem.title}.items())
    return f"::{_COMMANDS[problem.level]} {properties}::{_escaped(problem.text)}"


def _escaped(text: str, more: str = "") -> str:
    """Return the text with what would end the command, or a property of it, as percent codes."""
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)
