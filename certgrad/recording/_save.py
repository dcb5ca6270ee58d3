"""Writing the declarations of a run to a file, so that a later `certgrad audit` needs no run."""

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

    Return the number of rules that were saved, and in words the rules that were not, each with its reason.

    Raises:
        UsageError: the file cannot be written.
    """
    parts: list[str] = []
    unsaved: list[str] = []
    count = 0
    for rule in recorded:
        if not rule.declarations:
            continue
        name = rule.result.name
        if rule.unsaved:
            unsaved.append(f"{name}: not saved: {rule.unsaved}")
            continue
        sections = []
        for declared in rule.declarations:
            try:
                sections.append("\n".join([f"[[{text(name)}]]", *entries(declared), ""]))
            except UnwritableError as error:
                unsaved.append(f"{name}: not saved at {declaration_text(declared)}: {error}")
        count += bool(sections)
        parts += sections
    try:
        write_atomically(path, "\n".join([_HEAD, *parts]).encode())
    except OSError as error:
        raise UsageError(f"--save {path}: the file cannot be written ({error.strerror or error}).") from None
    return count, unsaved
