"""What functions close over."""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def captured(function: Any) -> list[Any]:
    """The values that a function closes over. (A cell is empty before its variable is assigned.)"""
    found = []
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):
            found.append(cell.cell_contents)
    return found
