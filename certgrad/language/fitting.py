"""Checks that a statement fits some arrays, however it is evaluated at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from certgrad.signatures.sizes import NoSizeError, size_at

from . import tree as t
from .arithmetic import UnfitError
from .substitute import unbound


def about_whole_arrays(statement: t.Statement) -> bool:
    """Return whether the statement is about every entry of whole arrays, not about entries by index.

    Raises UnfitError where it is about both, or an index is not bound.
    """
    nodes = list(t.walk(statement))
    whole = any(isinstance(n, t.Array) for n in nodes)
    if whole and any(isinstance(n, t.Entry) and n.index for n in nodes):
        raise UnfitError("it is about entries by their index and about whole arrays")
    if free := sorted(unbound(statement)):
        raise UnfitError(f"the index '{free[0]}' runs over nothing")
    return whole


def entered(statement: t.Statement) -> frozenset[str]:
    """Return the names of the arrays whose entries a statement mentions, and not their lengths alone."""
    return frozenset(n.name for n in t.walk(statement) if isinstance(n, t.Array | t.Entry))


def spread(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which whole arrays broadcast. Raises UnfitError where they do not broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise UnfitError("its arrays do not broadcast") from None


def size(name: str, sizes: Mapping[str, int]) -> int:
    """Return the number that a dimension is. Raises UnfitError for an unknown name."""
    try:
        return size_at(name, sizes)
    except (KeyError, NoSizeError, ZeroDivisionError):
        raise UnfitError(f"'{name}' is no dimension") from None


def length(axis: t.Axis, shape: Sequence[int]) -> int:
    """Return the length of an axis of an array of this shape. Raises UnfitError where the array has too few."""
    if not -len(shape) <= axis.position < len(shape):
        raise UnfitError(f"'{axis.array}' has {len(shape)} axes")
    return int(shape[axis.position])
