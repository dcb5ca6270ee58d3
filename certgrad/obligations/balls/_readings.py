"""One program with its literals read in two ways: whether its decisions or its results differ at a point.

A reading says what real number a float literal stands for (`Literals`), such as 0.1 or the float nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from flint import arb

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._evaluate import PRECISION, Evaluation, evaluate
from certgrad.obligations.balls._scalars import Real
from certgrad.obligations.balls._values import Array, Literals

Run = tuple[Any, Sequence[Array], Sequence[Array | None] | None]
"""A program, its arguments, and their tangents."""

VANISHING = 2.0**-240
"""Numbers that differ by less than this count as equal."""
NEGLIGIBLE = 2.0**-40
"""A difference that rounding in 64 bits makes, of tangents and cotangents about 1."""


def reads_otherwise(run: Run, reading: Literals, other: Literals, apart: float, negligible: float = NEGLIGIBLE) -> bool:
    """Return whether a program behaves otherwise in another reading of its literals.

    It does if a comparison, a rounding, a sign or an index differs, or if outputs differ by more than `negligible` and
    by more than the part `apart` of the largest output. Where balls cannot evaluate the program to its end in both
    readings, the decisions before that are compared, and whether the errors are of one type.
    """
    (first, first_decisions), (second, second_decisions) = (_evaluated(run, literals) for literals in (reading, other))
    if any(map(_differ, first_decisions, second_decisions)):
        return True
    if isinstance(first, Evaluation) and isinstance(second, Evaluation):
        return _are_far_apart(first.values, second.values, apart, negligible)
    return type(first) is not type(second)


def _evaluated(run: Run, literals: Literals) -> tuple[Evaluation | BallError, list[Real]]:
    """Return the evaluation of a program, or the error that ends it, and the numbers that decided something."""
    with s.watched(rounding=True) as decided, s.precision(PRECISION):
        try:
            return evaluate(*run, keep_stopped=True, literals=literals), decided
        except BallError as error:
            return error, decided


def _differ(a: Real, b: Real) -> bool:
    """Return whether two decisions differ: integers as such, real numbers by their sign."""
    if isinstance(a, int) or isinstance(b, int):
        return type(a) is not type(b) or a != b
    return a is not s.UNKNOWN and b is not s.UNKNOWN and _side(a) != _side(b)


def _side(a: Real) -> int | None:
    """Return the sign of a number: 0 where it may be 0, None for NaN."""
    if type(a) is float:
        return None if isnan(a) else 1 if a > 0 else -1
    x = s.ball(a)
    return int(x > VANISHING) - int(x < -VANISHING)


def _are_far_apart(values: Sequence[Array], others: Sequence[Array], apart: float, negligible: float) -> bool:
    """Return whether outputs differ as `reads_otherwise` says; for integers and special values by any difference."""
    gap, size = arb(0), arb(0)
    for a, b in ((a, b) for x, y in zip(values, others, strict=True) for a, b in zip(x.flat, y.flat, strict=True)):
        if isinstance(a, np.generic | bool | int):
            if a != b:
                return True
        elif s.finite(a) and s.finite(b):
            gap, size = gap.max(abs(s.ball(s.sub(a, b)))), size.max(abs(s.ball(a)))
        elif a is not s.UNKNOWN and b is not s.UNKNOWN and str(a) != str(b):
            return True
    return bool(gap > size * apart) and bool(gap > negligible)
