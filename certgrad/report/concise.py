"""The audit as a linter prints it: a line a finding, then the counts. What is proved is in the counts alone."""

from pathlib import Path

from certgrad.report.audited import Audit, summary
from certgrad.report.problems import Level, Problem, path, problems
from certgrad.report.wording import duration


def render(audit: Audit, base: Path, counts: str = "") -> str:
    """`path:line: CODE rule: what is wrong` for each finding that is listed, then the counts: those of the verdicts, if
    no others are given. Files are named from `base`, where they are inside.
    """
    lines = [_line(one, base) for one in problems(audit) if listed(one)]
    counts = counts or summary(audit.certificates, audit.missing)
    return "\n".join([*lines, f"{counts} ({duration(audit.seconds)})"]) + "\n"


def listed(problem: Problem) -> bool:
    """Return whether a problem has a line: the audit fails on it, or it is not proved; and no baseline lists it."""
    return not problem.covered and problem.level is not Level.note


def failing(audit: Audit, base: Path) -> list[str]:
    """Return the lines of what the audit fails on."""
    return [_line(one, base) for one in problems(audit) if one.level is Level.error]


def _line(problem: Problem, base: Path) -> str:
    file = path(problem.place, base)
    at = f"{file}:{problem.place.line}: " if file else ""
    return f"{at}{problem.code} {problem.rule}: {problem.brief}"
