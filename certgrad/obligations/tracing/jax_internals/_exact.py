"""Equations of known integers and booleans, computed while a program is read."""

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
"""Primitives that compute as on whole numbers where the results fit, with indices that are never out of range."""
LARGEST = 2**31 - 1
"""The largest integer of 32 bits, to which JAX narrows integers of 64 bits by default."""
MOST_ENTRIES = 1 << 10
"""At most this many entries has an array of integers that is computed while it is read; a larger one is an operand."""


def integers(x: Any, like: Any) -> np.ndarray | None:
    """Return a value as an array of an abstract value's dtype.

    Return None if the shapes differ, if it has many entries, or if one is no integer or boolean that fits 32 bits.
    """
    if kind_of(like.dtype) not in "ib" or not _has_few_entries(like.shape):
        return None
    array = np.asarray(x)
    if array.shape != tuple(like.shape) or array.dtype.kind not in "biu":
        return None
    cast = array.astype(like.dtype)
    return cast if (cast == array).all() and all(abs(int(n)) <= LARGEST for n in cast.flat) else None


def integers_throughout(value: int, like: Any) -> np.ndarray | None:
    """Return an array of an abstract value's type with one value everywhere; None where `integers` returns None."""
    return integers(np.full(like.shape, value), like) if _has_few_entries(like.shape) else None


def _has_few_entries(shape: Sequence[Any]) -> bool:
    """Return whether a shape consists of numbers, and has few entries."""
    return all(isinstance(n, int) for n in shape) and math.prod(shape) <= MOST_ENTRIES


def is_computed(eqn: Any) -> bool:
    """Return whether an equation gives integers or booleans that are known where its operands are."""
    avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    return eqn.primitive.name in COMPUTED and all(kind_of(a.dtype) in "ib" and _has_few_entries(a.shape) for a in avals)


def computed(eqn: Any, operands: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return an equation's results on known integers and booleans; None if one does not fit 32 bits, or for x / 0.

    Where the results fit 32 bits, the same equation in 32 bits has them too: the arithmetic is that of whole numbers,
    modulo a power of 2.
    """
    if eqn.primitive.name in ("div", "rem") and not operands[1].all():
        return None
    with jax.enable_x64(True):
        result = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    outs = list(result) if eqn.primitive.multiple_results else [result]
    arrays = [integers(x, v.aval) for x, v in zip(outs, eqn.outvars, strict=True)]
    return None if any(x is None for x in arrays) else [x for x in arrays if x is not None]
