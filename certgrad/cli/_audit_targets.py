"""The audit of the targets of one call of `certgrad audit`: rules in code and ops of the library, and its report."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import typer

from certgrad import _plugins
from certgrad._plugins import Plugin
from certgrad.cli import _code, _console, _library, _output, _policy, _run, _select
from certgrad.cli._errors import ExitCode
from certgrad.cli._select import Selection
from certgrad.cli._settings import Settings
from certgrad.errors import CertgradError, UsageError
from certgrad.obligations.certificate import VerdictName
from certgrad.report.audited import Audit, RuleResult
from certgrad.report.findings import EXACT, Finding
from certgrad.rules.project.configuration import Configuration

EXPLAINED = "`certgrad explain RULE` says more of a finding; with --script it prints a program that shows it"
SHOWN = 10
"""At most this many names of rules that an interruption left out are printed."""


@dataclass(frozen=True)
class Call:
    """One call of `certgrad audit`: its settings, and where and how it reports."""

    settings: Settings
    configured: Configuration
    outputs: list[_output.Output]
    """The files of `--output`."""
    has_pages: bool
    """Whether a report is an HTML page, which shows exhibits of each rule."""
    style: _output.Style
    started: float

    @classmethod
    def begun(cls, settings: Settings, configured: Configuration) -> "Call":
        """Return a call that begins now. Raises UsageError for a file that cannot be written."""
        outputs = _output.parse(settings.output)
        has_pages = _output.draws(settings.format, outputs)
        style = _output.Style(settings.quiet, settings.verbose, _console.width(), _console.coloured())
        return cls(settings, configured, outputs, has_pages, style, time.perf_counter())

    @property
    def seconds(self) -> float:
        """The seconds since the call began."""
        return time.perf_counter() - self.started

    @property
    def failing(self) -> frozenset[VerdictName]:
        """The verdicts on which the audit fails."""
        return _policy.failing(self.settings.fail_on, strict=self.settings.strict is True)

    @property
    def strict(self) -> bool:
        """Whether every remark is a failure: `--strict` without names of what it means."""
        return self.settings.strict is True


@dataclass(frozen=True)
class _Targets:
    """What is audited: ops of the library, and code, that of installed plugins included."""

    ops: list[str]
    code: list[str]
    in_order: list[str]
    plugins: Mapping[str, Plugin]
    """The plugins that offer code, by target; none if a target is named or configured."""


@dataclass(frozen=True)
class _OfLibrary:
    """The results of the library's ops."""

    selection: Selection
    """The selected ops, and the patterns for all rules."""
    results: list[RuleResult]
    unknown_ops: list[str]
    """A message for each target that is no op."""
    interrupted: bool


@dataclass(frozen=True)
class _Outcome:
    """What came of all targets."""

    audit: Audit
    code: _code.Code
    rules: list[RuleResult]
    """The results of the rules in code, after the project's policy on what is ignored."""
    interruption: str
    """The message after Ctrl-C; "" if the audit is complete."""
    baseline: list[Finding]

    @property
    def verdicts(self) -> int:
        """The number of rules and ops with a certificate."""
        return len(self.audit.certificates)


def run(call: Call, *, fix: bool, follow: bool) -> ExitCode:
    """Audit the targets of a call, print and write the reports, and return the exit code.

    With `fix`, inferred declarations are written beside the rules. With `follow`, a line of JSON is printed for each
    rule as it comes, and at the end for each, in place of a report.
    """
    targets = _targets(call.settings)
    outcome = _audit(call, targets, fix, follow)
    unknown_signatures = _code.unknown_signatures(outcome.code, call.configured)
    _show_notes(call, outcome, unknown_signatures)
    _report(call, outcome, follow)
    if covered := sum(len(rule.covered or ()) for rule in outcome.rules):
        file = call.configured.baseline_file.name
        typer.echo(f"{_code.pluralized(covered, 'finding')} in {file}, not counted", err=True)
    for problem in [*outcome.audit.problems, *(unknown_signatures if call.strict else [])]:
        typer.echo(f"error: {problem}", err=True)
    return _exit_code(call, targets, outcome, unknown_signatures)


def _targets(settings: Settings) -> _Targets:
    """Return the targets of the settings; without any, the whole library and the code that plugins offer.

    Raises UsageError for code that a dask cluster would have to have.
    """
    plugins = {} if settings.targets else {plugin.target: plugin for plugin in _plugins.plugins(_plugins.OPS)}
    ops, code = _code.split_targets(settings.targets)
    if settings.dask and code:
        raise UsageError(
            f"--dask hands out the ops of the library and, with --jax, the rules of JAX; '{code[0]}' is code, "
            "which a worker may not have. Leave --dask out: its rules are audited here, in --jobs processes."
        )
    return _Targets(ops, [*code, *plugins], [*settings.targets, *plugins], plugins)


