"""Targets that are code: modules, packages, files and objects whose derivative rules are audited."""

import importlib.util
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _library

if TYPE_CHECKING:
    from certgrad.obligations.certificate import Certificate
    from certgrad.rules._baseline import Looked
    from certgrad.rules._configuration import Configuration
    from certgrad.rules._findings import Finding, Remark
    from certgrad.rules._worker import RuleResult


@dataclass(frozen=True)
class Rule:
    """What came of one rule. `certificate` is None if it was not audited, or all its findings are ignored."""

    name: str
    where: str
    file: str
    certificate: "Certificate | None"
    seconds: float
    reproduction: str
    remarks: "tuple[Remark, ...]"
    notes: tuple[str, ...]

    @property
    def place(self) -> str:
        """Its name, and file and line."""
        return f"{self.name} ({self.where})" if self.where else self.name

    @property
    def missing(self) -> bool:
        """It is a rule, and no module that does not import, and could not be audited."""
        from certgrad.rules._findings import MISDECLARED, NOT_AUDITED

        unaudited = any(r.code in (NOT_AUDITED, MISDECLARED) for r in self.remarks)
        return self.certificate is None and ":" in self.name and unaudited

    @property
    def findings(self) -> "list[Finding]":
        """What is not proved, and what is remarked."""
        from certgrad.rules._findings import findings_of

        return findings_of(self.name, self.certificate, self.remarks)


@dataclass
class Code:
    """What came of the code targets."""

    rules: list[Rule] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """What the targets mean: modules and objects."""
    files: list[str] = field(default_factory=list)
    """The files of the modules that were looked at."""

    @property
    def findings(self) -> "set[Finding]":
        """Of all rules."""
        return {f for rule in self.rules for f in rule.findings}

    @property
    def looked(self) -> "Looked":
        """Where a rule would have been found."""
        from certgrad.rules._baseline import Looked
        from certgrad.rules._findings import MISDECLARED, NOT_AUDITED

        unseen = [rule.name for rule in self.rules if any(r.code in (NOT_AUDITED, MISDECLARED) for r in rule.remarks)]
        return Looked(tuple(self.names), tuple(unseen))


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
    if Path(f"{target}.py").is_file():
        return True
    try:
        return importlib.util.find_spec(target) is not None
    except (ImportError, ValueError):
        return False


def audit(targets: Sequence[str], shown: Callable[[str], None] = lambda name: None, conformance: bool = True) -> Code:
    """Audit the rules that the targets hold. Raises UsageError where a target does not import or names nothing."""
    from certgrad.rules._isolated import audit_targets
    from certgrad.rules._worker import RuleResult

    out = Code()
    known: set[str] = set()
    for result in audit_targets(targets, conformance=conformance):
        if not isinstance(result, RuleResult):
            out.names += result.names
            out.files += result.files
            continue
        if result.name in known:
            continue  # two targets may hold the same rule
        known.add(result.name)
        out.rules.append(rule_of(result))
    return out


def rule_of(result: "RuleResult") -> Rule:
    """What a process says of a rule."""
    from certgrad.report import json

    certificate = json.decode(result.certificate) if result.certificate else None
    return Rule(
        result.name,
        result.where,
        result.file,
        certificate if certificate and certificate.claims else None,
        result.seconds,
        result.reproduction,
        tuple(result.remarks),
        tuple(result.notes),
    )


def by_file(code: Code) -> list[str]:
    """For each file how many rules it has, and which of them were left out."""
    files = dict.fromkeys([*code.files, *(rule.file for rule in code.rules if ":" in rule.name)])
    lines, without = [], 0
    for file in filter(None, files):
        rules = [rule for rule in code.rules if rule.file == file]
        left = [rule.name.partition(":")[2] for rule in rules if rule.missing]
        if not rules:
            without += 1
            continue
        count = len(rules) - len(left)
        audited = "all" if not left and count > 1 else str(count)
        text = f"{_shown(file)}: {counted(len(rules), 'rule')} found, {audited} audited"
        lines.append(text + (f"; left out: {', '.join(left)}" if left else ""))
    if without:
        other = " other" if lines else ""
        lines.append(f"no derivative rule in {counted(without, f'{other} file'.strip())}")
    return lines


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def counted(number: int, word: str) -> str:
    """`1 rule`, `2 rules`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def unknown_signatures(code: Code, configuration: "Configuration") -> list[str]:
    """Configured signatures of rules that are not there."""
    names: Collection[str] = {rule.name for rule in code.rules}
    gone = [n for n in configuration.signatures if n not in names and code.looked.at(n)]
    return [f"[tool.certgrad.signatures] in '{configuration.file}' has '{n}', and there is no such rule" for n in gone]


def show(notes: Sequence[str]) -> None:
    """Print the notes on stderr, each one line."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)
