"""The terminal: its width, and progress on stderr."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


def width(stream: TextIO | None = None) -> int | None:
    """Return the number of columns of the terminal, or of COLUMNS; None if the stream goes to a file or a program.

    The stream is stdout if none is given.
    """
    if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def coloured(stream: TextIO | None = None) -> bool:
    """Return whether the stream is a terminal that shows colours, and NO_COLOR is not set (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return (stream or sys.stdout).isatty() and not plain


LOOKING_UP = "looking up what is known"
"""What progress shows before the first rule in code is proved."""
EVERY = 10.0
"""Seconds between two lines of progress if there is no terminal."""


class Watch:
    """Progress of an audit, shown on a bar if there is one."""

    def __init__(
        self, bar: "Progress | None" = None, total: int | None = None, verb: str = "proving", before: str = ""
    ) -> None:
        """Start with `total` tasks, if that is known.

        `verb` says what is done to a rule ("proving"), `before` what is done before the first one.
        """
        self._bar = bar
        self._total = total
        self._verb = verb
        self._idle = before or verb
        self._done, self._started = 0, time.monotonic()
        self._running: dict[str, str] = {}
        """By name, in the order of their begin, what is done to tasks that run; the first is shown."""
        self._task = None if bar is None else bar.add_task(verb, total=total, now="")

    def more(self, count: int) -> None:
        """Add this many tasks to the total."""
        self._total = (self._total or 0) + count
        self._forget_imports()
        self._tell(total=self._total)

    def began(self, kind: str, name: str) -> None:
        """Note that the audit of a rule (`kind` "rule"), or an import, has begun."""
        if kind == "rule":
            self._idle = self._verb
            self._forget_imports()
        self._running.pop(name, None)
        self._running[name] = self._verb if kind == "rule" else "importing"
        self._tell()

    def _forget_imports(self) -> None:
        self._running = {name: doing for name, doing in self._running.items() if doing == self._verb}

    def finished(self, name: str = "") -> None:
        """Note that one task is done, that of this name if it has one."""
        self._done += 1
        self._running.pop(name, None)
        self._tell(advance=1)

    def _tell(self, **fields: object) -> None:
        self._show(description=self._doing, now=self._now, **fields)

    @property
    def _now(self) -> str:
        """The name of the task that has run longest; "" if none runs."""
        return next(iter(self._running), "")

    @property
    def _doing(self) -> str:
        return self._running.get(self._now, self._idle)

    def __str__(self) -> str:
        done = f"{self._done} of {self._total} done, " if self._total else ""
        name = f" {self._now}" if self._now else ""
        return f"{self._doing}{name} ({done}{time.monotonic() - self._started:.0f} s)"

    def _show(self, **fields: object) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, **fields)  # type: ignore[arg-type]


@contextmanager
def watching(total: int | None = None, *, shown: bool, verb: str = "proving", before: str = "") -> Iterator[Watch]:
    """Show progress on stderr while the block runs, and yield the `Watch` that takes notes of it.

    Progress is a bar if stderr is a terminal, else a line every few seconds; it is not shown unless `shown`. `total`,
    `verb` and `before` are arguments of `Watch`.
    """
    if not shown:
        yield Watch()
        return
    if not sys.stderr.isatty():
        with _line_by_line(Watch(None, total, verb, before)) as watch:
            yield watch
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
        yield Watch(bar, total, verb, before)


@contextmanager
def _line_by_line(watch: Watch) -> Iterator[Watch]:
    """Print the progress on stderr every few seconds while the block runs, so that a log shows what takes long."""
    ended, stream = threading.Event(), sys.stderr

    def tell() -> None:
        while not ended.wait(EVERY):
            with suppress(OSError, ValueError):  # stderr may be closed
                print(watch, file=stream, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def progress(items: Iterable[T], total: int, *, shown: bool, verb: str = "proving") -> Iterator[T]:
    """Yield the items, and show progress on stderr meanwhile as `watching` does."""
    with watching(total, shown=shown, verb=verb) as watch:
        for item in items:
            watch.finished()
            yield item
