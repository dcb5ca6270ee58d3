"""Why an op is further than the limit from the exact value at ordinary arguments, where moving the arguments by half a
unit does not do as much."""

from __future__ import annotations

REASONS: dict[str, str] = {}
