"""Kinds of arrays that are drawn in the search for a point inside hypotheses."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import Any

import numpy as np
from flint import fmpq

NEARLY = Fraction(1, 1 << 30)
"""The distance of a "nearly" kind from the exact one: a test of closeness passes, and its boundary is not hit."""
ORDINARY = ("any", "positive", "negative", "fractions")
ROWS = ("distributions", "nearly distributions", "nearly sums of 0", "ordered", "one-hot")
MATRICES = ("triangular", "nearly rows of norm 1", "positive definite", "nearly correlations")
WHOLE = ("small", "counts", "negative", "ordered")


def kinds(shape: Sequence[int], dtype: str) -> tuple[str, ...]:
    """Return the kinds of arrays of this shape that may be drawn, for real numbers (`float`), integers or booleans."""
    if dtype != "float":
        return WHOLE if dtype == "int" else ("small",)
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return (*ORDINARY, *(ROWS if shape else ()), *(MATRICES if square else ()))


def drawn(
    rng: random.Random, kind: str, shape: Sequence[int], dtype: str, spread: int = 1, *, exact: bool = True
) -> Any:
    """Return a drawn array of a kind. Real numbers are rationals if `exact`, else floats; `spread` scales them."""
    if dtype != "float":
        return _draw_integers(rng, kind, shape, dtype)
    out, signs = _drawn(rng, shape, spread) if exact else _in_floats(rng, shape, spread)
    if kind == "any":
        out = out * signs
    elif kind == "negative":
        out = -out
    elif kind == "fractions":
        out = out / (spread + 1)
    elif kind in _SHAPED:
        out = _SHAPED[kind](out)
    return rationals(np.asarray(out, dtype=object)) if exact else np.asarray(out, dtype=float)


def _drawn(rng: random.Random, shape: Sequence[int], spread: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an array of drawn fractions above 0, and one of drawn signs."""
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        out[index] = Fraction(2 * rng.randint(0, 8 * spread) + 1, 16)
    return out, np.array([rng.choice((-1, 1)) for _ in range(prod(shape))], dtype=object).reshape(shape)


def _in_floats(rng: random.Random, shape: Sequence[int], spread: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(rng.getrandbits(64))
    return (2 * generator.integers(0, 8 * spread, shape, endpoint=True) + 1) / 16, generator.choice((-1, 1), shape)


def _draw_integers(rng: random.Random, kind: str, shape: Sequence[int], dtype: str) -> Any:
    low, high = {"counts": (1, 4), "negative": (-3, -1), "ordered": (0, 9)}.get(kind, (rng.randint(0, 1), 1))
    entries = np.array([rng.randint(low, high) for _ in range(prod(shape))], dtype=bool if dtype == "bool" else int)
    out = entries.reshape(shape)
    return np.sort(out, axis=-1) if kind == "ordered" and shape else out


def rationals(x: np.ndarray) -> np.ndarray:
    """Return an array's numbers as exact rationals of flint."""
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        entry: Any = x[index]
        value = Fraction(entry)
        out[index] = fmpq(value.numerator, value.denominator)
    return out


def _distributions(x: np.ndarray) -> np.ndarray:
    return x / x.sum(axis=-1, keepdims=True)


def _sums_of_0(x: np.ndarray) -> np.ndarray:
    return x - x.sum(axis=-1, keepdims=True) / x.shape[-1] + _nearly(x)


def _nearly(x: np.ndarray) -> Any:
    return NEARLY if x.dtype == object else float(NEARLY)


def _one_hot(x: np.ndarray) -> np.ndarray:
    first = np.argmax(x.astype(float), axis=-1)
    return (np.arange(x.shape[-1]) == first[..., None]).astype(int).astype(x.dtype)


def _rows_of_norm_1(x: np.ndarray) -> np.ndarray:
    """Return a triangular matrix with rows of norm 1, as the factor of a correlation matrix is."""
    x = _lower(x)
    squares = (x * x).sum(axis=-1, keepdims=True)
    norms = np.vectorize(lambda s: Fraction(sqrt(s)), otypes=[object])(squares) if x.dtype == object else squares**0.5
    return x / norms * (1 + _nearly(x))


def _lower(x: np.ndarray) -> np.ndarray:
    return x * np.tri(x.shape[-1], dtype=int).astype(x.dtype)


def _positive_definite(x: np.ndarray) -> np.ndarray:
    return _gram(_lower(x))


def _gram(x: np.ndarray) -> np.ndarray:
    return x @ np.swapaxes(x, -1, -2)


_SHAPED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "distributions": _distributions,
    "nearly distributions": lambda x: _distributions(x) * (1 + _nearly(x)),
    "nearly sums of 0": _sums_of_0,
    "ordered": lambda x: np.sort(x, axis=-1),
    "one-hot": _one_hot,
    "triangular": _lower,
    "nearly rows of norm 1": _rows_of_norm_1,
    "positive definite": _positive_definite,
    "nearly correlations": lambda x: _gram(_rows_of_norm_1(x)),
}
