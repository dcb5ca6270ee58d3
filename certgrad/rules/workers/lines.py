"""Results of rules whose code stands at other lines now: the lines that they name are brought up to date."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from certgrad.obligations.certificate import sealed
from certgrad.report.audited import RuleResult

Lines = list[tuple[int, int]]
"""The lines of a file that have code, in order: the number and a checksum of each. Two versions of a file that differ
in comments and blank lines alone have lists of the same length, in which the same places are the same lines."""
_NAMED = re.compile(r"\bline\s+(\d+)\s+of\s+([\w.-]+\.py)\b|(?<![\w/.\\-])([\w.-]+\.py):(\d+)|\bline\s+\d|\.py:\d")
"""What names a line in a text: with its file (`line 3 of rules.py`, `rules.py:3`), or without (`line 3`)."""


class ChangedError(Exception):
    """Raised where something differs from what it was at an earlier audit, so that its result cannot be served."""


def with_current_lines(
    result: RuleResult, files: Collection[str], edited: Mapping[str, tuple[Lines, Lines]]
) -> RuleResult:
    """Return a result with the numbers of the lines that it names brought up to date.

    Raises ChangedError if the current number of a line cannot be known, or if a text quotes a line that has changed.

    Args:
        result: the result, whose texts may name lines of the files.
        files: the files that it may name, as paths or as names without a folder.
        edited: by file, the lines with code before and now, of files where code now stands at other lines.
    """

    def line_in(name: str, line: str, quotes: bool = False) -> str:
        """Return the current number of a line of a file; with `quotes`, the text also quotes that line."""
        matching_files = [file for file in files if name in (file, Path(file).name)]
        if matching_files and not any(file in edited for file in matching_files):
            return line
        if len(matching_files) != 1 or not line.isdigit():
            raise ChangedError
        before, after = edited[matching_files[0]]
        place = next((k for k, (row, _) in enumerate(before) if row == int(line)), None)
        if place is None or (quotes and before[place][1] != after[place][1]):
            raise ChangedError
        if quotes and len(line) != len(str(after[place][0])):  # a longer text may be wrapped otherwise
            raise ChangedError
        return str(after[place][0])

    def renamed(found: re.Match[str]) -> str:
        """Return the words that name a line, as `line 3 of rules.py` or `rules.py:3`, with its current number."""
        if not (found[2] or found[3]):
            raise ChangedError
        group = 1 if found[2] else 4
        start, end = (k - found.start() for k in found.span(group))
        now = line_in(found[2] or found[3], found[group], quotes=group == 1)
        return found[0][:start] + now + found[0][end:]

    where = result.where
    if result.file in edited:
        base, mark, line = where.rpartition(":")
        where = base + mark + line_in(result.file, line)
    plain = msgspec.to_builtins(msgspec.structs.replace(result, where="", file=""))
    moved = msgspec.convert(_each_text(plain, lambda text: _NAMED.sub(renamed, text)), RuleResult)
    certificate, second = (sealed(c) if c is not None else None for c in (moved.certificate, moved.second))
    return msgspec.structs.replace(moved, where=where, file=result.file, certificate=certificate, second=second)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return nested dicts and lists with each text in them changed; the keys of dicts are left as they are."""
    if isinstance(value, dict):
        return {key: _each_text(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(part, change) for part in value]
    return change(value) if isinstance(value, str) else value
