"""Every touch of JAX's internals that the evaluator makes: how a traced program is read, in jax 0.10 and later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.extend import core

from certgrad.jaxpr.at_shapes import NotOfRealsError
from certgrad.jaxpr.at_shapes import of_reals as read_in_reals
from certgrad.jaxpr.keys import is_key, key_dtype
from certgrad.jaxpr.linear import Linear, program_of
from certgrad.jaxpr.programs import consts_of, equations_of, is_literal, jaxpr_of, programs_in
from certgrad.process.threads import Kept

from ._errors import Unsupported
from ._values import has_long, is_float

Jaxpr = Any
"""A ClosedJaxpr or a Jaxpr (one class from jax 0.11 on)."""


def trace(function: Callable[..., Any], arguments: Sequence[jax.ShapeDtypeStruct], wide: bool = True) -> Jaxpr:
    """Return a function traced at concrete shapes, in float64 if `wide`, else in float32."""
    with jax.enable_x64(wide):
        return of_reals(jax.make_jaxpr(function)(*arguments), arguments)


def of_reals(program: Jaxpr, arguments: Sequence[Any]) -> Jaxpr:
    """Return the program without mutable references and complex numbers, which become values and pairs of reals.

    Raises Unsupported where it has no such reading.
    """
    try:
        return read_in_reals(program, arguments)
    except NotOfRealsError as error:
        raise Unsupported(str(error)) from error


def numbers(jaxpr: Jaxpr) -> Iterator[Fraction]:
    """Yield the scalar floats in a program and its inner ones, each as the shortest decimal that rounds to it."""
    return (Fraction(str(x[()])) for x in _scalars(jaxpr) if x.dtype.kind == "f" and np.isfinite(x))


def integers(jaxpr: Jaxpr) -> Iterator[int]:
    """Yield the scalar integers in a program and its inner ones, and the ends of narrow integer types it casts to."""
    yield from (int(x[()]) for x in _scalars(jaxpr) if x.dtype.kind in "iu")
    for eqn in equations_of(jaxpr):
        dtype = np.dtype(eqn.params["new_dtype"]) if eqn.primitive.name == "convert_element_type" else np.dtype(int)
        if dtype.kind in "iu" and dtype.itemsize < 4:
            yield from (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _constants_and_literals(jaxpr: Jaxpr) -> Iterator[tuple[Any, Any]]:
    """Yield the constants and literals of a program and its inner ones, with their dtypes; random keys are left out."""
    inner, consts = jaxpr_of(jaxpr), consts_of(jaxpr)
    constants = ((c, v.aval.dtype) for c, v in zip(consts, inner.constvars, strict=False))  # references have no value
    yield from ((c, dtype) for c, dtype in constants if not is_key(dtype))
    for eqn in inner.eqns:
        yield from ((v.val, v.aval.dtype) for v in eqn.invars if is_literal(v))
        for program in programs_in(eqn):
            yield from _constants_and_literals(program)


def floats(jaxpr: Jaxpr) -> Iterator[np.generic]:
    """Return the finite floats written in a program and its inner ones, including the entries of constant arrays."""
    arrays = (np.asarray(value) for value, dtype in _constants_and_literals(jaxpr) if is_float(dtype))
    return (x for array in arrays for x in array.flat if np.isfinite(x))


def _scalars(jaxpr: Jaxpr) -> Iterator[np.ndarray]:
    """Return the constants and literals of rank 0."""
    return (x for x in (np.asarray(value) for value, _ in _constants_and_literals(jaxpr)) if x.ndim == 0)


def long_constants(program: Any) -> bool:
    """Return whether a program, or one in it, holds floats with as many digits as their dtype has."""
    return any(has_long(value, dtype) for value, dtype in _constants_and_literals(program))


@lru_cache(maxsize=256)
def holds_long(jaxpr: Jaxpr) -> bool:
    """Return `long_constants` of a program that does not change."""
    return long_constants(jaxpr)


def placeholder(shape: Sequence[int], kind: str, wide: bool = True, exact: str = "") -> jax.ShapeDtypeStruct:
    """Return an argument to trace at: of 64 bits, or 32 if not `wide`; integers have the dtype `exact` if named."""
    real, whole = (np.float64, np.int64) if wide else (np.float32, np.int32)
    dtypes = {"float": real, "int": exact or whole, "bool": np.bool_}
    return jax.ShapeDtypeStruct(tuple(shape), key_dtype() if kind == "key" else np.dtype(dtypes[kind]))


@lru_cache(maxsize=256)
def tangent_program(linear: Linear, count: int, types: tuple[tuple[tuple[int, ...], str], ...]) -> Jaxpr:
    """Return the program that an op's tangent equation runs on arrays of these shapes and kinds.

    It is traced at 64 bits if all outputs of the equation have as many, else at 32.
    """
    wide = all(array_type.dtype.itemsize > 4 for array_type in linear.outputs or ())
    with jax.enable_x64(wide):
        return program_of({"linear": linear, "count": count}, [placeholder(*array_type, wide) for array_type in types])


_compiled = Kept()
"""Compiled programs, by the program's identity and by its lowered text: a solver is traced anew for every program that
calls it, and compiling it takes longer than running it. The text finds the compiled program of an earlier trace."""
_COMPILED = 128
"""Compiled programs that are kept; then the oldest goes."""


def run(jaxpr: Jaxpr, arguments: Sequence[Any]) -> list[Any]:
    """Return a traced program's results as JAX computes them in float64."""
    kept: dict[Any, tuple[Jaxpr | None, Callable[..., list[Any]]]] = _compiled.table
    with jax.enable_x64(True):
        key = id(jaxpr), *map(jax.typeof, arguments)  # the identity is no other's while it is kept
        if key not in kept:
            lowered = jax.jit(core.jaxpr_as_fun(jaxpr)).lower(*arguments)
            text = lowered.as_text()
            compiled = kept[text][1] if text in kept else lowered.compile()
            while len(kept) >= _COMPILED:
                del kept[next(iter(kept))]
            kept[text], kept[key] = (None, compiled), (jaxpr, compiled)
        return kept[key][1](*arguments)
