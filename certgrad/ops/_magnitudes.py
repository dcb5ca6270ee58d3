"""The magnitudes at which an op is stated to be no NaN in floats.

A domain is about real numbers. Where products or quotients of arguments leave the numbers of a dtype on the way to a
result that is one of them, infinities meet, and the result is NaN: that is about the dtype, and no part of any proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import jax.numpy as jnp
import numpy as np

ROOM = 4
"""Bits of the largest number that are left to sums."""


@dataclass(frozen=True)
class Magnitudes:
    """Entries of float arguments are at most (max / 16)^most, and those that are not 0 at least tiny^least, `max` and
    `tiny` being the largest and the smallest normal number of their dtype; rounded to a power of two.

    `certgrad conform` measures the op at both ends. The 16 leaves room for sums of the few entries that it measures;
    longer ones need more.
    """

    most: float = 1.0
    least: float = 1.0

    def ends(self, dtype: Any) -> tuple[float, float]:
        """The least and the most magnitude in this dtype: 0 and infinity where nothing is stated."""
        info: Any = jnp.finfo(dtype)
        low = 2.0 ** ceil(self.least * int(info.minexp)) if self.least < 1 else 0.0
        high = 2.0 ** floor(self.most * (int(info.maxexp) - ROOM)) if self.most < 1 else float("inf")
        return low, high

    def holds(self, arrays: Iterable[Any], dtype: Any) -> bool:
        """Whether every entry of these arrays is 0 or between the ends."""
        low, high = self.ends(dtype)
        sizes = [np.abs(np.asarray(x, np.float64)) for x in arrays]
        return all(bool(((x == 0) | ((low <= x) & (x <= high))).all()) for x in sizes)

    def text(self, dtype: Any) -> str:
        """As words: `up to 2^32`."""
        low, high = self.ends(dtype)
        above = f"from 2^{int(np.log2(low))}" if low else ""
        below = f"up to 2^{int(np.log2(high))}" if np.isfinite(high) else ""
        return f"{above} {below}".strip() or "any"


ANY_MAGNITUDE = Magnitudes()
"""All numbers of a dtype."""
