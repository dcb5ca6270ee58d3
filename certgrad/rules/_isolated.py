"""Auditing targets in processes of their own, with budgets of time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from certgrad.errors import UsageError

from ._worker import Failure, RuleResult

SECONDS = 900
MEMORY = 16 * 2**30


def audit_targets(targets: Sequence[str], seconds: int = SECONDS) -> Iterator[RuleResult]:
    """The results of each target's rules, in order.

    Raises:
        UsageError: a target does not import, or names nothing.
    """
    for target in targets:
        yield from _one(target, seconds)


def _one(target: str, seconds: int) -> Iterator[RuleResult]:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "results"
        command = [sys.executable, "-m", "certgrad.rules._worker", str(result), target]
        ended = ""
        try:
            done = subprocess.run(
                command, timeout=seconds, capture_output=True, text=True, preexec_fn=_limit, check=False
            )
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
                ended = f"the audit of '{target}' ended early: {last[0]}"
        except subprocess.TimeoutExpired:
            ended = f"the audit of '{target}' was stopped after {seconds} s"
        lines = result.read_bytes().splitlines() if result.exists() else []
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=RuleResult)
        except msgspec.ValidationError:
            raise UsageError(msgspec.json.decode(line, type=Failure).message) from None
        except msgspec.DecodeError:
            continue  # a line that the process was stopped in
    if ended:
        yield RuleResult(name=target, where="", problem=ended)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
