"""The audit of targets that are code: modules, packages, files and objects with derivative rules."""

import importlib.util
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _library
from certgrad.cli._console import Watch
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad._plugins import Plugin
    from certgrad.report.audited import RuleResult
    from certgrad.report.findings import Finding
    from certgrad.rules.finding.find import FoundRule
    from certgrad.rules.project.baseline import AuditScope
    from certgrad.rules.project.configuration import Configuration


@dataclass(frozen=True)
class Limits:
    """Seconds that the audit of one rule, and one import, may take."""

    rule: float
    importing: float


@dataclass
class Code:
    """The results of the code targets of an audit."""

    rules: "list[RuleResult]" = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """The names of the modules and objects that the targets stand for."""
    files: list[str] = field(default_factory=list)
    """The files of the modules that were searched for rules."""
    passed_over: list[str] = field(default_factory=list)
    """The files that were not imported, such as tests."""
    with_rules: list[str] = field(default_factory=list)
    """The files among `passed_over` whose text makes a rule."""
    of_target: dict[str, list[str]] = field(default_factory=dict)
    """The names of each target's rules."""
    problems: list[str] = field(default_factory=list)
    """For each target that could not be audited, the reason."""
    interrupted: bool = False
    unreached: list[str] = field(default_factory=list)
    """The rules, and the targets whose rules are not known yet, that an interruption left out."""

    def whole(self) -> "Code":
        """Return these results if they are complete. Raises UsageError or KeyboardInterrupt if some are missing."""
        if self.problems:
            raise UsageError(self.problems[0])
        if self.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def findings(self) -> "set[Finding]":
        """The findings of all rules."""
        return {f for rule in self.rules for f in rule.findings}

    @property
    def audit_scope(self) -> "AuditScope":
        """The targets in which rules were searched for, with the names of rules that have no verdict."""
        from certgrad.report.findings import CODES_OF_UNAUDITED
        from certgrad.rules.project.baseline import AuditScope

        unseen = [rule.name for rule in self.rules if any(r.code in CODES_OF_UNAUDITED for r in rule.remarks)]
        return AuditScope(tuple(self.names), (*unseen, *self.unreached))


def configured() -> "Configuration":
    """Return the configuration in the nearest pyproject.toml."""
    from certgrad.rules.project.configuration import nearest

    return nearest(Path.cwd())


def limits(configuration: "Configuration") -> Limits:
    """Return the limits of time of a project, which are configured or the defaults."""
    return Limits(configuration.timeout, configuration.import_timeout)


