"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from certgrad._processors import available

DEFAULT_CACHE = Path(".certgrad_cache")

CacheDir = Annotated[
    Path,
    typer.Option(metavar="PATH", help="Where proofs are remembered. The folder may be removed at any time."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Prove everything anew, and remember nothing.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of processes; if not given as many as there are processors, fewer where there is little to do.",
        show_default=False,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        help="For the audit of one rule in code; it is left out if it takes longer. 600 if nothing else is configured.",
        show_default=False,
    ),
]
ImportTimeout = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        help="For importing one module of a target. 60 if nothing else is configured.",
        show_default=False,
    ),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option("--output", metavar="FORMAT=PATH", help="Also write a report to a file. May be repeated."),
]
WORTH_A_PROCESS = 12
"""So many ops or certificates take longer than a process takes to start."""


def processes(jobs: int | None, tasks: int) -> int:
    """How many processes so many tasks are given to: the number asked for, or what is quickest."""
    if jobs is not None:
        return max(1, min(jobs, tasks))
    return max(1, min(available(), tasks // WORTH_A_PROCESS))
