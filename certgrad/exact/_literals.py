"""Floats with all of their digits, read as what they are probably meant to be: a fraction times roots, π or log 2."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import pi, sqrt
from typing import Any

import numpy as np

from certgrad.language.tree import Apply, Constant, Mul, Node, Number, Power
from certgrad.specification._jax import literal, sort_of

ULPS = 2
"""Units in the last place that a float may be off from what it stands for."""
DENOMINATOR = 256
"""The largest denominator of a fraction that a float is read as: less than one random float in a million fits one."""
_PI: tuple[str, ...] = ("0", "1/2", "-1/2", "1", "-1", "3/2", "-3/2", "2", "-2")
_ROOTS = (1, 2, 3, 5, 6, 7, 10)
"""Numbers whose roots may be factors of what a float stands for."""


def _bases() -> list[tuple[float, tuple[Node, ...]]]:
    """Return numbers of which a float may be a multiple (roots, powers of π, logarithms), each with its factors."""
    out: list[tuple[float, tuple[Node, ...]]] = []
    for e in _PI:
        for k in _ROOTS:
            parts: list[Node] = [] if e == "0" else [Power(Constant("pi"), e)]
            parts += [] if k == 1 else [Power(Number(str(k)), "1/2")]
            out.append((pi ** float(Fraction(e)) * sqrt(k), tuple(parts)))
    for n in (2, 3, 10):
        log = Apply("log", (Number(str(n)),))
        value = float(np.log(n))
        out += [(value, (log,)), (1 / value, (Power(log, "-1"),))]
    log_of_pi = Apply("log", (Mul((Number("2"), Constant("pi"))),))
    return [*out, (float(np.log(2 * pi)), (log_of_pi,))]


_BASES = _bases()


@lru_cache(maxsize=1024)
def _closed(value: float, ulp: float) -> Node | None:
    """Return a fraction times one of `_BASES` that is within `ULPS` of a float; None if there is none."""
    for base, parts in _BASES:
        ratio = Fraction(value / base).limit_denominator(DENOMINATOR)
        if ratio and abs(ratio.numerator) <= DENOMINATOR and abs(float(ratio) * base - value) <= ULPS * ulp:
            return Mul((Number(str(ratio)), *parts)) if parts else Number(str(ratio))
    return None


def closed(value: Any, dtype: Any) -> Node:
    """Return a constant as an expression: what a long float stands for if that is found, else the value as written."""
    as_written = literal(value, dtype)
    if sort_of(dtype) != "real" or not isinstance(as_written, Number) or len(as_written.value) <= 20:
        return as_written
    return _closed(float(value), float(np.spacing(np.abs(np.asarray(value, dtype))))) or as_written
