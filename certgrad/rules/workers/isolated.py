"""One process that audits the rules of a target, with limits of time and memory."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

import certgrad

from .worker import Event, Request, Task

_LOOK_AGAIN = 0.5
"""Seconds between looks at whether a silent process still runs: a child of it may hold its channel open."""


@dataclass(frozen=True)
class Ended:
    """A process ended, or ran out of time, before it answered: `how` says it in words."""

    how: str
    over: bool = False
    """Whether its time was over."""


class Worker:
    """A process that audits the rules of one target. It starts when the object is made, and ends with `close`."""

    def __init__(self, request: Request) -> None:
        """Start the process and send it the request."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (`close` does)
        self._channel, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "certgrad.rules.workers.worker", str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": _path()},
                start_new_session=True,
                pass_fds=(theirs,),
            )
        finally:
            os.close(theirs)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._channel, selectors.EVENT_READ)
        self._lines: list[bytes] = []
        self._rest = b""
        self.ask(request)

    def ask(self, what: Request | Task) -> None:
        """Send the process its request, which names the target, or one of the tasks after that."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended: `next` says how
            self._process.stdin.write(msgspec.json.encode(what) + b"\n")
            self._process.stdin.flush()

    def next(self, seconds: float) -> Event | Ended:
        """Return the next event of the process; `Ended` if it ended, or wrote nothing for this many seconds."""
        until = time.monotonic() + seconds
        while not self._lines:
            ended = self._process.poll() is not None
            seconds_left = until - time.monotonic()
            ready = self._selector.select(0 if ended else max(0.0, min(seconds_left, _LOOK_AGAIN)))
            new = os.read(self._channel, 1 << 16) if ready else b""
            if new:
                *self._lines, self._rest = (self._rest + new).split(b"\n")
            elif ended:
                return Ended(self._how())
            elif ready:  # its end of the channel is closed: it is about to end, or will never write again
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LOOK_AGAIN)
                if self._process.returncode is None:
                    return Ended("closed the files of its process")
            elif seconds_left <= 0:
                return Ended(f"took more than {seconds:g} s", over=True)
        event: Event = msgspec.json.decode(self._lines.pop(0), type=Event)
        return event

    def end(self) -> None:
        """Kill the process and those that it started. Any thread may call this; the one in `next` then gets `Ended`."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and free its resources."""
        self.end()
        self._process.wait()
        self._selector.close()
        os.close(self._channel)
        self._errors.close()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def _how(self) -> str:
        """Return in words how the process ended by itself: its signal, or its exit status and last line of errors."""
        status = self._process.returncode
        if status < 0:
            return f"crashed ({signal.Signals(-status).name})"
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return f"ended the process (exit status {status}{': ' + last[0].strip() if last else ''})"


def _path() -> str:
    """Return the import path with certgrad's folder last, so that files in it do not hide modules of the same name."""
    certgrad_folder = str(Path(certgrad.__file__).parents[1])
    return os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH", "")]), certgrad_folder])
