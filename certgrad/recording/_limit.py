"""A limit of time for a block of code in this process, where closures live and another process cannot go."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from certgrad.obligations.terms.budget import CLOCK_FACTOR, auditing

_AGAIN = 0.05
_ONCE_MORE = 2.0


class OverError(BaseException):
    """The time is over. Code that catches every `Exception` does not catch this."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Give an audit in the block so many seconds of the processor, and raise OverError in it after several times as
    many by the clock; that in the main thread, on systems that have such alarms.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        if _changing(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            return
        signal.setitimer(signal.ITIMER_REAL, _ONCE_MORE)  # code that catches everything may have caught it
        raise OverError

    before = signal.signal(signal.SIGALRM, over)
    others_seconds, _ = signal.setitimer(
        signal.ITIMER_REAL, CLOCK_FACTOR * seconds
    )  # those of an alarm that was set before
    try:
        with auditing(seconds):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, others_seconds)
        signal.signal(signal.SIGALRM, before)


def _changing(frame: FrameType | None) -> bool:
    """Return whether a frame enters or leaves a context, whose change must not stay half done, or deletes an object.

    Python ignores errors in the latter.
    """
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__", "__del__", "_xla_gc_callback"):
            return True
        frame = frame.f_back
    return False
