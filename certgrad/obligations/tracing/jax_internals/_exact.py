"""Equations of integers and booleans that are known, computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr import kinds

from ._values import kind_of

COMPUTED = (kinds.REARRANGES | kinds.ADDS | kinds.CHOOSES | kinds.COMPARES | kinds.LOGIC | kinds.REDUCES) | frozenset(
    "abs argmax argmin convert_element_type cummax cummin cumsum div iota mul rem sign".split()
)
"""Primitives whose integers are those of whole numbers wherever they fit, and whose indices are never out of range."""
LARGEST = 2**31 - 1
"""What fits integers of 32 bits, which those of 64 are where JAX is not told otherwise."""
MOST_ENTRIES = 1 << 10
"""Entries of an array of integers that is computed while it is read; a larger one is an operand."""


def integers(x: Any, like: Any) -> np.ndarray | None:
    """Return an array with an abstract value's shape and dtype; None unless it has few integers that fit 32 bits."""
    if kind_of(like.dtype) not in "ib" or not _has_few_entries(like.shape):
        return None
    array = np.asarray(x)
    if array.shape != tuple(like.shape) or array.dtype.kind not in "biu":
        return None
    found = array.astype(like.dtype)
    return found if (found == array).all() and all(abs(int(n)) <= LARGEST for n in found.flat) else None


def integers_throughout(value: int, like: Any) -> np.ndarray | None:
    """Return the same for an array that has one value everywhere."""
    return integers(np.full(like.shape, value), like) if _has_few_entries(like.shape) else None


def _has_few_entries(shape: Sequence[Any]) -> bool:
    """Return whether the shape is of numbers, and of few entries."""
    return all(isinstance(n, int) for n in shape) and math.prod(shape) <= MOST_ENTRIES


def is_computed(eqn: Any) -> bool:
    """Return whether an equation gives integers or booleans that are known where its operands are."""
    avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    return eqn.primitive.name in COMPUTED and all(kind_of(a.dtype) in "ib" and _has_few_entries(a.shape) for a in avals)


def computed(eqn: Any, operands: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return an equation's results on integers and booleans in its own dtypes; None where they differ in other dtypes.

    Where the results fit 32 bits, the same equation in 32 bits has them too: the arithmetic is that of whole numbers,
    modulo a power of 2.
    """
    if eqn.primitive.name in ("div", "rem") and not operands[1].all():
        return None
    with jax.enable_x64(True):
        found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    outs = list(found) if eqn.primitive.multiple_results else [found]
    arrays = [integers(x, v.aval) for x, v in zip(outs, eqn.outvars, strict=True)]
    return None if any(x is None for x in arrays) else [x for x in arrays if x is not None]
