"""`certgrad audit`: prove the rules and print what is proved, under which hypotheses, and what is not."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _code, _console, _library, _options, _output
from certgrad.cli._errors import ExitCode
from certgrad.cli._output import Format

if TYPE_CHECKING:
    from certgrad.cli._select import Selection
    from certgrad.obligations.certificate import Certificate


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
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for unproved and surrogate as well.")] = False,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only findings and the summary line.")] = False,
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
) -> None:
    """Prove derivative rules and print the audit.

    Exit codes: 0 all discharged; 1 something refuted (with --strict also unproved or surrogate); 2 usage or bad input;
    3 internal error; 5 nothing selected.
    """
    from certgrad.cli import _run
    from certgrad.report.audited import Audited

    outputs = _output.parse(output or [])
    started = time.perf_counter()
    configured = _code.configured()
    ops, targeted = _code.split(targets or configured.targets)
    select, ignore = [*(select or []), *configured.select], [*(ignore or []), *configured.ignore]
    code = _code.audit(targeted)
    selection = _selection(ops, select, ignore, none=bool(targeted) and not ops)
    run = _run.run(selection.ops, jobs, None if no_cache else cache_dir)
    results = [*_console.progress(run, len(selection.ops), shown=not quiet), *code.audited]
    audited = [
        Audited(narrow, one.seconds, one.reproduction)
        for one in results
        if (narrow := selection.narrow(one.certificate))
    ]
    _code.show(code.notes)
    if targeted and not results:
        typer.echo(f"nothing to audit: no derivative rule was audited in {', '.join(targeted)}.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    if not audited:
        typer.echo("nothing selected: the patterns leave no obligation. `certgrad list` shows the ops.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    seconds = time.perf_counter() - started
    for destination in outputs:
        _output.write(destination, _output.render(destination.format, audited, seconds, quiet=quiet))
    typer.echo(_output.render(format, audited, seconds, quiet=quiet, width=_console.width()), nl=False)
    if strict and code.lenient:
        raise typer.Exit(ExitCode.REFUTED)
    raise typer.Exit(exit_code([entry.certificate for entry in audited], strict=strict))


def _selection(
    targets: Sequence[str], select: Sequence[str], ignore: Sequence[str], *, none: bool = False
) -> "Selection":
    """The ops to audit; with `none`, no op of the library, but the patterns all the same."""
    from certgrad.cli import _select

    known = [] if none else _library.names()
    aliases: dict[str, list[str]] = {}
    for alias, op in _library.aliases().items():
        aliases.setdefault(op, []).append(alias)
    return _select.choose(known, aliases, [_library.resolve(target) for target in targets], select, ignore)


def exit_code(certificates: Sequence["Certificate"], *, strict: bool) -> ExitCode:
    """1 if something is refuted; with `strict` also if something is unproved or a surrogate."""
    failing = {"refuted", "unproved", "surrogate"} if strict else {"refuted"}
    return ExitCode.REFUTED if any(c.verdict in failing for c in certificates) else ExitCode.DISCHARGED
