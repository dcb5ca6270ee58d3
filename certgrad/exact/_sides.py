"""The regions around a point at which numbers are compared that are equal there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import arb

from ._model import Model
from ._number import Infinite, Number, OpenError

NEAR = arb(2) ** -20
"""Numbers that differ by less, relative to 1 and to them, are taken as equal at a point that is 2⁻⁶⁰ away."""
REGIONS = 32
"""Regions beside a point, at most; where there are more, no claim is made at the point."""


class Beside(Model):
    """Arithmetic beside a point, where numbers that are equal at the point compare in each possible way in turn.

    Two comparisons have one outcome, up to a sign, where one difference is a multiple of the other. That is seen by
    the derivatives: f and g are multiples if f·g′ = g·f′ along a drawn tangent.
    """

    real_alone = True

    def __init__(self) -> None:
        self.outcomes: list[int] = []
        """The outcomes of comparisons of numbers that are equal at the point, in order; further ones fall out as 1."""
        super().__init__()

    def begin(self, seed: str, width: int) -> None:
        super().begin(seed, width)
        self.met: list[tuple[arb, arb]] = []
        """Differences of compared numbers that are no multiples of earlier ones, with their tangents."""

    def order(self, u: Any, v: Any) -> int:
        """Return how two numbers compare: by `outcomes` if they are equal at the point, else as real numbers do."""
        if Number not in (type(u), type(v)) or Infinite in (type(u), type(v)):
            return super().order(u, v)
        p, q = self.lifted(u), self.lifted(v)
        gap = p.x - q.x
        if p.a == q.a or not abs(gap) < NEAR * (1 + abs(p.x)):
            return super().order(u, v)
        slope = (p.dx or arb(0)) - (q.dx or arb(0))
        if 0 in gap:
            raise OpenError("how near numbers compare")
        for k, (earlier_gap, earlier_slope) in enumerate(self.met):
            left, right = gap * earlier_slope, earlier_gap * slope
            if 0 not in left and abs(left - right) < NEAR * abs(left):
                return self.outcomes[k] * (1 if gap * earlier_gap > 0 else -1)
        self.met.append((gap, slope))
        if len(self.met) > len(self.outcomes):
            self.outcomes.append(1)
        return self.outcomes[len(self.met) - 1]

    def floor(self, u: Any) -> int:
        if isinstance(u, Number) and u.dx is not None and abs(u.x - u.x.mid().floor()) < NEAR:
            raise OpenError("a jump")
        return super().floor(u)

    def regions(self) -> Iterator[None]:
        """Yield once for each region around a point; before each, the outcomes of comparisons are set to the
        next combination, as a counter of binary digits 1 and −1 is. Raises OpenError if there are too many.
        """
        self.outcomes = []
        for _ in range(REGIONS):
            yield
            del self.outcomes[len(self.met) :]
            while self.outcomes and self.outcomes[-1] < 0:
                self.outcomes.pop()
            if not self.outcomes:
                return
            self.outcomes[-1] = -1
        raise OpenError("regions around a point")
