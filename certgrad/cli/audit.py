"""`certgrad audit`: prove the rules and print what is proved, under which hypotheses, and what is not."""

import time
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _code, _console, _jax, _library, _options, _output
from certgrad.cli._errors import ExitCode
from certgrad.cli._output import Format

if TYPE_CHECKING:
    from certgrad.cli._select import Selection
    from certgrad.rules._configuration import Configuration
    from certgrad.rules._findings import Finding


class Failing(StrEnum):
    """The verdicts that `--fail-on` takes."""

    refuted = "refuted"
    unproved = "unproved"
    surrogate = "surrogate"


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Ops of the library, or code whose rules to audit: a module, a package, a file, module:object. "
            "If nothing is named, the targets in [tool.certgrad] of the nearest pyproject.toml, or else all ops.",
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN,...",
            help="Only these: op names or globs ('soft*'), codes or their prefixes (CG102, CG1), "
            "obligations ('relu.jvp_is_derivative'). Names narrow the ops, codes narrow their obligations.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN,...", help="All but these; patterns as in --select.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What to print on stdout.")] = Format.text,
    output: Annotated[
        list[str] | None, typer.Option(metavar="FORMAT=PATH", help="Also write a report to a file. May be repeated.")
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--no-strict",
            help="Exit 1 for unproved, for surrogates, and for every remark (CG2) as well.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        list[Failing] | None,
        typer.Option("--fail-on", help="Exit 1 for this verdict, in place of refuted. May be repeated."),
    ] = None,
    no_baseline: Annotated[
        bool, typer.Option("--no-baseline", help="Show and count the findings that the baseline lists as well.")
    ] = False,
    jobs: _options.Jobs = None,
    jax: Annotated[
        bool,
        typer.Option("--jax", help="Audit the derivative rules of the installed JAX: primitives and custom rules."),
    ] = False,
    conformance: Annotated[
        bool,
        typer.Option(
            "--conformance/--no-conformance",
            help="Compare the traces of rules in code with what happens at numbers and in calls.",
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only findings and the summary line.")] = False,
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
) -> None:
    """Prove derivative rules and print the audit.

    Exit codes: 0 all discharged; 1 something refuted (with --strict also unproved or surrogate); 2 usage or bad input;
    3 internal error; 5 nothing selected.
    """
    from certgrad.cli import _policy, _run

    outputs = _output.parse(output or [])
    started = time.perf_counter()
    if jax:
        patterns = (targets or [], select or [], ignore or [])
        audited = _jax.audit(*patterns, jobs, None if no_cache else cache_dir, quiet=quiet)
        _jax.report(audited, outputs, format, time.perf_counter() - started, quiet=quiet)
        raise typer.Exit(_jax.exit_code(audited, strict=bool(strict), failing=[v.value for v in fail_on or []]))
    configured = _code.configured()
    ops, targeted = _code.split(targets or configured.targets)
    entries = _entries(configured) if targeted and not no_baseline else []
    code = _code.audit(targeted, conformance=conformance)
    names = [rule.name for rule in code.rules]
    selection = _selection(
        ops, select or configured.select, [*(ignore or []), *configured.ignore], names, none=bool(targeted) and not ops
    )
    run = _run.run(selection.ops, jobs, None if no_cache else cache_dir)
    library = [
        replace(one, certificate=narrow)
        for one in _console.progress(run, len(selection.ops), shown=not quiet)
        if (narrow := selection.narrow(one.certificate))
    ]
    strict = configured.strict if strict is None else strict
    failing = [verdict.value for verdict in fail_on] if fail_on else configured.fail_on
    judged = _policy.judge(
        _policy.selected(code, selection, configured), library, set(entries), strict=strict, failing=failing
    )
    unknown = _code.unknown_signatures(code, configured)
    _code.show([*judged.notes, *unknown, *_stale(entries, code), *_code.by_file(code)])
    if not judged.audited:
        if targeted and not any(rule.certificate for rule in code.rules):
            of = f" of {judged.missing} found" if judged.missing else ""
            text = f"nothing to audit: no derivative rule{of} was audited in {', '.join(targeted)}."
        else:
            text = "nothing selected: the patterns leave no obligation. `certgrad list` shows the ops."
        typer.echo(text, err=True)
        raise typer.Exit(ExitCode.REFUTED if judged.failed else ExitCode.NOTHING_SELECTED)
    seconds = time.perf_counter() - started
    for destination in outputs:
        _output.write(
            destination,
            _output.render(destination.format, judged.audited, seconds, quiet=quiet, missing=judged.missing),
        )
    text = _output.render(format, judged.audited, seconds, quiet=quiet, width=_console.width(), missing=judged.missing)
    typer.echo(text, nl=False)
    if judged.covered:
        typer.echo(
            f"{_code.counted(judged.covered, 'finding')} in {configured.baseline_file.name}, not counted", err=True
        )
    raise typer.Exit(ExitCode.REFUTED if judged.failed or (strict and unknown) else ExitCode.DISCHARGED)


def _entries(configured: "Configuration") -> "list[Finding]":
    """What the baseline lists, if there is one."""
    from certgrad.rules import _baseline

    return _baseline.read(configured.baseline_file) if configured.has_baseline else []


def _stale(entries: "Sequence[Finding]", code: "_code.Code") -> list[str]:
    """That the baseline lists what is no finding any more."""
    from certgrad.rules import _baseline

    gone = _baseline.stale(entries, code.findings, code.looked)
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
    """The ops to audit; with `none`, no op of the library, but the patterns all the same, also of the rules in code."""
    from certgrad.cli import _select

    known = [] if none else _library.names()
    aliases: dict[str, list[str]] = {}
    for alias, op in _library.aliases().items():
        aliases.setdefault(op, []).append(alias)
    return _select.choose(
        known, aliases, [_library.resolve(target, code=True) for target in targets], select, ignore, rules
    )
