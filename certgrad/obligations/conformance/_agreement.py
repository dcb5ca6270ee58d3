"""Whether two results are one up to the rounding of their dtype.

Both are compared with the value in 64 bits at the same inputs: where the program itself is far from that, rounding is
large, and a difference of its size says nothing. This can take a proof away and never gives one.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

ROUNDING = {"float64": 256, "float32": 64}
FEW = 8
"""Units of rounding, of the largest entry, by which two orders of the same operations may differ.

Few in half precision, where each counts; more in wider types, where long programs gather them."""
NOISE = {"float64": 32, "float32": 32}
FEW_TIMES = 4
"""How much farther than the program's own rounding a result may be from it."""


def differs(found: Sequence[np.ndarray], program: Sequence[np.ndarray], exact: Sequence[np.ndarray], dtype: str) -> str:
    """How the results found differ from the program's in the dtype, whose value in 64 bits is `exact`; or nothing."""
    if len(found) != len(program):
        return f"{len(found)} arrays in place of {len(program)}"
    for k, (a, b, c) in enumerate(zip(found, program, exact, strict=True)):
        if a.shape != b.shape:
            return f"output {k} has shape {a.shape} in place of {b.shape}"
        if not a.size:
            continue
        first, second, third = (np.asarray(x, np.float64).ravel() for x in (a, b, c))
        if (where := _apart(first, second, third, dtype)) is not None:
            return f"output {k} is {_shown(a, where)} in place of {_shown(b, where)}"
    return ""


def _apart(a: np.ndarray, b: np.ndarray, c: np.ndarray, dtype: str) -> int | None:
    """The first entry that differs."""
    eps = float(ml_dtypes.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        sound = np.isfinite(b) & np.isfinite(c)
        kinds = np.isfinite(a) | (~sound)
        if dtype in ("float64", "float32"):
            kinds &= ~(np.isnan(b) & np.isnan(c) & ~np.isnan(a)) & ~((b == c) & np.isinf(b) & (a != b))
        if not kinds.all():
            return int(np.argmin(kinds))
        if not sound.any():
            return None
        scale, noise = float(np.max(np.abs(c[sound]))), float(np.max(np.abs(b[sound] - c[sound])))
        smallest = float(ml_dtypes.finfo(dtype).smallest_normal)
        near = (
            np.abs(np.where(sound, a - b, 0))
            <= ROUNDING.get(dtype, FEW) * eps * scale + NOISE.get(dtype, FEW_TIMES) * noise + smallest
        )
    return None if near.all() else int(np.argmin(near))


def _shown(values: np.ndarray, at: int) -> str:
    return f"{float(np.asarray(values, np.float64).ravel()[at]):.6g}"
