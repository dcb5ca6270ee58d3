"""The programs of a rule as JAX traced them, as text for a reader."""

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
    """Return each program as text, without memory addresses; a long one is cut after `LINES` lines."""
    texts = []
    for name, program in programs.all().items():
        lines = _ADDRESS.sub("", str(program.jaxpr)).splitlines()
        if len(lines) > LINES:
            lines = [*lines[:LINES], f"… and {len(lines) - LINES:,} more lines"]
        texts.append(Program(_TITLES[name], "\n".join(lines)))
    return texts
