"""Dimensions, literals and types, in the kernel's words."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax._src import abstract_arrays as _arrays
from jax._src import dtypes as _dtypes
from jax._src.export import shape_poly as _shape_poly
from jax._src.lax import lax as _lax

from certgrad.jaxpr.keys import is_key
from certgrad.obligations.terms.atoms import dimension
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number

DimExpr: Any = _shape_poly._DimExpr


def dim_poly(dim: Any) -> Poly:
    """A dimension, symbolic or not, as a polynomial."""
    if not isinstance(dim, DimExpr):
        return number(int(dim))
    total = ZERO
    for term, count in dim._sorted_terms:
        product = ONE
        for factor, power in term._factors:
            product = product * _factor_poly(factor, dim) ** power
        total = total + product.scale(count)
    return total


def _factor_poly(factor: Any, dim: Any) -> Poly:
    """Return a factor of a dimension's term as a polynomial: a size, or a rounded expression in sizes as a name."""
    if factor.var is not None:
        return dimension(factor.var)
    return dimension(str(factor), positive=_lower_bound(factor, dim) >= 1)


def rounded_sizes(value: Any) -> Iterator[tuple[Any, Poly, bool]]:
    """The factors of dimensions in parameters of an equation that are no sizes, as ⌊n/2⌋: each with its name, and
    whether it is known not to be negative."""
    if isinstance(value, DimExpr):
        for term, _ in value._sorted_terms:
            for factor, _ in term._factors:
                if factor.var is None:
                    yield factor, _factor_poly(factor, value), _lower_bound(factor, value) >= 0
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from rounded_sizes(part)


def _lower_bound(factor: Any, dim: Any) -> float:
    expr = DimExpr._from_term(_shape_poly._DimTerm.from_factor(factor, 1), 1, dim.scope)
    return _shape_poly._bounds_decision(expr, _shape_poly.BoundsPrecision.BEST)[0]


def shape_polys(aval: Any) -> tuple[Poly, ...]:
    return tuple(dim_poly(d) for d in aval.shape)


def literal_value(value: Any) -> Fraction | None:
    """A number as it was meant: the shortest decimal that rounds to it. None for infinities and NaN."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return Fraction(int(array))
    if array.dtype.kind == "c":
        raise TypeError("complex")
    if not np.isfinite(array):
        return None
    text = repr(float(array)) if array.dtype == np.float64 else str(array[()])
    return Fraction(text)


@lru_cache(maxsize=64)
def kind_of(dtype: Any) -> str:
    """`f`, `i`, `b`, `c` for float, integer, boolean, complex; `0` for JAX's float0; `k` for random keys; else `?`."""
    if dtype == jax.dtypes.float0:
        return "0"
    if is_key(dtype):
        return "k"
    for kind, types in (("f", np.floating), ("i", np.integer), ("c", np.complexfloating), ("b", np.bool_)):
        if jax.dtypes.issubdtype(dtype, types):
            return kind
    return "?"


def weakly_typed(value: Any) -> Any:
    """The same array with the dtype of a Python number, which gives way to that of what it meets."""
    return _lax._convert_element_type(value, weak_type=True)


def data_of(value: Any) -> np.ndarray:
    """An array of numpy's; of random keys the numbers that they are made of."""
    keys = kind_of(getattr(value, "dtype", np.dtype(bool))) == "k"
    return np.asarray(jax.random.key_data(value) if keys else value)


def bits_of(dtype: Any) -> int:
    """The width of an integer type."""
    return int(jax.numpy.iinfo(dtype).bits)


def bits_function(name: str, dtype: str, args: Sequence[int]) -> int:
    """A lax function of machine integers, computed by JAX."""
    with jax.enable_x64(True):
        return int(getattr(jax.lax, name)(*(np.asarray(k, dtype) for k in args)))


class _Memory:
    """JAX's conversion of an array to a constant, with a memory keyed by identity while the array lives."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref, weakref.ref]] = {}

    def canonical(self, x: np.ndarray) -> Any:
        array, value = self.known.get(id(x), (None, None))
        found = value() if array is not None and value is not None and array() is x else None
        if found is None:
            found = _arrays.literals.TypedNdArray(np.asarray(x, _dtypes.canonicalize_dtype(x.dtype)))
            gone = partial(self._forget, id(x))
            self.known[id(x)] = weakref.ref(x, gone), weakref.ref(found)
        return found

    def _forget(self, key: int, _: weakref.ref) -> None:
        self.known.pop(key, None)


def keep_widths_apart() -> None:
    """Have JAX remember constants of numpy's for each width of floats.

    JAX remembers for each array of numpy's what it becomes in a program, and forgets to ask how wide floats are then. A
    constant that was traced with 64 bits stays of 64: the same function fails in XLA, or in a user's next call, with
    32. From 0.11 on a table that was met with 32 bits is rounded in the 64 of a later call. Here each width has a
    memory of its own.
    """
    memories = {True: _Memory(), False: _Memory()}
    wide = partial(jax.config.read, "jax_enable_x64")
    _dtypes.register_canonicalize_value_handler(np.ndarray, lambda x: memories[bool(wide())].canonical(x))
