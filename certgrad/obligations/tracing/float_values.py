"""Programs on scalars evaluated in float64 by numpy, at several points at once.

Every primitive here is arithmetic that IEEE 754 or C's mathematics library fixes, special values included, so numpy
gives what JAX gives, without a compilation. A program with another primitive has no value here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import HANDS_ON

from .jax_internals import Program, live_results

_OF_NUMPY = (
    "abs acos acosh add asin asinh atan atan2 atanh cbrt ceil cos cosh exp exp2 expm1 floor log log1p pow sign sin "
    "sinh sqrt square tan tanh"
).split()
"""Functions that numpy calls as JAX does."""
_SAME: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _OF_NUMPY},
    "add_any": np.add,
    "and": np.bitwise_and,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "not": np.bitwise_not,
    "or": np.bitwise_or,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sub": np.subtract,
    "xor": np.bitwise_xor,
}


class NoValueError(Exception):
    """The program has a primitive that is not evaluated here."""


def evaluate(program: Program, columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a program on scalars, for each row of its inputs. Raises NoValueError."""
    jaxpr = program.jaxpr
    if any(v.aval.shape for v in (*jaxpr.invars, *jaxpr.constvars)):
        raise NoValueError
    needed = [True] * len(jaxpr.outvars)
    with np.errstate(all="ignore"):
        out = live_results(program, columns, needed, _values, lambda value, aval: np.asarray(value))
    return [np.broadcast_to(v, columns[0].shape) for v in out]


def _values(eqn: Any, operands: list[Any]) -> list[Any]:
    name, params = eqn.primitive.name, eqn.params
    if len(eqn.outvars) != 1 or eqn.outvars[0].aval.shape:
        raise NoValueError
    if name == "select_n" and len(operands) == 3 and operands[0].dtype == bool:
        which, no, yes = operands
        return [np.where(which, yes, no)]
    if name == "div" and operands[0].dtype.kind == "f":
        return [np.divide(*operands)]
    if name == "integer_pow" and operands[0].dtype.kind == "f":
        return [np.power(operands[0], float(params["y"]))]
    if name in HANDS_ON:
        return [operands[0].astype(eqn.outvars[0].aval.dtype)]
    if name == "round" and int(params["rounding_method"]) == 1:  # to the nearest even
        return [np.rint(operands[0])]
    if name not in _SAME:
        raise NoValueError
    return [_SAME[name](*operands)]
