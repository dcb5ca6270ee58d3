"""The magnitudes of arguments at which an op is stated to return no NaN in floats.

A domain is about real numbers. In floats, an intermediate product or quotient may overflow although the final result
would not; then infinities meet, and the result is NaN. This is a matter of the dtype, and no part of any proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import jax.numpy as jnp
import numpy as np

ROOM = 4
"""How many powers of two below the largest number of a dtype the magnitudes end: room for sums."""


@dataclass(frozen=True)
class Magnitudes:
    """The magnitudes of entries of float arguments: at most (max / 16)^most, and, if not 0, at least tiny^least.

    Here `max` and `tiny` are the largest and the smallest normal number of the dtype, and both ends are rounded to
    powers of two. At the default 1, nothing is stated. `certgrad conform` measures the op at both ends. The 16 leaves
    room for sums of the few entries that it measures; longer sums need more.
    """

    most: float = 1.0
    least: float = 1.0

    def ends(self, dtype: Any) -> tuple[float, float]:
        """Return the least and the largest magnitude in this dtype: 0 and infinity where nothing is stated."""
        info: Any = jnp.finfo(dtype)
        low = 2.0 ** ceil(self.least * int(info.minexp)) if self.least < 1 else 0.0
        high = 2.0 ** floor(self.most * (int(info.maxexp) - ROOM)) if self.most < 1 else float("inf")
        return low, high

    def holds(self, arrays: Iterable[Any], dtype: Any) -> bool:
        """Return whether every entry of these arrays is 0 or has a magnitude between the ends."""
        low, high = self.ends(dtype)
        sizes = [np.abs(np.asarray(x, np.float64)) for x in arrays]
        return all(bool(((x == 0) | ((low <= x) & (x <= high))).all()) for x in sizes)

    def text(self, dtype: Any) -> str:
        """Return the magnitudes in words: "up to 2^32"."""
        low, high = self.ends(dtype)
        above = f"from 2^{int(np.log2(low))}" if low else ""
        below = f"up to 2^{int(np.log2(high))}" if np.isfinite(high) else ""
        return f"{above} {below}".strip() or "any"


ANY_MAGNITUDE = Magnitudes()
"""Nothing stated: all numbers of a dtype."""
