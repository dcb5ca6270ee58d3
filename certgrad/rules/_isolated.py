"""Auditing targets in processes of their own, with budgets of time and memory.

What ends a process (a crash, an exit, a loop without end) is left out with the reason, and a new process does the rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

import certgrad
from certgrad.errors import UsageError

from ._worker import Begun, Done, Event, Failure, Request, RuleResult, Seen, left_out

_PAUSE = 0.02


@dataclass(frozen=True)
class Budget:
    """Seconds that one step may take."""

    starting: float = 180
    importing: float = 180
    auditing: float = 600


def audit_targets(
    targets: Sequence[str], budget: Budget | None = None, conformance: bool = True
) -> Iterator[RuleResult | Seen]:
    """The results of each target's rules, in order, and what each target means.

    Raises:
        UsageError: a target does not import, or names nothing.
    """
    for target in targets:
        yield from _one(target, budget or Budget(), conformance)


def _one(target: str, budget: Budget, conformance: bool) -> Iterator[RuleResult | Seen]:
    skip: list[str] = []
    lost: list[RuleResult] = []
    while True:
        doing: Begun | None = None
        ended = ""
        for event in _events(Request(target, skip, conformance), budget):
            match event:
                case Begun():
                    doing = event
                case RuleResult():
                    doing = None
                    skip.append(event.name)
                    yield event
                case Seen():
                    doing = None
                    yield event
                case Failure():
                    raise UsageError(event.message)
                case Done():
                    yield from lost
                    return
                case str():
                    ended = event
        if doing is None:
            raise UsageError(f"The audit of '{target}' {ended}.")
        if doing.kind == "target":
            raise UsageError(f"Cannot import '{target}': it {ended}.")
        skip.append(doing.name)
        what = "does not import: it" if doing.kind == "module" else "its audit"
        lost.append(left_out(doing.name, f"{what} {ended}", doing.where, doing.file))


def _events(request: Request, budget: Budget) -> Iterator[Event | str]:
    """What one process does, as it does it; at the end, where it did not come to one itself, why it ended."""
    with tempfile.TemporaryDirectory() as folder:
        result, errors = Path(folder) / "results", Path(folder) / "errors"
        result.touch()
        with errors.open("wb") as stderr, result.open("rb") as lines:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "certgrad.rules._worker", str(result)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, "PYTHONPATH": _path()},
                start_new_session=True,
            )
            try:
                assert process.stdin is not None
                process.stdin.write(msgspec.json.encode(request))
                process.stdin.close()
                yield from _followed(process, lines, errors, budget)
            finally:
                _stop(process)


def _path() -> str:
    """Where certgrad is imported from, last: a file in this folder must not stand for a module of its own name."""
    own = str(Path(certgrad.__file__).parents[1])
    return os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH", "")]), own])


def _followed(process: subprocess.Popen, lines: object, errors: Path, budget: Budget) -> Iterator[Event | str]:
    rest = b""
    limit, since = budget.starting, time.monotonic()
    while True:
        over = process.poll() is not None
        new = lines.read()  # type: ignore[attr-defined]
        *whole, rest = (rest + new).split(b"\n")
        for line in whole:
            event: Event = msgspec.json.decode(line, type=Event)
            yield event
            limit = budget.auditing if isinstance(event, Begun) and event.kind == "rule" else budget.importing
            since = time.monotonic()
            if isinstance(event, (Done, Failure)):
                return
        if over and not new:
            yield _how(process.returncode, errors)
            return
        if time.monotonic() - since > limit:
            yield f"took more than {limit:g} s"
            return
        if not new:
            time.sleep(_PAUSE)


def _how(status: int, errors: Path) -> str:
    """How a process ended by itself, in words."""
    if status < 0:
        return f"crashed ({signal.Signals(-status).name})"
    last = errors.read_text(errors="replace").strip().splitlines()[-1:]
    return f"ended the process (exit status {status}{': ' + last[0].strip() if last else ''})"


def _stop(process: subprocess.Popen) -> None:
    """End the process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
