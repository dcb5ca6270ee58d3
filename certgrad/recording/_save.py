"""Declarations of a run in a file, so that `certgrad audit` needs none the next time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from certgrad.errors import UsageError
from certgrad.report.files import write_atomically
from certgrad.rules._declaration import Declaration
from certgrad.rules._statics import Each, Real

from ._audit import Recorded, shown

_HEAD = "# Written by `certgrad run --save`: shapes and static values of the calls that were recorded.\n"


class _UnwritableError(Exception):
    """A value that the file cannot hold; the message says which."""


def save(path: Path, recorded: Iterable[Recorded]) -> tuple[int, list[str]]:
    """Write what can be declared; how many rules that are, and which are not saved, with the reason.

    Raises:
        UsageError: the file cannot be written.
    """
    parts: list[str] = []
    left: list[str] = []
    count = 0
    for one in recorded:
        if not one.declarations:
            continue
        name = one.result.name
        if one.unsaved:
            left.append(f"{name}: not saved: {one.unsaved}")
            continue
        written = []
        for declared in one.declarations:
            try:
                written.append(f"[[{json.dumps(name)}]]\n{_entry(declared)}")
            except _UnwritableError as error:
                left.append(f"{name}: not saved at {shown(declared)}: {error}")
        count += bool(written)
        parts += written
    try:
        write_atomically(path, "\n".join([_HEAD, *parts]).encode())
    except OSError as error:
        raise UsageError(f"--save {path}: the file cannot be written ({error.strerror or error}).") from None
    return count, left


def _entry(declared: Declaration) -> str:
    if not isinstance(declared.signature, str):
        raise _UnwritableError("an argument is an object of a class, which text cannot say")
    lines = [f"signature = {_text(declared.signature)}"]
    if declared.static:
        inner = ", ".join(f"{name} = {_value(name, v)}" for name, v in declared.static.items())
        lines.append(f"static = {{ {inner} }}")
    if declared.sizes:
        given = [declared.sizes] if isinstance(declared.sizes, Mapping) else declared.sizes
        tables = ("{ " + ", ".join(f"{name} = {value}" for name, value in one.items()) + " }" for one in given)
        lines.append(f"sizes = [{', '.join(tables)}]")
    return "\n".join(lines) + "\n"


def _value(name: str, value: Any) -> str:
    """A static value as TOML. A tuple is no list: what would be read back as another value is not written."""
    if isinstance(value, Each):
        return f"{{ each = [{', '.join(_value(name, v) for v in value.values)}] }}"
    if isinstance(value, Real):
        return f"{{ real = {_text(value.condition)} }}"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else str(value)
    if type(value) is str:
        return _text(value)
    if type(value) is list:
        return f"[{', '.join(_value(name, v) for v in value)}]"
    raise _UnwritableError(f"{name} is of type {type(value).__name__}, which the file cannot say")


def _text(value: str) -> str:
    return json.dumps(value)