def split_targets(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the targets that are ops of the library, and the targets that are code."""
    ops: list[str] = []
    code: list[str] = []
    for target in targets:
        (code if _is_code(target) else ops).append(target)
    return ops, code


def _is_code(target: str) -> bool:
    """Return whether a target is code: a path, a dotted name, or a name of no op of which there is a module."""
    if any(mark in target for mark in (":", "/", ".")) or Path(target).is_dir():
        return True
    if _library.has(target):
        return False
    if any(Path(root, name).exists() for root in ("", "src") for name in (target, f"{target}.py")):
        return True
    try:
        return importlib.util.find_spec(target) is not None
    except (ImportError, ValueError):
        return False


@lru_cache(maxsize=8)
def found_in(target: str) -> "dict[str, FoundRule]":
    """Return the rules of a target by name; the target is imported in this process."""
    from certgrad.rules.finding.find import find

    return {rule.name: rule for rule in find(target).rules}


def without_target(rule: str) -> str:
    """Return the message that the certificate of a rule needs --target to be checked."""
    return (
        f"this is the certificate of the rule {rule}. Name the code that it is checked against, such as --target "
        f"{rule.partition(':')[0]}: that code is imported and traced, so a file does not choose it."
    )


def audit(
    targets: Sequence[str],
    limits: Limits,
    conformance: bool = True,
    jobs: int | None = None,
    watch: Watch | None = None,
    cache: Path | None = None,
    order: int = 1,
    plugins: "Mapping[str, Plugin] | None" = None,
    exhibits: bool = False,
    follow: "Callable[[RuleResult], None] | None" = None,
) -> Code:
    """Return the results of the rules in the targets.

    A target that does not import, or names nothing, is listed in `problems` of the result. Ctrl-C ends the audit: the
    results so far are returned, and `unreached` lists the rules without one.

    Args:
        targets: the code.
        limits: the seconds for one rule and for one import.
        conformance: compare the traced programs with calls.
        jobs: the number of processes; None: as many as are useful.
        watch: shows the progress.
        cache: the folder of earlier results; None: everything is proved anew.
        order: 2 audits the second derivatives of each rule as well.
        plugins: by target, the plugin that offers it; a problem of the target names it.
        exhibits: also make what a page shows of each rule beside its certificate.
        follow: is called with each result as soon as it is there.
    """
    from certgrad.report.audited import RuleResult
    from certgrad.rules.project.configuration import Budget
    from certgrad.rules.workers.crew import audit_targets
    from certgrad.rules.workers.worker import Begun, Failure, Seen

    budget = Budget(importing=limits.importing, auditing=limits.rule)
    watch = watch or Watch()
    seen: dict[str, Seen] = {}
    results: dict[str, RuleResult] = {}
    problems: dict[str, str] = {}
    interrupted = False
    try:
        for event in audit_targets(targets, budget, conformance, jobs, cache, order, exhibits):
            match event:
                case Begun():
                    watch.began(event.kind, event.name)
                case Seen():
                    seen[event.target] = event
                    watch.more(len(event.rules))
                case RuleResult():
                    results[event.name] = event
                    watch.finished(event.name)
                    if follow is not None:
                        follow(event)
                case Failure():
                    plugin = (plugins or {}).get(event.target)
                    about = f"{plugin.named}: {event.message} {plugin.mend}" if plugin else event.message
                    problems[event.target] = about
    except KeyboardInterrupt:
        interrupted = True
    out = Code(problems=[problems[t] for t in targets if t in problems], interrupted=interrupted)
    all_names = dict.fromkeys(rule.name for target in targets if target in seen for rule in seen[target].rules)
    for seen_target in (seen[t] for t in targets if t in seen):
        out.names += seen_target.names
        out.files += seen_target.files
        out.passed_over += seen_target.passed_over
        out.with_rules += seen_target.with_rules
        out.of_target[seen_target.target] = [rule.name for rule in seen_target.rules]
    out.rules = [
        rule for name in dict.fromkeys([*all_names, *results]) if name in results for rule in results[name].each
    ]
    if cache is not None and results:
        _library.tidy_cache(cache, next((r.cache_problem for r in results.values() if r.cache_problem), ""))
    if interrupted:
        out.unreached = [name for name in all_names if name not in results]
        out.unreached += [t for t in dict.fromkeys(targets) if t not in seen and t not in problems]
    return out


def by_file(code: Code) -> list[str]:
    """Return a line for each file: how many rules it has, and which were left out; none after an interruption."""
    from certgrad.report.audited import from_here

    if code.interrupted:
        return []
    placed = [(rule, rule.place.file) for rule in code.rules]
    files = dict.fromkeys([*code.files, *(file for rule, file in placed if ":" in rule.name)])
    lines, without = [], 0  # `without` counts the files without a rule
    for file in filter(None, files):
        rules = [rule for rule, its_file in placed if its_file == file and not rule.of]
        left_out = [rule.name.partition(":")[2] for rule in rules if rule.missing]
        if not rules:
            without += 1
            continue
        count = len(rules) - len(left_out)
        audited = "all" if not left_out and count > 1 else str(count)
        text = f"{from_here(file)}: {pluralized(len(rules), 'rule')} found, {audited} audited"
        lines.append(text + (f"; left out: {', '.join(left_out)}" if left_out else ""))
    if without:
        other_word = " other" if lines else ""
        lines.append(f"no derivative rule in {pluralized(without, f'{other_word} file'.strip())}")
    return [*lines, *of_passed_over(code)]


def of_passed_over(code: Code) -> list[str]:
    """Return a line on the files that were not imported, naming those that make rules; [] after an interruption."""
    from certgrad.report.audited import from_here

    if code.interrupted:
        return []
    passed_over = {*code.passed_over} - {*code.files, *(rule.file for rule in code.rules)}
    if not passed_over:
        return []
    text = f"{pluralized(len(passed_over), 'file')} not imported, as tests, conftest, setup and __main__ are not"
    named = ", ".join(from_here(file) for file in sorted(passed_over & {*code.with_rules}))
    return [text + (f"; these make rules, and are audited where they are targets: {named}" if named else "")]


def pluralized(number: int, word: str) -> str:
    """Return a number with a noun: `1 rule`, `2 rules`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def unknown_signatures(code: Code, configuration: "Configuration") -> list[str]:
    """Return a message for each configured signature whose rule the audit would have found and did not."""
    names: Collection[str] = {rule.name for rule in code.rules}
    gone = [n for n in configuration.signatures if n not in names and code.audit_scope.at(n)]
    return [f"[tool.certgrad.signatures] in '{configuration.file}' has '{n}', and there is no such rule" for n in gone]


def show(notes: Sequence[str]) -> None:
    """Print the notes on stderr, each one line."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)