def _audit(call: Call, targets: _Targets, fix: bool, follow: bool) -> _Outcome:
    """Audit first the rules in code, then the ops of the library. Ctrl-C in either leaves the results so far."""
    settings = call.settings
    baseline = _baseline(call.configured) if targets.code and not settings.no_baseline else []
    code = _audit_code(call, targets, _rule_printer(call, baseline) if follow else None)
    library = _audit_library(call, targets, code)
    interrupted, ops_results = library.interrupted, library.results
    # `strict` is a tuple where the call or the file names what it means.
    if not isinstance(settings.strict, bool) and EXACT in settings.strict and not interrupted:
        from certgrad.cli import _exactly

        code.rules = _exactly.with_levels(code.rules, targets.code, settings.jobs, shown=not settings.quiet)
        ops_results = _exactly.with_levels(ops_results, (), settings.jobs, shown=not settings.quiet)
    rules = _policy.covered(_policy.selected(code, library.selection, call.configured), set(baseline))
    if fix:
        from certgrad.cli import _fixing

        _code.show(_fixing.fixed(rules))
    audit = Audit(
        _in_order([*library.selection.narrowed(ops_results), *rules], targets.in_order, code, targets.ops),
        failing=call.failing,
        problems=[*code.problems, *library.unknown_ops],
        strict=settings.strict,
    )
    unreached = [*code.unreached, *library.selection.ops[len(ops_results) :]]
    interruption = _interruption(len(audit.certificates), unreached) if interrupted else ""
    return _Outcome(audit, code, rules, interruption, baseline)


def _rule_printer(call: Call, baseline: Sequence[Finding]) -> Callable[[RuleResult], None]:
    """Return a function that prints what an editor shows of a rule; called as soon as its result is there."""

    def print_rule(rule: RuleResult) -> None:
        code = _code.Code(rules=rule.each)
        with suppress(UsageError):  # a pattern may match other rules alone
            selection = _selection(call.settings, [], [r.name for r in code.rules], no_ops=True)
            shown = _policy.covered(_policy.selected(code, selection, call.configured), set(baseline))
            _output.print_rule_diagnostics(Audit(shown, failing=call.failing, strict=call.settings.strict))

    return print_rule


def _audit_code(call: Call, targets: _Targets, follow: Callable[[RuleResult], None] | None) -> _code.Code:
    """Return the results of the rules in code; `follow` is called with each as soon as it is there."""
    settings = call.settings
    limits = _code.Limits(settings.timeout, settings.import_timeout)
    shown = not settings.quiet and bool(targets.code)
    with _console.watching(shown=shown, before=_console.LOOKING_UP) as watch:
        return _code.audit(
            targets.code,
            limits,
            settings.conformance,
            settings.jobs,
            watch,
            settings.cache,
            settings.order,
            targets.plugins,
            exhibits=call.has_pages,
            follow=follow,
        )


def _audit_library(call: Call, targets: _Targets, code: _code.Code) -> _OfLibrary:
    """Return the results of the selected ops; of none if the audit of the code was interrupted."""
    settings = call.settings
    ops, unknown_ops = _resolved(targets.ops)
    no_ops = bool(settings.targets) and not ops
    selection = _selection(settings, ops, [rule.name for rule in code.rules], no_ops=no_ops)
    if selection.ops and not (settings.targets or settings.quiet):
        _code.show([_no_target(len(selection.ops), targets.plugins)])
    run = _run.run(
        () if code.interrupted else selection.ops,
        settings.jobs,
        settings.cache,
        exhibits=call.has_pages,
        dask=settings.dask,
    )
    results: list[RuleResult] = []
    interrupted = code.interrupted
    try:
        for result in _console.progress(run, len(selection.ops), shown=not settings.quiet):
            results.append(result)
    except KeyboardInterrupt:
        interrupted = True
    return _OfLibrary(selection, results, unknown_ops, interrupted)


def _show_notes(call: Call, outcome: _Outcome, unknown_signatures: Sequence[str]) -> None:
    """Print notes on remarks, configured signatures without a rule, the baseline, and the files that were searched."""
    settings, code = call.settings, outcome.code
    stale = _stale(outcome.baseline, code)
    brief = settings.format == _output.Format.concise
    rows = settings.format == _output.Format.text and not settings.quiet
    files = [] if settings.quiet else _code.of_passed_over(code) if brief else _code.by_file(code)
    remarks = _policy.notes(outcome.audit, brief=brief, rows=rows)
    _code.show([*remarks, *([] if call.strict else unknown_signatures), *stale, *files])


def _report(call: Call, outcome: _Outcome, follow: bool) -> None:
    """Print the audit and write it to the files of `--output`, unless there is nothing to report."""
    audit, settings = outcome.audit, call.settings
    remarked = any(rule.remarks or rule.ignored for rule in outcome.rules)
    if not (outcome.verdicts or audit.problems or outcome.interruption or remarked):
        return
    interruption = [outcome.interruption] if outcome.interruption else []
    audit = replace(audit, seconds=call.seconds, problems=[*audit.problems, *interruption])
    if follow:
        _output.print_rule_diagnostics(audit)
        _output.write_outputs(audit, call.outputs)
    else:
        _output.report(audit, settings.format, call.outputs, call.style)
    if settings.format == _output.Format.concise and any(rule.reproduction for rule in outcome.rules):
        _code.show([EXPLAINED])


