"""What code asks for outside of its arguments: files, the frames of those that call it, and threads beside its own.

Python tells of all as they happen (audit events, PEP 578), whichever of its ways the code takes. No trace shows what
stands in a file later, or who calls; and what another thread or process does is not watched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from threading import get_ident
from typing import Any

ASKED: Mapping[str, tuple[str, frozenset[str]]] = {
    "sys._getframe": (
        "it looks at its callers (sys._getframe): where these are others",
        frozenset({"inspect", "traceback"}),
    ),
    "sys._current_frames": (
        "it looks at its callers (sys._current_frames): where these are others",
        frozenset({"inspect", "traceback"}),
    ),
    "_thread.start_new_thread": ("it starts a thread: where nobody watches", sys.stdlib_module_names),
    "os.fork": ("it starts a process: where nobody watches", sys.stdlib_module_names),
    "os.posix_spawn": ("it starts a process ({}): where nobody watches", sys.stdlib_module_names),
    "subprocess.Popen": ("it starts a process ({}): where nobody watches", sys.stdlib_module_names),
}
"""The events that are told of, in words, and the modules of Python through which code may ask."""
OPENED = "it opens a file ({}): where that is another"
FOR_THEMSELVES = frozenset(
    "_frozen_importlib _frozen_importlib_external importlib linecache logging traceback warnings jax jaxlib".split()
)
"""Whose files, such as the importer's or a logger's, change nothing that is returned. What `jax.numpy` opens is what it
is asked for."""


class _Hook:
    """Python's hooks stay for ever. This one does nothing but in a block that waits for it."""

    def __init__(self) -> None:
        self.waiting: Callable[[str, Any], None] | None = None
        sys.addaudithook(self)

    def __call__(self, event: str, args: Any) -> None:
        if (told := self.waiting) is not None and (event in ASKED or event == "open"):
            told(event, args)


@lru_cache(maxsize=1)
def _hook() -> _Hook:
    return _Hook()


@contextmanager
def watched_outside(files: Collection[str]) -> Iterator[list[str]]:
    """What code in these files asks for in this thread, in words."""
    asked: list[str] = []
    thread, hook = get_ident(), _hook()

    def told(event: str, args: Any) -> None:
        if get_ident() != thread:
            return
        hook.waiting = None  # to look at frames is an event too
        try:
            frame: Any = sys._getframe(2)
            if event == "open":
                text = OPENED
                while frame is not None and frame.f_code.co_filename not in files and not _opens_for_itself(frame):
                    frame = frame.f_back
            else:
                text, through = ASKED[event]
                while frame is not None and _module(frame) in through:
                    frame = frame.f_back
            if frame is not None and frame.f_code.co_filename in files:
                asked.append(text.format(args[0] if args else ""))
        finally:
            hook.waiting = told

    hook.waiting = told
    try:
        yield asked
    finally:
        hook.waiting = None


def _opens_for_itself(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return _module(frame) in FOR_THEMSELVES and not name.startswith("jax._src.numpy.")


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
