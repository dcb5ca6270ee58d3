"""The programs of a rule as JAX traced them, for a reader."""

from __future__ import annotations

import re

from certgrad.obligations.prove.problem import Programs

from .data import Program

LINES = 80
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_TITLES = {
    "forward": "forward",
    "jvp": "JVP",
    "vjp": "VJP",
    "primal": "the rule's own forward",
    "reference": "reference",
}


def programs_of(programs: Programs) -> list[Program]:
    """Each program as text, without addresses; a long one is cut."""
    found = []
    for name, program in programs.all().items():
        lines = _ADDRESS.sub("", str(program.jaxpr)).splitlines()
        if len(lines) > LINES:
            lines = [*lines[:LINES], f"… and {len(lines) - LINES:,} more lines"]
        found.append(Program(_TITLES[name], "\n".join(lines)))
    return found
