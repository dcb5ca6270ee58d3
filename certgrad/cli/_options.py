"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_CACHE = Path(".certgrad_cache")

CacheDir = Annotated[
    Path,
    typer.Option(metavar="PATH", help="Where proofs are remembered. The folder may be removed at any time."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Prove everything anew, and remember nothing.")]
