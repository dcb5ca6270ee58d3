"""The training log: one JSON line an entry, appended whole, and read back without losing any.

A line is written by one call of the operating system and flushed to disk, so a program that dies leaves at most one
half-written line, at the end. The next entry begins on a line of its own, and reading names the line that is cut off.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from certgrad.errors import CertgradError, UsageError
from certgrad.process.files import write_atomically

_NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""The floats that JSON has no numbers for, by the texts that stand for them."""
_SHOWN = 60
"""Characters of a damaged line that a message quotes."""


class LogError(CertgradError):
    """An entry that could not be written whole."""


class DamagedLogWarning(UserWarning):
    """A line of a log that is no entry."""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    step: int
    loss: float | str
    metrics: dict[str, float | str] = {}


@dataclass(frozen=True)
class Entry:
    """The logged values of one step."""

    step: int
    loss: float
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Log:
    """The entries of a log in the order in which they were written, and messages about lines that are none."""

    entries: Sequence[Entry]
    damaged: Sequence[str] = ()
    """A message for each line that is no entry."""

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) for each value of `"loss"` or a metric. Raises UsageError for a name without values."""
        points = [(e.step, e.loss if name == "loss" else e.metrics[name]) for e in self.entries if _has(e, name)]
        if not points:
            names = ["loss", *dict.fromkeys(n for e in self.entries for n in e.metrics)] if self.entries else []
            raise UsageError(f"The log has no values of '{name}'; it has {', '.join(names) or 'no entries'}.")
        return points

    def __str__(self) -> str:
        names = list(dict.fromkeys(n for e in self.entries for n in e.metrics))
        rows = [["step", "loss", *names]]
        for e in self.entries:
            rows.append(
                [str(e.step), f"{e.loss:.6g}", *(f"{e.metrics[n]:.6g}" if n in e.metrics else "" for n in names)]
            )
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.damaged])


def _has(entry: Entry, name: str) -> bool:
    return name == "loss" or name in entry.metrics


class TrainingLog:
    """A log on disk. Several programs may append to it; entries that are written change only by `cut`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def append(self, step: int, loss: Any, **metrics: Any) -> None:
        """Write one entry; it is on disk when this returns.

        Raises:
            UsageError: the step is no whole number, a value no single real number, or the file cannot be opened.
            LogError: the entry could not be written whole; those before it are untouched.
        """
        entry = _Line(
            _step_number(step), _number("loss", loss), {name: _number(name, x) for name, x in metrics.items()}
        )
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise UsageError(
                f"The log {self.path} cannot be opened: {error.strerror}. Give a file that can be."
            ) from None
        try:
            line = (b"\n" if _cut_off(file) else b"") + msgspec.json.encode(entry) + b"\n"
            written = os.write(file, line)
            os.fsync(file)
        except OSError as error:
            raise self._not_written(step, str(error.strerror)) from None
        finally:
            os.close(file)
        if written < len(line):
            raise self._not_written(step, f"{written} of {len(line)} bytes were written")

    def _not_written(self, step: int, why: str) -> LogError:
        return LogError(
            f"The entry of step {step} is not in {self.path} as a whole: {why}. The entries before it are; make room "
            "on the disk and append it again."
        )

    def read(self) -> Log:
        """Return the log so far. Raises UsageError where there is none."""
        return _read_log(self.path)

    def cut(self, step: int) -> None:
        """Drop the entries after a step and damaged lines: a run that goes on from that step writes its entries again.

        The file is replaced as a whole; a program that dies meanwhile leaves the old one.
        """
        if not self.path.exists():
            return
        lines = []
        for line in self.path.read_bytes().split(b"\n"):
            with suppress(msgspec.DecodeError):
                if _entry(line).step <= step:
                    lines.append(line + b"\n")
        write_atomically(self.path, b"".join(lines))


def read_log(path: str | Path) -> Log:
    """Return the log in a file.

    A line that is no entry, such as one that was cut off when a program died, gives a DamagedLogWarning and a message
    in `Log.damaged`; all other lines are read.

    Raises:
        UsageError: the file does not exist or cannot be read.
    """
    return _read_log(path)


def _read_log(path: str | Path) -> Log:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"The log {path} cannot be read: {error.strerror}. Give the file that a log wrote.") from None
    entries: list[Entry] = []
    damaged: list[str] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                entries.append(_entry(line))
            except msgspec.DecodeError as error:
                damaged.append(_damage(path, number, line, str(error)))
    for message in damaged:
        warnings.warn(
            message, DamagedLogWarning, stacklevel=3
        )  # at the line that called `read_log` or `TrainingLog.read`
    return Log(entries, damaged)


def _entry(line: bytes) -> Entry:
    fields = msgspec.json.decode(line, type=_Line)
    metrics = {name: _value(name, x) for name, x in fields.metrics.items()}
    return Entry(fields.step, _value("loss", fields.loss), metrics)


def _value(name: str, x: float | str) -> float:
    if isinstance(x, str):
        if x not in _NAMED:
            raise msgspec.ValidationError(f"{name} is the text {x!r}, and no number")
        return _NAMED[x]
    return float(x)


def _damage(path: str | Path, number: int, line: bytes, why: str) -> str:
    text = line.decode(errors="replace")
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    cause = "it was cut off, as when a program dies while it writes" if not text.endswith("}") else why
    return f"{Path(path).name}, line {number} is no entry: {cause}. It reads {shown!r}; the other lines were read."


def _cut_off(file: int) -> bool:
    """Return whether the last line of an open file has no newline, because its writer died."""
    size = os.fstat(file).st_size
    if not size:
        return False
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1) != b"\n"


def _step_number(step: Any) -> int:
    array = np.asarray(step)
    if array.ndim or array.dtype.kind not in "iu":
        raise UsageError(f"The step of an entry is a whole number, not {step!r}.")
    return int(array)


def _number(name: str, value: Any) -> float | str:
    array = np.asarray(value)
    if array.ndim or not (array.dtype.kind in "fiub" or _extended(array)):
        kind = f"an array of shape {array.shape}" if array.ndim else repr(value)
        raise UsageError(f"{name} is {kind}; an entry holds single real numbers. Log its mean, or its entries by name.")
    number = float(array)
    return number if math.isfinite(number) else str(number)


def _extended(array: Any) -> bool:
    """Return whether an array is of floats that numpy itself has not, such as bfloat16."""
    return bool(array.dtype.kind == "V" and array.dtype.name.startswith(("bfloat", "float")))
