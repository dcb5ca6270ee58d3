"""Points at which all hypotheses hold, found in floats; Coq then proves that they hold there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from certgrad.language.arithmetic import UndefinedError, UnfitError
from certgrad.language.evaluate import evaluate
from certgrad.language.floats import Floats
from certgrad.language.reader import Reader, Scope
from certgrad.language.tree import OffBoundaries, Size, Statement, arrays, walk
from certgrad.specification import program as p

from ._expressions import number

Point = tuple[dict[str, int], dict[str, Fraction]]
"""A value for each size, and for each tensor the one number that all its entries are."""
SIZES = (1, 2, 3)
VALUES = tuple(map(Fraction, ("0", "1", "1/2", "2", "-1", "3", "-1/2", "1/4")))
WHOLE = tuple(map(Fraction, (0, 1)))
"""Values of integers and of booleans."""
TRIED = 2000
"""Most points that are tried."""


def point(statements: Sequence[Statement], tensors: Mapping[str, p.Tensor], sizes: Sequence[str]) -> Point | None:
    """Return a point that satisfies the statements; None if none is found among those that are tried.

    All sizes are one number, and all entries of a tensor are one number: combinations are tried in a fixed order. A
    statement that a forward is off its boundaries cannot be evaluated here: with one, only the point of ones is tried.
    """
    evaluated = [s for s in statements if not isinstance(s, OffBoundaries)]
    names = [n for n in tensors if any(n in arrays(s) for s in evaluated)]
    if len(evaluated) < len(statements):
        return _at_one(evaluated, tensors, sizes)
    tried = 0
    for size in SIZES:
        shapes = {n: _shape(tensors[n], size) for n in names}
        if any(shape is None for shape in shapes.values()):
            return None
        for values in product(*(VALUES if tensors[n].sort == "real" else WHOLE for n in names)):
            tried += 1
            if tried > TRIED:
                return None
            entries = dict(zip(names, values, strict=True))
            if _hold(evaluated, tensors, entries, dict.fromkeys(sizes, size)):
                return dict.fromkeys(sizes, size), entries
    return None


def _at_one(statements: Sequence[Statement], tensors: Mapping[str, p.Tensor], sizes: Sequence[str]) -> Point | None:
    """Return the point at which all sizes and entries are 1, if it satisfies the statements; else None."""
    chosen = dict.fromkeys(tensors, Fraction(1))
    at = dict.fromkeys(sizes, 1)
    return (at, chosen) if _hold(statements, tensors, chosen, at) else None


def _hold(
    statements: Sequence[Statement],
    tensors: Mapping[str, p.Tensor],
    chosen: Mapping[str, Fraction],
    sizes: Mapping[str, int],
) -> bool:
    """Return whether all statements hold where the tensors have the chosen entries."""
    size = next(iter(sizes.values()), 1)
    full = {n: np.full(_shape(tensors[n], size) or (), _entry(tensors[n], v), dtype=object) for n, v in chosen.items()}
    return all(_holds(s, full, sizes) for s in statements)


def _holds(statement: Statement, full: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    """Return whether the statement is true of the arrays; False also where it has no value."""
    try:
        return evaluate(statement, full, sizes, Floats()) is True
    except (UnfitError, UndefinedError, ArithmeticError, ValueError, IndexError, KeyError):
        return False


def _entry(tensor: p.Tensor, value: Fraction) -> float | int | bool:
    return float(value) if tensor.sort == "real" else bool(value) if tensor.sort == "boolean" else int(value)


def _shape(tensor: p.Tensor, size: int) -> tuple[int, ...] | None:
    """Return a tensor's shape where all sizes have this value; None where an axis would be empty."""
    names = {n.name for length in tensor.shape for n in walk(length) if isinstance(n, Size)}
    scope = Scope({}, dict.fromkeys(names, size))
    lengths = tuple(_LENGTHS.read(length)(scope) for length in tensor.shape)
    return lengths if all(n >= 1 for n in lengths) else None


_LENGTHS = Reader(Floats())


def constant_tensor(tensor: p.Tensor, value: Fraction) -> str:
    """Return the tensor with this value in every entry, in Coq: a function that ignores its indices."""
    entry = {"real": number(value), "boolean": "true" if value else "false"}.get(tensor.sort, f"{int(value)}%Z")
    return f"(fun {' '.join('_' for _ in tensor.shape)} => {entry})" if tensor.shape else f"{entry}"
