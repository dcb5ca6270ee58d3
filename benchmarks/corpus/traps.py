"""The traps of a test module, by name: those of its lists, and those that its tests are parametrised by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def traps_of(module: Any) -> dict[str, Any]:
    """Each once, in the order of the module."""
    from tests.obligations.traps import Trap

    found: dict[str, Any] = {}
    for value in vars(module).values():
        for one in _held(value):
            if isinstance(one, Trap):
                found.setdefault(one.name, one)
    return found


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield from value
    for mark in getattr(value, "pytestmark", ()) if callable(value) else ():
        if mark.name == "parametrize":
            for case in mark.args[1]:
                values = getattr(case, "values", ())
                yield from values if isinstance(values, tuple) else ()
