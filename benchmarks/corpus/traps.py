"""The traps of a test module, by name: those of its lists, and those that its tests are parametrised by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def traps_of(module: Any) -> dict[str, Any]:
    """Each once, as it stands last, in the order of the module; of two with one name, the second is `NAME (2)`."""
    from tests.obligations.traps import Trap

    found: dict[str, Any] = {}
    for trap in (one for value in vars(module).values() for one in _held(value) if isinstance(one, Trap)):
        known = next((name for name, one in found.items() if one.wrong is trap.wrong), None)
        found[known or (f"{trap.name} (2)" if trap.name in found else trap.name)] = trap
    return found


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield from value
    for mark in getattr(value, "pytestmark", ()) if callable(value) else ():
        if mark.name == "parametrize":
            for case in mark.args[1]:
                values = getattr(case, "values", ())
                yield from values if isinstance(values, tuple) else ()
