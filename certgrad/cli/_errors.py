"""Exit codes, and the turning of errors into messages."""

import functools
import os
import traceback
from collections.abc import Callable
from enum import IntEnum
from typing import ParamSpec, TypeVar

import typer

from certgrad.errors import CertgradError

P = ParamSpec("P")
R = TypeVar("R")


class ExitCode(IntEnum):
    """The exit statuses of the process."""

    DISCHARGED = 0
    REFUTED = 1
    USAGE = 2
    INTERNAL = 3
    NOTHING_SELECTED = 5
    INTERRUPTED = 130
    """The status that shells use for a command ended by Ctrl-C."""


class InternalError(Exception):
    """A defect of certgrad itself, which was met during `task`; `details` is the traceback."""

    def __init__(self, task: str, summary: str, details: str) -> None:
        super().__init__(summary)
        self.task = task
        self.details = details

    def __reduce__(self) -> tuple[type["InternalError"], tuple[str, str, str]]:
        return InternalError, (self.task, str(self), self.details)  # so that a worker can send it


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Return the command with its errors turned into one paragraph on stderr and an exit code.

    A traceback is printed only with CERTGRAD_DEBUG=1 in the environment.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except CertgradError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except SystemExit as error:  # raised by code that was imported or traced: its status is no verdict
            typer.echo(f"error: the code of the target ends the program: sys.exit({error.code!r}).", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        except InternalError as error:
            _report(error)
            raise typer.Exit(ExitCode.INTERNAL) from None
        except Exception as error:
            _report(InternalError("running this command", describe(error), traceback.format_exc()))
            raise typer.Exit(ExitCode.INTERNAL) from None

    return run


def describe(error: BaseException) -> str:
    """Return an exception as one line: `ZeroDivisionError: division by zero`."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _report(error: InternalError) -> None:
    debug = os.environ.get("CERTGRAD_DEBUG") == "1"
    if debug:
        typer.echo(error.details, err=True)
    again = "" if debug else ", with what it prints when you run it again under CERTGRAD_DEBUG=1"
    typer.echo(
        f"internal error: certgrad failed while {error.task} ({error}). This is a defect of certgrad, not of your "
        f"input, and nothing was certified. Please report it{again}.",
        err=True,
    )
