"""`certgrad audit --jax`: the audit of the derivative rules of the installed JAX."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _console, _library
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.report.audited import Audit, RuleResult

WHAT = "primitive or function of the installed JAX and is no code. `certgrad audit --jax` shows all"


def audit(
    targets: Sequence[str],
    select: Sequence[str],
    ignore: Sequence[str],
    jobs: int | None,
    cache: Path | None,
    *,
    quiet: bool,
    dask: str = "",
) -> list["RuleResult"]:
    """Return the results of the selected rules of JAX.

    Raises UsageError for a target, and for a pattern that can match nothing; exits if nothing is selected.
    """
    from certgrad.cli import _run, _select

    if targets:
        raise UsageError(
            f"--jax audits the installed JAX and takes no target, but '{targets[0]}' is named. "
            f"Narrow it with --select '{targets[0]}', or leave --jax out."
        )
    selection = _select.choose(_library.jax_rules(), {}, [], select, ignore, what=WHAT)
    run = _run.run(selection.ops, jobs, cache, _library.audit_jax_rule, dask=dask, last_first=True)
    results = list(_console.progress(run, len(selection.ops), shown=not quiet))
    narrowed = selection.narrowed(results)
    if not narrowed:
        typer.echo("nothing selected: the patterns leave no obligation. `certgrad audit --jax` shows all.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    return narrowed


def page(directory: Path, jobs: int | None, *, check: bool) -> None:
    """Write the committed page on the installed JAX; with `check`, compare it, if it is about this version of JAX.

    Exits with 1 if the page is out of date. Raises UsageError if it cannot be written.
    """
    from certgrad.cli import _run
    from certgrad.process.files import write_atomically
    from certgrad.report import jax
    from certgrad.report.audited import certificates_of

    target = directory / jax.FILE
    present = target.read_text(encoding="utf-8") if target.is_file() else ""
    installed, without = _library.jax_version(), _library.jax_rules_without_derivative()
    if check and jax.stated_version(present) not in ("", installed):
        typer.echo(f"{target}: about jax {jax.stated_version(present)}, and jax {installed} is installed: not compared")
        return
    names = _library.jax_rules()
    run = _run.run(names, jobs, None, _library.audit_jax_rule, last_first=True)
    text = jax.page(certificates_of(_console.progress(run, len(names), shown=True)), without)
    if present == text:
        typer.echo(f"{target}: current")
    elif check:
        typer.echo(f"{target}: {'out of date' if present else 'missing'}")
        typer.echo("Run `certgrad report --jax` and commit it.", err=True)
        raise typer.Exit(ExitCode.REFUTED)
    else:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_atomically(target, text.encode())
        except OSError as error:
            raise UsageError(f"{target} cannot be written ({error.strerror or error}).") from None
        typer.echo(f"{target}: written")


def exit_code(audit: "Audit") -> ExitCode:
    """Return 1 if a verdict is among those to fail on, else 0."""
    failed = any(certificate.verdict in audit.failing for certificate in audit.certificates)
    return ExitCode.REFUTED if failed else ExitCode.DISCHARGED
