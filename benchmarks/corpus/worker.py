"""A process that audits entries, one at a time, and is replaced when one of them ends it or takes too long.

As a program (`python -m benchmarks.corpus.worker`) it reads an entry and a limit a line, and writes a record a line.
The limit is one of processor time, which the operating system keeps: what else the machine does decides nothing.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from benchmarks.corpus.entries import ROOT, Entry, Record

STARTING = 300.0
"""Seconds by the clock for the imports."""
CLOCK = 15.0
"""An entry that waits may take so many times its limit by the clock."""
LARGE = 3 << 20
"""A process that has used more than so many KiB is replaced: JAX keeps every program that it compiled."""
DEVICES = "--xla_force_host_platform_device_count=4"


class Job(msgspec.Struct, frozen=True):
    entry: Entry
    limit: float


class Answer(msgspec.Struct, frozen=True):
    record: Record
    memory: int
    """KiB at most so far."""


class Worker:
    """The process; it is started at the first entry. `root` is the checkout whose certgrad is asked."""

    def __init__(self, root: Path = ROOT, program: Sequence[str] = ("-m", "benchmarks.corpus.worker")) -> None:
        self.root, self._program = root, program
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory()

    def ask(self, entry: Entry, limit: float) -> Record:
        """What comes of the entry; never raises for what it does."""
        limit = max(limit, entry.limit)
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        before = time.monotonic()
        try:
            process.stdin.write(msgspec.json.encode(Job(entry, limit)) + b"\n")
            process.stdin.flush()
            line = self._line(CLOCK * limit)
        except BrokenPipeError:
            line = b""
        if line:
            answer = msgspec.json.decode(line, type=Answer)
            if answer.memory > LARGE or entry.outside:
                self.close()
            return answer.record
        status = process.poll()
        self.close()
        if line is None or status == -signal.SIGXCPU:
            return Record(id=entry.id, verdict="out of time", seconds=limit)
        how = f"the process ended with status {process.returncode}"
        return Record(id=entry.id, verdict="crashed", seconds=round(time.monotonic() - before, 2), reason=how)

    def end(self) -> None:
        """End the process, and those that it started. Any thread may call this; the one that asks notices."""
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, and give back what it used."""
        self.end()
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _start(self) -> None:
        own = [str(self._beside()), str(self.root), str(ROOT)]
        path = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH", "")])])
        environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": DEVICES}
        self._process = subprocess.Popen(
            [sys.executable, "-P", *self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self.root,
            start_new_session=True,
        )
        if not self._line(STARTING):
            self.close()
            raise RuntimeError(f"The process that audits with the certgrad of {self.root} does not start.")

    def _beside(self) -> Path:
        """A folder in which this package stands alone: with it first, all else is the other checkout's."""
        folder = Path(self._folder.name)
        link = folder / "benchmarks" / "corpus"
        if not link.exists():
            link.parent.mkdir()
            link.symlink_to(Path(__file__).parent)
        return folder

    def _line(self, seconds: float) -> bytes | None:
        """The next line; empty where the process ended, None where it took longer."""
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            ready = selector.select(seconds)
        line = self._process.stdout.readline() if ready else None
        if line == b"":
            self._process.wait()
        return line


def serve(load: Callable[[], Callable[[Entry], Record]]) -> None:
    """Answer until the input ends, with what `load` gives. What is printed meanwhile is no answer."""
    channel = os.fdopen(os.dup(1), "wb")
    commands = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def tell(what: object) -> None:
        channel.write(msgspec.json.encode(what) + b"\n")
        channel.flush()

    audited = load()
    tell("ready")
    for line in commands:
        job = msgspec.json.decode(line, type=Job)
        _allow(job.limit)
        record = audited(job.entry)
        tell(Answer(record, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def _load() -> Callable[[Entry], Record]:
    from benchmarks.corpus.subjects import audited, warm

    warm()
    return audited


def _allow(seconds: float) -> None:
    """The process is ended by SIGXCPU when it has used so much more of the processor."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, most))


if __name__ == "__main__":
    serve(_load)
