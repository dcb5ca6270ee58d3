"""The terminal: its width, and the progress bar on stderr."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def width() -> int | None:
    """The width of the terminal on stdout, or None where it is none (then no colour either, as with NO_COLOR)."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return None
    return shutil.get_terminal_size().columns


def progress(items: Iterable[T], total: int, *, shown: bool, verb: str = "proving") -> Iterator[T]:
    """The items, with a progress bar on stderr while they come, if stderr is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(verb, total=total)
        for item in items:
            bar.advance(task)
            yield item
