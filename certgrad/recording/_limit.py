"""A time limit for a block of code in this process: closures that it audits cannot be sent to another one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from certgrad.obligations.terms.budget import CLOCK_FACTOR, auditing

_AGAIN = 0.05
"""Seconds until the alarm is tried again, where a frame must not be interrupted."""
_ONCE_MORE = 2.0
"""Seconds until the error is raised again, where code may have caught it."""


class OverError(BaseException):
    """The error when the time is over. Code that catches every `Exception` does not catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Give the audit in the block a budget of processor time, and raise OverError after a multiple of it by the clock.

    It works only in the main thread, on systems that have alarms; elsewhere there is no limit at all.
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

    # An alarm that the program had set is put off, and set again afterwards.
    before = signal.signal(signal.SIGALRM, over)
    others_seconds, _ = signal.setitimer(signal.ITIMER_REAL, CLOCK_FACTOR * seconds)
    try:
        with auditing(seconds):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, others_seconds)
        signal.signal(signal.SIGALRM, before)


def _changing(frame: FrameType | None) -> bool:
    """Return whether a frame, or one that called it, enters or leaves a context, or deletes an object.

    An error would leave a context half changed; errors while an object is deleted are ignored by Python.
    """
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__", "__del__", "_xla_gc_callback"):
            return True
        frame = frame.f_back
    return False
