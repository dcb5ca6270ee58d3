"""A theorem of Coq, with the ways to look for its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WAY_PREFIX = "@way "
"""Begins what is said of the way that found a proof."""


FIRST_SECONDS = 3
"""Seconds that each way has at first."""


@dataclass(frozen=True)
class Theorem:
    """A theorem: its name, the obligation that it states, and its text with its proof; or why there is none."""

    name: str
    kind: str
    statement: str = ""
    ways: tuple[str, ...] = ()
    """To look for a proof, in this order: each is a tactic, which proves all of it or fails."""
    reason: str = ""
    hypotheses: str = ""
    """What is assumed, as a proposition; empty if nothing."""
    stated: bool = True
    """False where there is nothing to prove."""
    needs: tuple[str, ...] = ()
    """The theorems that its proof uses."""

    def proof_sentence(self, way: int | None, limit: int) -> str:
        """The sentence with the tactic that found a proof, where it is known which; otherwise with a search."""
        if way is not None and way < len(self.ways):
            return f"{self.ways[way]}."
        return self._search([f"solve [{one}]" for one in self.ways], [], limit)

    def search_sentence(self, way: int | None, limit: int) -> str:
        """A search that says which way found a proof; the one that is known to have found one is gone first."""
        tried = [f'solve [{one}]; idtac "{WAY_PREFIX}{k}"' for k, one in enumerate(self.ways)]
        return self._search(tried, [tried[way]] if way is not None and way < len(tried) else [], limit)

    @staticmethod
    def _search(ways: Sequence[str], known: Sequence[str], limit: int) -> str:
        """Each way for a short time before any for long: one that fits is quick, where others search for minutes.

        Inside a command with a limit of its own none would hold: Coq has one alarm clock.
        """
        first, long = ([f"timeout {limit} ({way})" for way in some] for some in (known, ways))
        quickly = [f"timeout {FIRST_SECONDS} ({way})" for way in (ways if len(ways) > 1 else ())]
        return f"first [{' | '.join([*first, *quickly, *long])}]."

    def text(self, proof: str) -> str:
        """The theorem with such a proof, in sentences of Coq."""
        return f"Theorem {self.name} :\n{self.statement}.\nProof.\n  {proof}\nQed.\n"


def first_solving_tactic(ways: Sequence[str]) -> str:
    """Return the tactic that takes the first of these ways that proves all goals."""
    return f"first [{' | '.join(f'solve [{way}]' for way in ways)}]" if len(ways) > 1 else ways[0]
