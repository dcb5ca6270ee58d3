"""The results of trying choices of ranks and dtypes for a rule without a declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from certgrad.rules.declared.declaration import Declaration

REASONS_SHOWN = 2
"""At most this many reasons why nothing traces are named, each with a signature."""
LONGEST = 160
"""Reasons are cut after this many characters."""
ORIGIN = "inferred"


@dataclass
class Tried:
    """The signatures at which a rule traces, and the failures at others."""

    found: list[Declaration] = field(default_factory=list)
    """Declarations at which the rule traces, the likeliest first."""
    lower: list[Declaration] = field(default_factory=list)
    """A declaration of a lower rank, where nothing in the function says how many axes there are."""
    below: list[Declaration] = field(default_factory=list)
    """Declarations of lower ranks that calls agree with, where the function names axes."""
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    """Where the rule is called, each with the signatures that agree with the call."""
    problem: str = ""
    """Why no choice was tried; empty if some were."""
    count: int = 0
    """The number of choices that were tried."""
    cut_short: bool = False
    """Whether there was no time to try more."""
    failures: dict[str, str] = field(default_factory=dict)
    """For each reason of a failure, the first signature that failed for it."""
    refused: dict[str, str] = field(default_factory=dict)
    """For each signature at which the function traces and its rule does not, the reason."""

    @property
    def declarations(self) -> list[Declaration]:
        """All declarations, the likeliest first."""
        return [*self.found, *self.lower, *self.below]

    def each(self, change: Callable[[Declaration], Declaration]) -> Tried:
        """Return these results with every declaration changed."""
        found, lower, below = ([change(d) for d in some] for some in (self.found, self.lower, self.below))
        return replace(self, found=found, lower=lower, below=below)

    def where_called(self, signature: object) -> str:
        """Return where the rule is called with the shapes of a signature; "" if no call agrees with them."""
        return next((where for where, signatures in self.calls if signature in signatures), "")

    @property
    def why_none(self) -> str:
        """Why there is no declaration, in words: what was tried, and how it failed."""
        if self.problem:
            return self.problem
        shown = [f'"{signature}": {why}' for why, signature in [*self.failures.items()][:REASONS_SHOWN]]
        further = (
            f", and for {len(self.failures) - REASONS_SHOWN} other reasons"
            if len(self.failures) > REASONS_SHOWN
            else ""
        )
        tried = f"none of the {self.count} that were tried traces" if self.count > 1 else "the only one tried fails"
        tried = f"there was no time to try more: {tried}" if self.cut_short else tried
        return f"{tried} ({'; '.join(shown)}{further})"


def shortened(why: str) -> str:
    """Return the first sentence of an error message of JAX or the code, without the place of the trace, cut if long."""
    text = " ".join(why.split()).partition(" at symbolic shapes: ")
    short = (text[2] or text[0]).partition(". ")[0].rstrip(".")
    return short if len(short) <= LONGEST else f"{short[:LONGEST]} …"
