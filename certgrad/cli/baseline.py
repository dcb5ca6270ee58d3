"""`certgrad baseline`: write down the findings of today, so that only new ones fail an audit."""

import os
from typing import Annotated

import typer

from certgrad.cli import _code, _console
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError


def baseline(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Code whose rules to audit: a module, a package, a file, module:object. "
            "If nothing is named, the targets in [tool.certgrad] of the nearest pyproject.toml.",
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Only remove the entries that are findings no more; add none.")
    ] = False,
) -> None:
    """Write the findings of an audit to a baseline. An audit does not fail on findings that are in it.

    The file is certgrad-baseline.json beside pyproject.toml, or what `baseline` of [tool.certgrad] names. Entries about
    rules outside of the targets stay.

    Exit codes: 0 written; 2 usage or bad input; 3 internal error.
    """
    from certgrad.rules.project import baseline as _baseline

    configuration = _code.configured()
    chosen = targets or list(configuration.targets)
    if not chosen:
        raise UsageError("Name a target, or `targets` in [tool.certgrad] of pyproject.toml.")
    ops, code = _code.split_targets(chosen)
    if ops:
        raise UsageError(
            f"'{ops[0]}' is no module, package or file. A baseline is for the rules of your own code; the ops of the "
            "library are all proved."
        )
    file = configuration.baseline_file
    before = set(_baseline.read(file)) if file.exists() else set()
    if prune and not file.exists():
        raise UsageError(f"There is no baseline '{file}' to prune. `certgrad baseline` writes it.")
    with _console.watching(shown=True, before=_console.LOOKING_UP) as watch:
        options = (configuration.conformance, configuration.jobs, watch, configuration.cache_folder)
        audit = _code.audit(code, _code.limits(configuration), *options, configuration.order).whole()
    findings = {f for rule in audit.rules for f in rule.findings if configuration.wants(f.code, rule.place.file)}
    stale = set(_baseline.stale(before, findings, audit.audit_scope))
    after = before - stale if prune else (before - stale) | findings
    _baseline.write(file, after)
    for finding in sorted(after - before):
        typer.echo(f"+ {finding.rule}: {finding.code} {finding.verdict}")
    for finding in sorted(before - after):
        typer.echo(f"- {finding.rule}: {finding.code} {finding.verdict}")
    typer.echo(
        f"{os.path.relpath(file)}: {len(after)} {'finding' if len(after) == 1 else 'findings'}{_changes(before, after)}"
    )
    raise typer.Exit(ExitCode.DISCHARGED)


def _changes(before: set, after: set) -> str:
    added, removed = len(after - before), len(before - after)
    return f" ({added} new, {removed} removed)" if before else ""
