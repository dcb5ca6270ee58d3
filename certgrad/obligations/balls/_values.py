"""Arrays of scalars: what flows through the interpreter."""

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
    keys are JAX's.
    `tangent` is None (all constant) or an object array of the same shape; for integers and booleans its entries are
    None or KINK: whether the entry jumps at this very point.
    """

    primal: Array
    tangent: Array | None = None

    @property
    def real(self) -> bool:
        """Whether this is an array of real scalars."""
        return self.primal.dtype == object


@dataclass
class Context:
    """One run of the interpreter: how to run an inner program, and what was seen on the way."""

    run: Callable[[Any, list[Value]], list[Value]]
    keep_stopped: bool = False
    used_stop_gradient: bool = field(default=False)


def boxed(x: Any) -> Array:
    """An array of dtype object, also where numpy's ufuncs return the bare element of a rank-0 result."""
    if type(x) is np.ndarray:
        return x
    out = np.empty((), dtype=object)
    out[()] = x
    return out


@cache
def lifted(function: Callable[..., Any], arity: int) -> Callable[..., Array]:
    """A scalar function as a broadcasting function of object arrays."""
    ufunc = np.frompyfunc(function, arity, 1)
    return lambda *arrays: boxed(ufunc(*arrays))


def tangent_or_none(array: Array) -> Array | None:
    """The array, or None where every entry is constant."""
    return None if all(d is None for d in array.flat) else array


def filled(value: Value) -> Array:
    """The tangent as an array, of None where the value is constant."""
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
"""What a finite float of a dtype, written in a program, stands for."""


def shortest(x: Any, dtype: Any) -> s.Real:
    """The shortest decimal that rounds to a float."""
    return s.rational(Fraction(_text(x, dtype)))


def loosely(x: Any, dtype: Any) -> s.Real:
    """Return a float as a ball of two units in the last place, if it has as many digits as its dtype; else exactly.

    Such a number was computed in floats, and stands for another one.
    """
    text = _text(x, dtype)
    if _is_long(text, dtype):
        return s.ball_around(Fraction(text), abs(Fraction(text)) * UNITS * Fraction(float(ml_dtypes.finfo(dtype).eps)))
    return s.rational(Fraction(text))


@dataclass(frozen=True)
class Stored:
    """A reading of floats as the very numbers that they are, where the widest dtype is this one."""

    widest: Any

    def __call__(self, x: Any, dtype: Any) -> s.Real:
        narrowed = np.dtype(dtype).itemsize > np.dtype(self.widest).itemsize
        number = float(np.asarray(x, self.widest if narrowed else dtype))
        return number if isinf(number) else s.rational(Fraction(number))


def _text(x: Any, dtype: Any) -> str:
    return repr(float(x)) if np.dtype(dtype).itemsize == 8 else str(np.asarray(x, dtype=dtype)[()])


DIGITS = {"float64": 15, "float32": 7}
"""A literal with fewer significant digits is meant as it is written."""
UNITS = 2
"""Units in the last place by which a computed literal may be off."""


def _is_long(text: str, dtype: Any) -> bool:
    digits = text.partition("e")[0].replace(".", "").lstrip("-0").rstrip("0")
    return len(digits) >= DIGITS.get(str(np.dtype(dtype)), len(digits) + 1)


def has_long(x: Any, dtype: Any) -> bool:
    """Return whether a literal, or an entry of a captured array, has as many digits as its dtype."""
    return is_float(dtype) and any(_is_long(str(v), dtype) for v in np.asarray(x, dtype).flat if np.isfinite(v))


def constant(x: Any, dtype: Any, literals: Literals = shortest) -> Value:
    """A literal or captured array of a traced program; inf and nan are themselves."""
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
    """An input, read exactly: for a float, an array or nested list of ints, Fractions, floats or scalars; for a key the
    number that it is made of."""
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
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        if array.dtype.names == () or kind == "V":
            return np.zeros(array.shape, dtype=bool)
        raise Unsupported(f"dtype {dtype}")
    return array.astype(dtype)
