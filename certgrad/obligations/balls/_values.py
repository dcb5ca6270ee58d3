"""Arrays of scalars, with their tangents: the values that the interpreter computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import isinf, isnan
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from certgrad.jaxpr.keys import is_key, keys_from
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Unsupported

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An array and its tangent.

    A float array has dtype object and holds scalars. Integers and booleans keep numpy's own dtype and semantics; random
    keys are JAX's. `tangent` is None (all constant) or an object array of the same shape; for integers and booleans its
    entries are marks, which say whether the entry jumps at this very point (see `_tangents`).
    """

    primal: Array
    tangent: Array | None = None

    @property
    def real(self) -> bool:
        """Whether this is an array of real scalars."""
        return self.primal.dtype == object


@dataclass
class Context:
    """One run of the interpreter: how to run an inner program, and whether stop_gradient mattered."""

    run: Callable[[Any, list[Value]], list[Value]]
    keep_stopped: bool = False
    used_stop_gradient: bool = field(default=False)


def boxed(x: Any) -> Array:
    """Return x as an array of dtype object: numpy's ufuncs return the bare element of a rank-0 result."""
    if type(x) is np.ndarray:
        return x
    out = np.empty((), dtype=object)
    out[()] = x
    return out


@cache
def lifted(function: Callable[..., Any], arity: int) -> Callable[..., Array]:
    """Return a scalar function as a broadcasting function of object arrays."""
    ufunc = np.frompyfunc(function, arity, 1)
    return lambda *arrays: boxed(ufunc(*arrays))


def tangent_or_none(array: Array) -> Array | None:
    """Return the array of tangents, or None if every entry is constant."""
    return None if all(d is None for d in array.flat) else array


def filled(value: Value) -> Array:
    """Return the tangent as an array; its entries are None where the value is constant."""
    if value.tangent is not None:
        return value.tangent
    return np.full(value.primal.shape, None, dtype=object)


@cache
def is_float(dtype: Any) -> bool:
    """Return whether a dtype stands for the reals. Raises Unsupported for JAX's own dtypes but random keys."""
    if is_key(dtype):
        return False
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        raise Unsupported(f"dtype {dtype}")
    return np.dtype(dtype).kind == "f" or str(dtype) in ("bfloat16",) or str(dtype).startswith("float")


Literals = Callable[[Any, Any], s.Real]
"""literals(x, dtype) returns the real number that a finite float in a program stands for."""


def shortest(x: Any, dtype: Any) -> s.Real:
    """Return the shortest decimal that rounds to a float: 0.1 for the float that is written so."""
    return s.rational(Fraction(_text(x, dtype)))


def loosely(x: Any, dtype: Any) -> s.Real:
    """Return a float as a ball of two units in the last place, if it has as many digits as its dtype; else exactly.

    A number with so many digits was computed in floats, and stands for a real number near it.
    """
    text = _text(x, dtype)
    if _is_long(text, dtype):
        return s.ball_around(Fraction(text), abs(Fraction(text)) * UNITS * Fraction(float(ml_dtypes.finfo(dtype).eps)))
    return s.rational(Fraction(text))


@dataclass(frozen=True)
class Stored:
    """A reading of floats as the very numbers that they are, rounded to the dtype `widest` if theirs is wider."""

    widest: Any

    def __call__(self, x: Any, dtype: Any) -> s.Real:
        narrowed = np.dtype(dtype).itemsize > np.dtype(self.widest).itemsize
        number = float(np.asarray(x, self.widest if narrowed else dtype))
        return number if isinf(number) else s.rational(Fraction(number))


def _text(x: Any, dtype: Any) -> str:
    """Return the shortest decimal that rounds to a float of this dtype."""
    return repr(float(x)) if np.dtype(dtype).itemsize == 8 else str(np.asarray(x, dtype=dtype)[()])


DIGITS = {"float64": 15, "float32": 7}
"""By dtype, how many significant digits make a literal long; one with fewer stands for its decimal."""
UNITS = 2
"""Units in the last place by which a computed literal may be off."""


def _is_long(text: str, dtype: Any) -> bool:
    digits = text.partition("e")[0].replace(".", "").lstrip("-0").rstrip("0")
    return len(digits) >= DIGITS.get(str(np.dtype(dtype)), len(digits) + 1)


def has_long(x: Any, dtype: Any) -> bool:
    """Return whether a literal, or an entry of a captured array, has as many digits as its dtype."""
    return is_float(dtype) and any(_is_long(str(v), dtype) for v in np.asarray(x, dtype).flat if np.isfinite(v))


def constant(x: Any, dtype: Any, literals: Literals = shortest) -> Value:
    """Return a literal or captured array of a traced program as a value, its finite floats read by `literals`."""
    if is_key(dtype):
        return Value(x)
    real = is_float(dtype)
    array = np.asarray(x)
    if real:
        out = np.empty(array.shape, dtype=object)
        for index in np.ndindex(array.shape):
            number = float(array[index])
            out[index] = number if isnan(number) or isinf(number) else literals(array[index], dtype)
        return Value(out)
    return Value(_discrete(array, dtype))


def argument(x: Any, dtype: Any) -> Value:
    """Return an input as a value, read exactly.

    A float input is an array or nested list of ints, Fractions, floats or scalars; a key is a key or the number that it
    is made of.
    """
    if is_key(dtype):
        return Value(x if is_key(getattr(x, "dtype", None)) else keys_from(np.asarray(x)))
    if not is_float(dtype):
        return Value(_discrete(np.asarray(x), dtype))
    array = x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    return Value(lifted(_scalar, 1)(array.astype(object)))


def _scalar(x: Any) -> Any:
    if isinstance(x, float | np.floating):
        number = float(x)
        return number if isnan(number) or isinf(number) else s.rational(Fraction(number))
    return s.rational(x) if isinstance(x, int | Fraction | np.integer) else x


def _discrete(array: Array, dtype: Any) -> Array:
    """Return an array of integers or booleans; one of dtype float0, a tangent of integers, becomes False everywhere."""
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        if array.dtype.names == () or kind == "V":
            return np.zeros(array.shape, dtype=bool)
        raise Unsupported(f"dtype {dtype}")
    return array.astype(dtype)
