"""Declarations of a run in a file, so that `certgrad audit` needs none the next time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from certgrad.errors import UsageError
from certgrad.process.files import write_atomically
from certgrad.rules.declared.written import UnwritableError, entries, text

from ._audit import Recorded, declaration_text

_HEAD = "# Written by `certgrad run --save`: shapes and static values of the calls that were recorded.\n"


def save(path: Path, recorded: Iterable[Recorded]) -> tuple[int, list[str]]:
    """Write the declarations of recorded rules to a file.

    Returns how many rules were saved, and in words what was not, with the reason.

    Raises:
        UsageError: the file cannot be written.
    """
    parts: list[str] = []
    unsaved: list[str] = []
    count = 0
    for one in recorded:
        if not one.declarations:
            continue
        name = one.result.name
        if one.unsaved:
            unsaved.append(f"{name}: not saved: {one.unsaved}")
            continue
        written = []
        for declared in one.declarations:
            try:
                written.append("\n".join([f"[[{text(name)}]]", *entries(declared), ""]))
            except UnwritableError as error:
                unsaved.append(f"{name}: not saved at {declaration_text(declared)}: {error}")
        count += bool(written)
        parts += written
    try:
        write_atomically(path, "\n".join([_HEAD, *parts]).encode())
    except OSError as error:
        raise UsageError(f"--save {path}: the file cannot be written ({error.strerror or error}).") from None
    return count, unsaved
