"""The terminal: its width, and the progress bar on stderr."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


def width(stream: TextIO | None = None) -> int | None:
    """The width of the page, on stdout if no stream is given: of the terminal, or as COLUMNS says; None where it goes
    to a file or a program.
    """
    if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def coloured(stream: TextIO | None = None) -> bool:
    """Whether the stream is a terminal that shows colours, and NO_COLOR is not set (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return (stream or sys.stdout).isatty() and not plain


class Watch:
    """What is being done, told as it happens: on a progress bar, if there is one."""

    def __init__(self, bar: "Progress | None" = None, total: int | None = None, verb: str = "proving") -> None:
        self._bar = bar
        self._total = total
        self._verb = verb
        self._task = None if bar is None else bar.add_task(verb, total=total, now="")

    def more(self, count: int) -> None:
        """So many more tasks are known."""
        self._total = (self._total or 0) + count
        self._show(total=self._total)

    def began(self, kind: str, name: str) -> None:
        """A rule is audited now, or something imported."""
        self._show(description=self._verb if kind == "rule" else "importing", now=name)

    def finished(self) -> None:
        """One task is done."""
        self._show(advance=1)

    def _show(self, **fields: object) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, **fields)  # type: ignore[arg-type]


@contextmanager
def watching(total: int | None = None, *, shown: bool, verb: str = "proving") -> Iterator[Watch]:
    """A progress bar on stderr for the block, if stderr is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Watch(bar, total, verb)


def progress(items: Iterable[T], total: int, *, shown: bool, verb: str = "proving") -> Iterator[T]:
    """The items, with a progress bar on stderr while they come, if stderr is a terminal."""
    with watching(total, shown=shown, verb=verb) as watch:
        for item in items:
            watch.finished()
            yield item