def _exit_code(call: Call, targets: _Targets, outcome: _Outcome, unknown_signatures: Sequence[str]) -> ExitCode:
    """Return the exit code, after printing why if there are no results, or not all of them.

    An audit that is not complete exits for that reason, whatever was found.
    """
    audit, code = outcome.audit, outcome.code
    if outcome.interruption:
        typer.echo(outcome.interruption, err=True)
        return ExitCode.INTERRUPTED
    if audit.problems:
        return ExitCode.USAGE
    failed = _policy.failed(audit)
    if not outcome.verdicts:
        if targets.code and not any(rule.certificate for rule in code.rules):
            of_found = f" of {audit.missing} found" if audit.missing else ""
            text = f"nothing to audit: no derivative rule{of_found} was audited in {', '.join(targets.code)}."
        else:
            text = "nothing selected: the patterns leave no obligation. `certgrad list` shows the ops."
        typer.echo(text, err=True)
        return ExitCode.REFUTED if failed else ExitCode.NOTHING_SELECTED
    return ExitCode.REFUTED if failed or (call.strict and unknown_signatures) else ExitCode.DISCHARGED


def _no_target(count: int, plugins: Mapping[str, Plugin]) -> str:
    """Return the note on what is audited if no target is named: the library, and rules that plugins offer."""
    beside = f", beside the rules of {', '.join(p.named for p in plugins.values())}" if plugins else ""
    ops = f"{_code.pluralized(count, 'op')} of certgrad's own library{beside}"
    return f"no target is named or configured: auditing {ops}. Name a module, a package or a file to audit its rules"


def _in_order(
    results: Sequence[RuleResult], targets: Sequence[str], code: _code.Code, ops: Sequence[str]
) -> list[RuleResult]:
    """Return the results in the order of the targets; results of no target come last."""
    places: dict[str, int] = {}
    aliases = _library.aliases() if ops else {}
    for k, target in enumerate(targets):
        for name in code.of_target.get(target, (target, aliases.get(target, target))):
            places.setdefault(name, k)
    places |= {rule.name: places[rule.of] for rule in code.rules if rule.of in places}
    return sorted(results, key=lambda result: places.get(result.name, len(targets)))


def _interruption(done: int, unreached: Sequence[str]) -> str:
    """Return the message after an interruption: `done` verdicts, and the rules that were not reached."""
    names = ", ".join(unreached[:SHOWN]) + (f" and {len(unreached) - SHOWN} more" if len(unreached) > SHOWN else "")
    of = f"; not reached: {names}" if unreached else ""
    return f"interrupted: the audit ends after {_code.pluralized(done, 'verdict')}{of}"


def _resolved(ops: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of ops, and a message for each name that is no op's."""
    names, problems = [], []
    for op in ops:
        try:
            names.append(_library.resolve(op, code=True))
        except CertgradError as error:
            problems.append(str(error))
    return names, problems


def _baseline(configured: Configuration) -> list[Finding]:
    """Return the entries of the baseline; [] if there is none."""
    from certgrad.rules.project import baseline

    return baseline.read(configured.baseline_file) if configured.has_baseline else []


def _stale(entries: Sequence[Finding], code: _code.Code) -> list[str]:
    """Return a message if the baseline lists findings that no longer occur; else []."""
    from certgrad.rules.project import baseline

    gone = baseline.stale(entries, code.findings, code.audit_scope)
    if not gone:
        return []
    shown = ", ".join(f"{f.code} {f.verdict} of {f.rule}" for f in gone[:3]) + (", …" if len(gone) > 3 else "")
    which = "is no finding" if len(gone) == 1 else "are no findings"
    entry = "entry" if len(gone) == 1 else "entries"
    prune = f"`certgrad baseline --prune` removes {'it' if len(gone) == 1 else 'them'}"
    return [f"{len(gone)} {entry} of the baseline {which} any more ({shown}); {prune}"]


def _selection(settings: Settings, ops: Sequence[str], rules: Sequence[str], *, no_ops: bool = False) -> Selection:
    """Return the selected ops, all if `ops` is empty, and the settings' patterns, which may be of `rules` in code.

    With `no_ops`, no op is selected. Raises UsageError for a pattern that matches nothing.
    """
    names = [] if no_ops else _library.names()
    aliases: dict[str, list[str]] = {}
    for alias, op in () if no_ops else _library.aliases().items():
        aliases.setdefault(op, []).append(alias)
    return _select.choose(names, aliases, ops, settings.select, settings.ignore, rules)
