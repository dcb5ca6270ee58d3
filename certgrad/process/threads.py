"""State that each thread has for itself, and state that all threads of a process share and use in turn.

Two threads may prove at once. Each has its own remembered results. State of the process (the precision of flint, the
functions of JAX, numpy and `math` that are replaced while a rule is traced, the collector) is used by one thread at a
time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
PROCESS_LOCK = threading.RLock()
"""Held by a thread that uses state of the process. It is one lock for all such state, so that there is no deadlock."""


class Kept(threading.local):
    """A table of which every thread sees its own, for as long as the thread lives."""

    def __init__(self) -> None:
        self.table: dict[Any, Any] = {}


def one_at_a_time(block: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Return the context manager of a generator function, in which only one thread at a time can be."""

    @contextmanager
    @wraps(block)
    def alone(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        with PROCESS_LOCK:
            yield from block(*args, **kwargs)

    return alone


@one_at_a_time
def precision(bits: int) -> Iterator[None]:
    """Set the working precision of all ball arithmetic inside the block."""
    from flint import ctx  # the command line starts without it

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


class _Collector:
    """Python's cyclic garbage collector: how many blocks of all threads hold it back, and whether it was on before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held = 0
        self.enabled = False


_collector = _Collector()


@contextmanager
def without_collection() -> Iterator[None]:
    """Run a block without cyclic collection: terms have no cycles, and scanning them all takes a fifth of an audit.

    The collector goes on, if it was on before, when the last such block of any thread ends.
    """
    with _collector.lock:
        if not _collector.held:
            _collector.enabled = gc.isenabled()
            gc.disable()
        _collector.held += 1
    try:
        yield
    finally:
        with _collector.lock:
            _collector.held -= 1
            if not _collector.held and _collector.enabled:
                gc.enable()
