"""A theorem of Coq, with the proof scripts ("ways") that are tried for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WAY_PREFIX = "@way "
"""The beginning of the line that Coq prints with the number of the way that found a proof."""


FIRST_SECONDS = 3
"""Seconds that each way gets in a first round."""


@dataclass(frozen=True)
class Theorem:
    """A theorem: its name, the kind of obligation that it states, its statement and ways to prove it.

    One that cannot be printed has a `reason` instead of a statement.
    """

    name: str
    kind: str
    statement: str = ""
    ways: tuple[str, ...] = ()
    """Tactics that are tried in this order; each proves the whole theorem or fails."""
    reason: str = ""
    hypotheses: str = ""
    """The hypotheses as one proposition; empty if there are none."""
    stated: bool = True
    """False where there is nothing to prove, as the rule has no program that the obligation is about."""
    needs: tuple[str, ...] = ()
    """Names of the theorems that its proof uses."""

    def proof_sentence(self, way: int | None, limit: int) -> str:
        """Return the proof as a sentence of Coq: the way with the number `way`, or a search in all if that is None."""
        if way is not None and way < len(self.ways):
            return f"{self.ways[way]}."
        return self._search([f"solve [{tactic}]" for tactic in self.ways], [], limit)

    def search_sentence(self, way: int | None, limit: int) -> str:
        """Return a search as a sentence of Coq, which prints the number of the way that found a proof.

        The way with the number `way`, which found a proof before, is tried first.
        """
        tactics = [f'solve [{tactic}]; idtac "{WAY_PREFIX}{k}"' for k, tactic in enumerate(self.ways)]
        return self._search(tactics, [tactics[way]] if way is not None and way < len(tactics) else [], limit)

    @staticmethod
    def _search(ways: Sequence[str], known: Sequence[str], limit: int) -> str:
        """Return the sentence that tries the known ways, then all for `FIRST_SECONDS` each, then all up to the limit.

        A way that fits is quick, while others can search for minutes: so no way gets long before all had a short try.
        The sentence may not stand inside another `timeout`: Coq has only one timer, and the limits would not hold.
        """
        first, long = ([f"timeout {limit} ({way})" for way in group] for group in (known, ways))
        quickly = [f"timeout {FIRST_SECONDS} ({way})" for way in (ways if len(ways) > 1 else ())]
        return f"first [{' | '.join([*first, *quickly, *long])}]."

    def text(self, proof: str) -> str:
        """Return the text of the theorem with the proof, which is a sentence of Coq."""
        return f"Theorem {self.name} :\n{self.statement}.\nProof.\n  {proof}\nQed.\n"


def first_solving_tactic(ways: Sequence[str]) -> str:
    """Return the tactic that tries these ways in order, and takes the first that proves all goals."""
    return f"first [{' | '.join(f'solve [{way}]' for way in ways)}]" if len(ways) > 1 else ways[0]
