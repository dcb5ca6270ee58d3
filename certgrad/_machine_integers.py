"""Integers that a machine keeps in few bits, or without a sign: which operations on them are not those of numbers."""

from __future__ import annotations

import numpy as np

MOVES = frozenset(
    "broadcast_in_dim reshape squeeze expand_dims transpose slice rev copy optimization_barrier stop_gradient".split()
)
"""Primitives that put entries elsewhere as they are."""
NUMBERING = MOVES | {"iota", "sort"}
"""Primitives that number entries or move them: no arithmetic, so that unsigned integers do not wrap."""
EXACT = MOVES | frozenset(
    "and clamp concatenate convert_element_type max min or select_n shift_right_logical xor".split()
)
"""Primitives whose results are in the range of a narrow type where their operands are: no arithmetic, or they wrap."""


def wraps(dtype: np.dtype, primitive: str) -> bool:
    """Whether a result of this integer dtype may be another number than that of exact arithmetic.

    Those of unsigned types, and of types so narrow that ordinary sizes overflow; wider signed ones are read as exact,
    which certificates say.
    """
    narrow = dtype.itemsize < 4
    return (narrow or dtype.kind == "u") and primitive not in (EXACT if narrow else NUMBERING)
