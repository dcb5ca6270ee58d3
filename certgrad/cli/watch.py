"""`certgrad watch`: audit again whenever a file changes."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from certgrad.cli import _code, _options
from certgrad.cli._errors import ExitCode

PASSED_ON_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
"""Settings of a command that hands its options on to `certgrad audit`."""
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_MILLISECONDS = 200


def watch(
    context: typer.Context,
    arguments: _options.AuditArguments = None,
) -> None:
    """Run `certgrad audit` now, and again whenever a Python file or pyproject.toml changes. Ctrl-C ends it.

    Files below the working directory are watched, and those of targets elsewhere. A change during an audit begins it
    anew.
    """
    given = [*(arguments or []), *context.args]
    folders = watched(given)
    audit: subprocess.Popen | None = None
    try:
        for changed in _changes(folders):
            _end(audit)
            if sys.stdout.isatty():
                typer.echo(_CLEAR, nl=False)
            for name in changed:
                typer.echo(f"changed: {name}", err=True)
            audit = subprocess.Popen([sys.executable, "-P", "-m", "certgrad", "audit", *given])
    except KeyboardInterrupt:
        pass
    finally:
        _end(audit)
    raise typer.Exit(ExitCode.DISCHARGED)


def watched(arguments: Sequence[str]) -> list[Path]:
    """Return the folders to watch: the working directory, and those of named files and folders elsewhere."""
    here = Path.cwd()
    named = [*arguments, *_code.configured().targets]
    paths = [Path(one.partition(":")[0]).resolve() for one in named if not one.startswith("-")]
    outside = [p if p.is_dir() else p.parent for p in paths if p.exists() and not p.is_relative_to(here)]
    return [here, *dict.fromkeys(outside)]


def _changes(folders: Sequence[Path]) -> Iterator[list[str]]:
    """Yield [] at once, for the first audit, and then the names of the changed files at each change."""
    from watchfiles import PythonFilter, watch

    yield []
    wanted = PythonFilter(extra_extensions=("pyproject.toml",))
    changes = watch(*folders, watch_filter=wanted, debounce=_MILLISECONDS, raise_interrupt=True, recursive=True)
    for change_set in changes:
        yield sorted({_relative_path(Path(path)) for _, path in change_set})


def _relative_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _end(process: subprocess.Popen | None) -> None:
    """End an audit that is running, if one is: by an interrupt, and after five seconds by force."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
