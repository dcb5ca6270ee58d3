"""Targets that are code: modules, packages, files and objects whose derivative rules are audited."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _library
from certgrad.report.audited import Audited

if TYPE_CHECKING:
    from certgrad.rules._configuration import Configuration
    from certgrad.rules._worker import RuleResult


@dataclass
class Code:
    """What came of the code targets: the audited rules, and what is to be said of rules beside their certificates."""

    audited: list[Audited] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lenient: bool = False
    """Something was found that `--strict` does not accept: a rule not audited, inferred shapes, no gradient."""


def configured() -> "Configuration":
    """What the nearest pyproject.toml says."""
    from certgrad.rules._configuration import nearest

    return nearest(Path.cwd())


def split(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """The ops of the library among the targets, and the code."""
    ops: list[str] = []
    code: list[str] = []
    for target in targets:
        (code if _is_code(target) else ops).append(target)
    return ops, code


def _is_code(target: str) -> bool:
    if any(mark in target for mark in (":", "/", ".")) or Path(target).is_dir():
        return True
    if target in _library.names() or target in _library.aliases():
        return False
    try:
        return importlib.util.find_spec(target) is not None
    except (ImportError, ValueError):
        return False


def audit(targets: Sequence[str]) -> Code:
    """Audit the rules that the targets hold. Raises UsageError where a target does not import or names nothing."""
    from certgrad.report import json
    from certgrad.rules._isolated import audit_targets

    out = Code()
    for result in audit_targets(targets):
        place = f"{result.name} ({result.where})" if result.where else result.name
        if result.problem:
            out.notes.append(f"{place} was not audited: {result.problem}")
            out.lenient = True
            continue
        out.audited.append(Audited(json.decode(result.certificate), result.seconds, result.reproduction))
        out.notes += [f"{place}: {note}" for note in _notes(result)]
        out.lenient = (
            out.lenient or result.origin == "inferred" or bool(result.undifferentiated or result.without_gradient)
        )
    return out


def _notes(result: "RuleResult") -> Iterator[str]:
    if result.origin == "inferred":
        yield "its shapes are inferred, as nothing declares them; certgrad.declare does"
    if result.undifferentiated:
        yield f"no claim is made about {', '.join(result.undifferentiated)}"
    if result.without_gradient:
        yield f"no gradient for {', '.join(result.without_gradient)}"
    if result.surrogate:
        yield f"a surrogate by intent: {result.surrogate}"


def show(notes: Sequence[str]) -> None:
    """Print the notes on stderr, each one line."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)
