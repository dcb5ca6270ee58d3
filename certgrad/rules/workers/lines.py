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
"""Lines with code, in an order that does not depend on where they stand: the number and a checksum of each."""
_NAMED = re.compile(r"\bline\s+(\d+)\s+of\s+([\w.-]+\.py)\b|(?<![\w/.\\-])([\w.-]+\.py):(\d+)|\bline\s+\d|\.py:\d")
"""A line that a text names, with its file, or in a way that does not say of which file it is."""


class ChangedError(Exception):
    """Something is not as it was."""


def with_current_lines(
    result: RuleResult, files: Collection[str], edited: Mapping[str, tuple[Lines, Lines]]
) -> RuleResult:
    """Return a result with the lines that it names brought up to date.

    Raises ChangedError where the lines of today are not known, or a text may quote a line that has changed.

    Args:
        result: it names lines of some of the files.
        files: paths, or names without a folder.
        edited: by file, of those in which code stands at other lines now, its lines before and now.
    """

    def line_in(name: str, line: str, quotes: bool = False) -> str:
        """Return the number that a line of a file has now; with `quotes`, the text beside it quotes that line."""
        named = [file for file in files if name in (file, Path(file).name)]
        if named and not any(file in edited for file in named):
            return line
        if len(named) != 1 or not line.isdigit():
            raise ChangedError
        before, after = edited[named[0]]
        place = next((k for k, (row, _) in enumerate(before) if row == int(line)), None)
        if place is None or (quotes and before[place][1] != after[place][1]):
            raise ChangedError
        if quotes and len(line) != len(str(after[place][0])):  # a longer text may be wrapped otherwise
            raise ChangedError
        return str(after[place][0])

    def renamed(found: re.Match[str]) -> str:
        """Return the words that name a line, as `line 3 of rules.py` or `rules.py:3`, with its number of today."""
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
    certificate, second = (sealed(one) if one is not None else None for one in (moved.certificate, moved.second))
    return msgspec.structs.replace(moved, where=where, file=result.file, certificate=certificate, second=second)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _each_text(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(one, change) for one in value]
    return change(value) if isinstance(value, str) else value
