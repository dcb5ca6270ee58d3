"""`certgrad init`: a configuration and a workflow for a project that has rules, and the first finding."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _code, _console, _starting
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError
from certgrad.process.files import write_atomically

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult

SECONDS = 40.0
"""Seconds for auditing rules. Those that are not reached are left to `certgrad audit`, or another run."""
NAMED = 5
"""At most this many of the rules that were not reached are named."""


def init() -> None:
    """Set certgrad up in this folder: find the rules, write a configuration and a workflow, show a first finding.

    Adds [tool.certgrad] to pyproject.toml and writes .github/workflows/certgrad.yml. What is there already stays as it
    is. Run again, it writes what is missing, and goes on with the rules at which it did not look before.

    Exit codes: 0 done; 2 bad input, and nothing was written; 3 internal error; 5 no rule was found.
    """
    from certgrad.rules.finding.scan import abbreviated_names, scan

    folder = Path.cwd()
    scanned = scan(folder)
    if not scanned.files:
        typer.echo(
            "no derivative rule was found: no Python file below this folder names jax.custom_vjp, custom_jvp or "
            "custom_gradient. Run it in the folder of your project.",
            err=True,
        )
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    root = _starting.repository(folder)
    file = folder / "pyproject.toml"
    _check_place(folder, root)
    is_configured = _starting.configured(file)
    if not is_configured:
        _starting.appended(
            file, _starting.table(scanned.targets)
        )  # raises before any work is done if the table cannot be appended
    rules, not_reached = _looked_at(scanned.targets)
    typer.echo(f"found {_code.pluralized(len(rules) + len(not_reached), 'rule')} in {abbreviated_names(scanned.files)}")
    if not_reached:
        typer.echo(_stopped(rules, not_reached))
    if is_configured:
        typer.echo(f"left pyproject.toml as it is: it has [tool.certgrad]{_left_out(scanned.targets)}")
    else:
        _write(file, _starting.appended(file, _starting.table(scanned.targets)))
        typer.echo("wrote [tool.certgrad] to pyproject.toml")
    workflow = folder / _starting.WORKFLOW
    if root not in (None, folder):
        typer.echo(f"no workflow: GitHub reads those in {root}, the root of the repository")
    elif workflow.exists():
        typer.echo(f"left {_starting.WORKFLOW} as it is")
    else:
        _write(workflow, _starting.workflow(folder))
        typer.echo(f"wrote {_starting.WORKFLOW}")
    if unsigned := [rule.name for rule in rules if rule.missing and _is_without_shapes(rule)]:
        typer.echo(f"no shapes were found at which these trace; certgrad.declare says them: {', '.join(unsigned)}")
    _show_first(rules)
    inferred = sum(bool(rule.inferred) for rule in rules)
    what = f"writes the inferred shapes beside {_code.pluralized(inferred, 'rule')}, for you to read"
    fix = f"  certgrad audit --fix  # {what}\n" if inferred else ""
    rest = f"  certgrad init         # goes on with the {len(not_reached)} that are left\n" if not_reached else ""
    typer.echo(
        f"\nnext:\n{rest}  certgrad audit        # the whole report\n{fix}"
        "  certgrad baseline     # accept today's findings; only new ones fail"
    )


def _stopped(rules: "Sequence[RuleResult]", not_reached: Sequence[str]) -> str:
    """Return the message that time ran out, with the first rules that were not reached."""
    rest = f" and {len(not_reached) - NAMED} more" if len(not_reached) > NAMED else ""
    names = ", ".join(not_reached[:NAMED]) + rest
    return (
        f"stopped after {SECONDS:.0f} s, having looked at {len(rules)}; left: {names}. `certgrad init` goes on with "
        "these, `certgrad audit` looks at all"
    )


def _left_out(targets: Sequence[str]) -> str:
    """Return a text on the targets that the configuration does not name; "" if it names all."""
    named = _code.configured().targets
    missing = [target for target in targets if target not in named]
    return f", whose targets leave out {', '.join(missing)}" if missing else ""


def _check_place(folder: Path, root: Path | None) -> None:
    """Raise UsageError if this folder has no pyproject.toml and one above, in the same repository, has one."""
    above = [one for one in folder.parents if root is not None and one.is_relative_to(root)]
    configured_folder = next((one for one in above if (one / "pyproject.toml").is_file()), None)
    if configured_folder is not None and not (folder / "pyproject.toml").exists():
        raise UsageError(
            f"The configuration of this folder is '{configured_folder / 'pyproject.toml'}'. Run `certgrad init` there."
        )


def _looked_at(targets: Sequence[str]) -> "tuple[list[RuleResult], list[str]]":
    """Return the results of the rules that were audited within `SECONDS`, and the names of the others.

    Raises UsageError if no target imports.
    """
    from certgrad.report.audited import RuleResult
    from certgrad.rules.project.configuration import Budget
    from certgrad.rules.workers.crew import audit_targets
    from certgrad.rules.workers.worker import Failure, Seen

    started = time.monotonic()
    rules: dict[str, RuleResult] = {}
    order: list[str] = []
    problems: list[str] = []
    budget = Budget(importing=SECONDS / 2, auditing=SECONDS / 2)
    with _console.watching(shown=True, before=_console.LOOKING_UP) as watch:
        for event in audit_targets(targets, budget, conformance=False, cache=_code.configured().cache_folder):
            match event:
                case Seen():
                    order += [rule.name for rule in event.rules]
                    watch.more(len(event.rules))
                case RuleResult():
                    rules[event.name] = event
                    watch.finished(event.name)
                case Failure():
                    problems.append(event.message)
            if time.monotonic() - started > SECONDS:
                break
    for problem in problems:
        typer.echo(f"note: {problem}", err=True)
    if problems and not order:
        raise UsageError(f"{problems[0]} Nothing was written.")
    all_names = dict.fromkeys([*order, *rules])
    return [rules[name] for name in all_names if name in rules], [name for name in all_names if name not in rules]


def _is_without_shapes(rule: "RuleResult") -> bool:
    return any("no signature is declared" in remark.text for remark in rule.remarks)


def _show_first(rules: "Sequence[RuleResult]") -> None:
    """Print the first refutation, if there is one."""
    from certgrad.report.audited import open_cases
    from certgrad.report.text import block

    refuted = [r for r in rules if r.certificate is not None and r.certificate.verdict == "refuted"]
    if not refuted:
        return
    first = refuted[0]
    assert first.certificate is not None
    claim, case = next(pair for pair in open_cases([first.certificate]) if pair[1].verdict == "refuted")
    of_count = f" of {len(refuted)}" if len(refuted) > 1 else ""
    typer.echo(f"\nthe first finding{of_count}:\n\n{block(claim, case, _console.width(), first.place.shown)}")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror or error}).") from None
