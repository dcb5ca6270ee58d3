"""The audit as a linter prints it: a line for each finding, then the counts, which alone mention what is proved."""

from pathlib import Path

from certgrad.report.audited import Audit, summary
from certgrad.report.problems import Level, Problem, path, problems
from certgrad.report.wording import duration


def render(audit: Audit, base: Path, counts: str = "") -> str:
    """Return a line `path:line: CODE rule: what is wrong` for each listed finding, then the counts.

    Paths are relative to `base` where they are below it. `counts` replaces the counts of the verdicts.
    """
    lines = [_line(one, base) for one in problems(audit) if listed(one)]
    counts = counts or summary(audit.certificates, audit.missing)
    return "\n".join([*lines, f"{counts} ({duration(audit.seconds)})"]) + "\n"


def listed(problem: Problem) -> bool:
    """Return whether a problem has a line: it is an error or a warning, and no baseline lists it."""
    return not problem.covered and problem.level is not Level.note


def failing(audit: Audit, base: Path) -> list[str]:
    """Return the lines of the problems on which the audit fails."""
    return [_line(one, base) for one in problems(audit) if one.level is Level.error]


def _line(problem: Problem, base: Path) -> str:
    file = path(problem.place, base)
    at = f"{file}:{problem.place.line}: " if file else ""
    return f"{at}{problem.code} {problem.rule}: {problem.brief}"
