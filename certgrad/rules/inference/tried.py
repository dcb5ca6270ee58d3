"""The results of the choices of ranks and dtypes tried for an undeclared rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from certgrad.rules.declared.declaration import Declaration

REASONS_SHOWN = 2
"""Reasons why nothing traces that are told, each with a signature."""
LONGEST = 160
"""A reason of more characters is cut."""
ORIGIN = "inferred"


@dataclass
class Tried:
    """The signatures at which a rule traces, and the results of the others."""

    found: list[Declaration] = field(default_factory=list)
    lower: list[Declaration] = field(default_factory=list)
    """One of a lower rank, where nothing in the function says how many axes there are."""
    below: list[Declaration] = field(default_factory=list)
    """Those of lower ranks that it is called at, where the function does say so."""
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    """Where it is called, and the signatures that agree with the call."""
    problem: str = ""
    """Why none was tried."""
    count: int = 0
    cut_short: bool = False
    """There was no time to try more."""
    failures: dict[str, str] = field(default_factory=dict)
    """By reason, the first signature that failed for it."""
    refused: dict[str, str] = field(default_factory=dict)
    """Signatures at which the function traces, and its rule does not; why."""

    @property
    def declarations(self) -> list[Declaration]:
        """All declarations, the likeliest first."""
        return [*self.found, *self.lower, *self.below]

    def each(self, change: Callable[[Declaration], Declaration]) -> Tried:
        """Return the same with every declaration changed."""
        found, lower, below = ([change(d) for d in some] for some in (self.found, self.lower, self.below))
        return replace(self, found=found, lower=lower, below=below)

    def where_called(self, signature: object) -> str:
        """Return where the rule is called with these shapes; "" where no call agrees with them."""
        return next((where for where, signatures in self.calls if signature in signatures), "")

    @property
    def why_none(self) -> str:
        """Return what was tried, and how it failed, in words."""
        if self.problem:
            return self.problem
        shown = [f'"{signature}": {why}' for why, signature in [*self.failures.items()][:REASONS_SHOWN]]
        more = (
            f", and for {len(self.failures) - REASONS_SHOWN} other reasons"
            if len(self.failures) > REASONS_SHOWN
            else ""
        )
        tried = f"none of the {self.count} that were tried traces" if self.count > 1 else "the only one tried fails"
        tried = f"there was no time to try more: {tried}" if self.cut_short else tried
        return f"{tried} ({'; '.join(shown)}{more})"


def shortened(why: str) -> str:
    """Return the core of an error message of JAX or the code."""
    text = " ".join(why.split()).partition(" at symbolic shapes: ")
    short = (text[2] or text[0]).partition(". ")[0].rstrip(".")
    return short if len(short) <= LONGEST else f"{short[:LONGEST]} …"
