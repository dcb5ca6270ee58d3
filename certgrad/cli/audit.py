"""`certgrad audit`: prove the rules and print what is proved, under which hypotheses, and what is not."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad import _plugins
from certgrad.cli import _code, _complete, _console, _jax, _library, _options, _output, _settings
from certgrad.cli._errors import ExitCode
from certgrad.errors import CertgradError, UsageError

if TYPE_CHECKING:
    from certgrad._plugins import Plugin
    from certgrad.cli._select import Selection
    from certgrad.report.audited import RuleResult
    from certgrad.report.findings import Finding
    from certgrad.rules.project.configuration import Configuration


class Failing(StrEnum):
    """The verdicts that `--fail-on` takes."""

    refuted = "refuted"
    unproved = "unproved"
    surrogate = "surrogate"


def audit(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            envvar="CERTGRAD_TARGETS",
            show_envvar=False,
            help="Ops of the library, or code whose rules to audit: a module, a package, a file, module:object. "
            "If nothing is named, the targets in [tool.certgrad] of the nearest pyproject.toml, or else all ops, those "
            "of installed plugins among them.",
            autocompletion=_complete.targets,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN,...",
            envvar="CERTGRAD_SELECT",
            help="Only these: op names or globs ('soft*'), codes or their prefixes (CG102, CG1), "
            "obligations ('relu.jvp_is_derivative'). Names narrow the ops, codes narrow their obligations.",
            autocompletion=_complete.codes,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN,...",
            envvar="CERTGRAD_IGNORE",
            help="All but these; patterns as in --select.",
            autocompletion=_complete.codes,
        ),
    ] = None,
    format: Annotated[
        str | None,
        _options.format(
            "What to print on stdout. If nothing is configured: text at a terminal, concise elsewhere.",
            "CERTGRAD_FORMAT",
        ),
    ] = None,
    output: Annotated[list[str] | None, _options.outputs(envvar="CERTGRAD_OUTPUT")] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--no-strict",
            envvar="CERTGRAD_STRICT",
            help="Exit 1 for unproved, for surrogates, and for every remark (CG2) as well. --strict=exact: for what is "
            "proved and does not agree by exact evaluation, and --strict=assumed for assumed bounds, alone.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        list[Failing] | None,
        typer.Option(
            "--fail-on",
            envvar="CERTGRAD_FAIL_ON",
            help="Exit 1 for this verdict, in place of refuted. May be repeated.",
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Write inferred shapes (CG202), assumed bounds (CG209) and likely intents beside the rules, as "
            "certgrad.declare marked as inferred: they count once the mark is removed.",
        ),
    ] = False,
    no_baseline: Annotated[
        bool,
        typer.Option(
            "--no-baseline",
            envvar="CERTGRAD_NO_BASELINE",
            help="Show and count the findings that the baseline lists as well.",
        ),
    ] = False,
    jobs: _options.Jobs = None,
    dask: _options.Dask = "",
    timeout: _options.Timeout = None,
    import_timeout: _options.ImportTimeout = None,
    jax: Annotated[
        bool,
        typer.Option("--jax", help="Audit the derivative rules of the installed JAX: primitives and custom rules."),
    ] = False,
    conformance: Annotated[
        bool,
        typer.Option(
            "--conformance/--no-conformance",
            envvar="CERTGRAD_CONFORMANCE",
            help="Compare the traces of rules in code with what happens at numbers and in calls.",
        ),
    ] = True,
    order: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            envvar="CERTGRAD_ORDER",
            help="2: look at the rule of each rule in code as well, which second derivatives run.",
        ),
    ] = 1,
    quiet: _options.Quiet = False,
    verbose: _options.Verbose = False,
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            hidden=True,
            help="Print a line of JSON for each rule as it comes, and at the end for each, in place of a report.",
        ),
    ] = False,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Print what the audit would go by, and where it is from. No audit.")
    ] = False,
) -> None:
    """Prove derivative rules and print the audit.

    A target that does not import, or names nothing, is reported beside what comes of the others. Ctrl-C ends the audit:
    what is proved or refuted by then is printed, and written to the files of --output.

    Exit codes: 0 all discharged; 1 something refuted (with --strict also unproved or surrogate); 2 usage or bad input;
    3 internal error; 5 nothing selected; 130 interrupted.
    """
    from certgrad.cli import _policy, _run
    from certgrad.report.audited import Audit
    from certgrad.report.findings import EXACT

    configured = _code.configured()
    settings = _settings.resolve(context, configured)
    _code.show(_settings.misspelled())
    if show_settings:
        typer.echo(_settings.settings_as_toml(settings, configured), nl=False)
        raise typer.Exit(ExitCode.DISCHARGED)
    outputs = _output.parse(settings.output)
    pages = _output.draws(settings.format, outputs)
    style = _output.Style(settings.quiet, settings.verbose, _console.width(), _console.coloured())
    started = time.perf_counter()
    if jax:
        patterns = (targets or [], select or [], ignore or [])
        audited = _jax.audit(*patterns, settings.jobs, settings.cache, quiet=quiet, dask=settings.dask)
        of_jax = _policy.failing([v.value for v in fail_on or []], strict=bool(strict))
        audit_of_jax = Audit(audited, time.perf_counter() - started, failing=of_jax)
        _output.report(audit_of_jax, settings.format, outputs, style, of_jax=True)
        raise typer.Exit(_jax.exit_code(audit_of_jax))
    # Without a target, the whole library is audited, and the code that plugins offer.
    plugins_by_target = {} if settings.targets else {plugin.target: plugin for plugin in _plugins.plugins(_plugins.OPS)}
    ops, targeted = _code.split_targets(settings.targets)
    if settings.dask and targeted:
        raise UsageError(
            f"--dask hands out the ops of the library and, with --jax, the rules of JAX; '{targeted[0]}' is code, "
            "which a worker may not have. Leave --dask out: its rules are audited here, in --jobs processes."
        )
    all_targets, targeted = [*settings.targets, *plugins_by_target], [*targeted, *plugins_by_target]
    entries = _entries(configured) if targeted and not settings.no_baseline else []
    limits = _code.Limits(settings.timeout, settings.import_timeout)
    verdicts = _policy.failing(settings.fail_on, strict=settings.strict is True)

    def followed(rule: "RuleResult") -> None:
        """Print what an editor shows of a rule; called as soon as its result is there."""
        code = _code.Code(rules=rule.each)
        with suppress(UsageError):  # a pattern may match other rules alone
            selection = _selection([], settings.select, settings.ignore, [r.name for r in code.rules], none=True)
            shown = _policy.covered(_policy.selected(code, selection, configured), set(entries))
            _output.print_rule_diagnostics(Audit(shown, failing=verdicts, strict=settings.strict))

    # First the rules in code, then the ops of the library. An interruption of either leaves the results so far.
    with _console.watching(shown=not quiet and bool(targeted), before=_console.LOOKING_UP) as watch:
        code = _code.audit(
            targeted,
            limits,
            settings.conformance,
            settings.jobs,
            watch,
            settings.cache,
            settings.order,
            plugins_by_target,
            exhibits=pages,
            follow=followed if follow else None,
        )
    names = [rule.name for rule in code.rules]
    resolved, unknown_ops = _resolved(ops)
    selection = _selection(
        resolved,
        settings.select,
        settings.ignore,
        names,
        none=bool(settings.targets) and not resolved,
    )
    if selection.ops and not (settings.targets or quiet):
        _code.show([_no_target(len(selection.ops), plugins_by_target)])
    run = _run.run(
        () if code.interrupted else selection.ops, settings.jobs, settings.cache, exhibits=pages, dask=settings.dask
    )
    library: list[RuleResult] = []
    interrupted = code.interrupted
    try:
        for op_result in _console.progress(run, len(selection.ops), shown=not quiet):
            library.append(op_result)
    except KeyboardInterrupt:
        interrupted = True
    # `strict` is a tuple where the call or the file names what it means.
    if not isinstance(settings.strict, bool) and EXACT in settings.strict and not interrupted:
        from certgrad.cli import _exactly

        code.rules = _exactly.with_levels(code.rules, targeted, settings.jobs, shown=not quiet)
        library = _exactly.with_levels(library, (), settings.jobs, shown=not quiet)
    unreached = [*code.unreached, *selection.ops[len(library) :]] if interrupted else []
    results = _policy.covered(_policy.selected(code, selection, configured), set(entries))
    if fix:
        from certgrad.cli import _fixing

        _code.show(_fixing.fixed(results))
    result = Audit(
        _in_order([*selection.narrowed(library), *results], all_targets, code, ops),
        failing=verdicts,
        problems=[*code.problems, *unknown_ops],
        strict=settings.strict,
    )
    failed, count = _policy.failed(result), len(result.certificates)
    unknown = _code.unknown_signatures(code, configured)
    stale = _stale(entries, code)
    brief = settings.format == _output.Format.concise
    rows = settings.format == _output.Format.text and not settings.quiet
    files = [] if settings.quiet else _code.of_passed_over(code) if brief else _code.by_file(code)
    _code.show(
        [*_policy.notes(result, brief=brief, rows=rows), *([] if settings.strict is True else unknown), *stale, *files]
    )
    problems = result.problems
    interruption = [_said_of_interruption(count, unreached)] if interrupted else []
    if count or problems or interrupted or any(r.remarks or r.ignored for r in results):
        result = replace(result, seconds=time.perf_counter() - started, problems=[*problems, *interruption])
        if follow:
            _output.print_rule_diagnostics(result)
            _output.write_outputs(result, outputs)
        else:
            _output.report(result, settings.format, outputs, style)
        if brief and any(rule.reproduction for rule in results):
            _code.show([EXPLAINED])
    if covered_count := sum(len(rule.covered or ()) for rule in results):
        typer.echo(
            f"{_code.pluralized(covered_count, 'finding')} in {configured.baseline_file.name}, not counted", err=True
        )
    for problem in [*problems, *(unknown if settings.strict is True else [])]:
        typer.echo(f"error: {problem}", err=True)
    # An audit that is not complete exits for that reason, whatever was found.
    if interrupted:
        typer.echo(interruption[0], err=True)
        raise typer.Exit(ExitCode.INTERRUPTED)
    if problems:
        raise typer.Exit(ExitCode.USAGE)
    if not count:
        if targeted and not any(rule.certificate for rule in code.rules):
            of_found = f" of {result.missing} found" if result.missing else ""
            text = f"nothing to audit: no derivative rule{of_found} was audited in {', '.join(targeted)}."
        else:
            text = "nothing selected: the patterns leave no obligation. `certgrad list` shows the ops."
        typer.echo(text, err=True)
        raise typer.Exit(ExitCode.REFUTED if failed else ExitCode.NOTHING_SELECTED)
    raise typer.Exit(ExitCode.REFUTED if failed or (settings.strict is True and unknown) else ExitCode.DISCHARGED)


def _no_target(count: int, plugins: "Mapping[str, Plugin]") -> str:
    """Return the note on what is audited if no target is named: the library, and rules that plugins offer."""
    beside = f", beside the rules of {', '.join(p.named for p in plugins.values())}" if plugins else ""
    ops = f"{_code.pluralized(count, 'op')} of certgrad's own library{beside}"
    return f"no target is named or configured: auditing {ops}. Name a module, a package or a file to audit its rules"


def _in_order(
    results: "Sequence[RuleResult]", asked: Sequence[str], code: "_code.Code", ops: Sequence[str]
) -> "list[RuleResult]":
    """Return the results in the order of the targets `asked`; results of no target come last."""
    places: dict[str, int] = {}
    aliases = _library.aliases() if ops else {}
    for k, target in enumerate(asked):
        for name in code.of_target.get(target, (target, aliases.get(target, target))):
            places.setdefault(name, k)
    places |= {rule.name: places[rule.of] for rule in code.rules if rule.of in places}
    return sorted(results, key=lambda one: places.get(one.name, len(asked)))


EXPLAINED = "`certgrad explain RULE` says more of a finding; with --script it prints a program that shows it"
SHOWN = 10
"""At most this many names of rules that an interruption left out are printed."""


def _said_of_interruption(done: int, unreached: Sequence[str]) -> str:
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


def _entries(configured: "Configuration") -> "list[Finding]":
    """Return the entries of the baseline; [] if there is none."""
    from certgrad.rules.project import baseline

    return baseline.read(configured.baseline_file) if configured.has_baseline else []


def _stale(entries: "Sequence[Finding]", code: "_code.Code") -> list[str]:
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


def _selection(
    targets: Sequence[str],
    select: Sequence[str],
    ignore: Sequence[str],
    rules: Sequence[str],
    *,
    none: bool = False,
) -> "Selection":
    """Return the selected ops and the patterns, which may be of rules in code; with `none`, no op is selected.

    Raises UsageError for a pattern that matches nothing.
    """
    from certgrad.cli import _select

    op_names = [] if none else _library.names()
    aliases: dict[str, list[str]] = {}
    for alias, op in () if none else _library.aliases().items():
        aliases.setdefault(op, []).append(alias)
    return _select.choose(op_names, aliases, targets, select, ignore, rules)
