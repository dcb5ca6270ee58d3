"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, Any

import typer

from certgrad.cli import _complete
from certgrad.errors import UsageError
from certgrad.process.processors import available

DEFAULT_CACHE = Path(".certgrad_cache")
AUTO = 0
"""The value of --jobs that stands for as many processes as are useful."""


def _jobs(text: str) -> int:
    if text == "auto":
        return AUTO
    if not text.isdigit() or int(text) < 1:
        raise typer.BadParameter(f"'{text}' is neither 'auto' nor a number of processes of at least 1.")
    return int(text)


CacheDir = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        envvar="CERTGRAD_CACHE_DIR",
        help="Where proofs are remembered: if nothing is configured, .certgrad_cache in the project's root. The folder "
        "may be removed at any time.",
        show_default=False,
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", envvar="CERTGRAD_NO_CACHE", help="Prove everything anew, and remember nothing.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        parser=_jobs,
        metavar="N|auto",
        envvar="CERTGRAD_JOBS",
        help="Number of processes. auto: as many as there are processors, fewer where there is little to do.",
        show_default=False,
    ),
]
Dask = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS|local",
        envvar="CERTGRAD_DASK",
        help="Prove the ops on the dask cluster whose scheduler is there, or in --jobs processes that dask keeps alive "
        "here.",
        show_default=False,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        envvar="CERTGRAD_TIMEOUT",
        help="Of the processor, for the audit of one rule in code: what is open then is unproved. Usually 20.",
        show_default=False,
    ),
]
ImportTimeout = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        envvar="CERTGRAD_IMPORT_TIMEOUT",
        help="For importing one module of a target. 60 if nothing else is configured.",
        show_default=False,
    ),
]


def format(help: str, envvar: str | None = None) -> Any:
    """Return the option `--format` of an audit, which takes a format of certgrad or of a plugin."""
    from certgrad.cli import _output

    def named(text: str) -> str:
        try:
            return _output.parse_format(text)
        except UsageError as error:
            raise typer.BadParameter(str(error)) from None

    return typer.Option(
        parser=named,
        metavar=f"[{'|'.join(_output.Format)}|PLUGIN]",
        envvar=envvar,
        help=help,
        autocompletion=_complete.formats,
    )


def outputs(envvar: str | None = None) -> Any:
    """Return the option `--output`; each command has its own `envvar`, as commands differ in their formats."""
    return typer.Option(
        "--output",
        metavar="FORMAT=PATH",
        envvar=envvar,
        help="Also write a report to a file. May be repeated.",
        autocompletion=_complete.outputs,
    )


Outputs = Annotated[list[str] | None, outputs()]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="CERTGRAD_QUIET", help="Print only findings, remarks and the summary line."),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        envvar="CERTGRAD_VERBOSE",
        help="Print all that is claimed of every rule, and under which hypotheses.",
    ),
]
WORTH_A_PROCESS = 12
"""For this many ops or certificates each, another process is worth its start."""


def processes(jobs: int | None, tasks: int) -> int:
    """Return the number of processes for `tasks` tasks: at most `jobs`, or as many as are useful if that is open."""
    if jobs not in (None, AUTO):
        return max(1, min(jobs, tasks))
    return max(1, min(available(), tasks // WORTH_A_PROCESS))


AuditArguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TARGET | OPTION]...", help="What `certgrad audit` takes: targets and options."),
]
"""The arguments of commands that hand them on to `certgrad audit`."""
