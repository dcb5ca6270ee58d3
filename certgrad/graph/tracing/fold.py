"""Scalars that a program computes from its own literals, where the result is exact: sizes, and tests of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from jax.extend import core as jex

from certgrad.obligations.tracing.jax_internals import is_literal, kind_of

_EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "convert_element_type": lambda a: a,
}


def exact_literal(eqn: Any) -> Any:
    """Return the result of a scalar equation on literals as a literal; None for another equation, or where the result
    is not exact in its dtype.

    The program's own arithmetic gives the same number: integers and floats that the result represents exactly.
    """
    compute = _EXACT.get(eqn.primitive.name)
    if compute is None or eqn.outvars[0].aval.shape or not all(map(is_literal, eqn.invars)):
        return None
    values = [np.asarray(v.val) for v in eqn.invars]
    aval = eqn.outvars[0].aval
    kind = kind_of(aval.dtype)
    if any(v.ndim or v.dtype.kind not in "biuf" for v in values) or kind not in "bif":
        return None
    # A cast between floats keeps an infinity or NaN; other arithmetic with them is left to the program.
    if eqn.primitive.name == "convert_element_type" and kind == "f" and not np.isfinite(values[0]):
        return jex.Literal(np.asarray(values[0], aval.dtype), aval)
    if not all(np.isfinite(v) for v in values):
        return None
    result = compute(*(Fraction(v.item()) for v in values))
    if kind == "i" and Fraction(result).denominator != 1:
        return None
    try:
        number = np.asarray(bool(result) if kind == "b" else int(result) if kind == "i" else float(result), aval.dtype)
    except OverflowError:  # the program's own arithmetic wraps around
        return None
    return jex.Literal(number, aval) if Fraction(number.item()) == result else None
