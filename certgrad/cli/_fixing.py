"""`certgrad audit --fix`: bounds that the audit assumed, written into the declarations of the rules."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from certgrad.obligations.certificate import assumed
from certgrad.report.findings import BOUNDED
from certgrad.rules._fix import declared

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult


def fixed(results: "Sequence[RuleResult]") -> "tuple[list[RuleResult], list[str]]":
    """The results without the remarks on bounds that are declared now, and what was written, or is left to write."""
    left: list[RuleResult] = []
    notes: list[str] = []
    for one in results:
        bounded = any(r.code == BOUNDED for r in one.remarks) and BOUNDED not in (one.covered or ())
        conditions = assumed(one.certificate) if bounded and one.certificate is not None else []
        if conditions and _written(one, conditions):
            notes.append(f"{one.named}: {' and '.join(conditions)} is declared now; audit it again")
            one = msgspec.structs.replace(one, remarks=[r for r in one.remarks if r.code != BOUNDED])
        elif conditions:
            texts = ", ".join(f'"{text}"' for text in conditions)
            notes.append(f"{one.named}: no certgrad.declare beside it takes the bounds: declare domain=[{texts}]")
        left.append(one)
    return left, notes


def _written(one: "RuleResult", conditions: Sequence[str]) -> bool:
    place = one.place
    file = Path(place.file)
    if not place.line or not file.is_relative_to(Path.cwd()) or "site-packages" in file.parts:
        return False
    try:
        return declared(file, place.line, one.name.rpartition(":")[2].rpartition(".")[2], conditions)
    except OSError:
        return False
