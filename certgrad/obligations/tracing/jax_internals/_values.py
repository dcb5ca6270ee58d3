"""Dimensions as polynomials, literals as fractions, types by kind: values of JAX's as the kernel has them."""

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
    """Return a dimension, symbolic or not, as a polynomial in sizes."""
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
    """Yield the rounded expressions, such as ⌊n/2⌋, in the dimensions of a parameter of an equation.

    Each comes with its polynomial, which is one name, and whether it is known not to be negative.
    """
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
    """Return a number as its literal means it: the shortest decimal that rounds to it, as 1/10 for 0.1.

    Return None for infinities and NaN. Raises TypeError for complex numbers.
    """
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
    """Return "f", "i", "b", "c" for float, integer, boolean, complex dtypes; "0" for float0, "k" for keys, else "?"."""
    if dtype == jax.dtypes.float0:
        return "0"
    if is_key(dtype):
        return "k"
    for kind, types in (("f", np.floating), ("i", np.integer), ("c", np.complexfloating), ("b", np.bool_)):
        if jax.dtypes.issubdtype(dtype, types):
            return kind
    return "?"


def weakly_typed(value: Any) -> Any:
    """Return an array as weakly typed, as a Python number is: its dtype gives way to that of other operands."""
    return _lax._convert_element_type(value, weak_type=True)


def data_of(value: Any) -> np.ndarray:
    """Return a value as a numpy array; random keys as the integers that they are made of."""
    keys = kind_of(getattr(value, "dtype", np.dtype(bool))) == "k"
    return np.asarray(jax.random.key_data(value) if keys else value)


def bits_of(dtype: Any) -> int:
    """Return the width of an integer dtype in bits."""
    return int(jax.numpy.iinfo(dtype).bits)


def bits_function(name: str, dtype: str, args: Sequence[int]) -> int:
    """Return the result of a `jax.lax` function of integers of this dtype, computed by JAX."""
    with jax.enable_x64(True):
        return int(getattr(jax.lax, name)(*(np.asarray(k, dtype) for k in args)))


class _Memory:
    """JAX's conversion of numpy arrays to constants, with each result kept as long as its array lives."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref, weakref.ref]] = {}

    def canonical(self, x: np.ndarray) -> Any:
        """Return the constant that JAX makes of an array, the same one each time while it lives."""
        array, value = self.known.get(id(x), (None, None))
        constant = value() if array is not None and value is not None and array() is x else None
        if constant is None:
            constant = _arrays.literals.TypedNdArray(np.asarray(x, _dtypes.canonicalize_dtype(x.dtype)))
            forget = partial(self._forget, id(x))
            self.known[id(x)] = weakref.ref(x, forget), weakref.ref(constant)
        return constant

    def _forget(self, key: int, _: weakref.ref) -> None:
        self.known.pop(key, None)


def keep_widths_apart() -> None:
    """Have JAX keep the constants that it makes of numpy arrays apart for 32-bit and 64-bit floats.

    JAX keeps for each numpy array the constant that it became in a program, whatever the width of floats was. So a
    constant that was traced with 64 bits keeps 64 bits, and the same function fails in XLA, or in a user's next call,
    with 32 bits. From 0.11 on a table that was first met with 32 bits is rounded to these in a later call with 64. Here
    each width has a memory of its own.
    """
    memories = {True: _Memory(), False: _Memory()}
    wide = partial(jax.config.read, "jax_enable_x64")
    _dtypes.register_canonicalize_value_handler(np.ndarray, lambda x: memories[bool(wide())].canonical(x))
