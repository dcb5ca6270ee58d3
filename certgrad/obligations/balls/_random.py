"""Random draws: the bits that JAX draws from a concrete key, and the numbers made of them.

JAX itself draws the bits. Arithmetic on them is done in balls, so that two ways to write one draw do not differ by the
rounding of floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import fmpq

from certgrad.jaxpr.keys import computed_draw, is_key, sampler
from certgrad.jaxpr.programs import is_literal, programs_in
from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._registry import Params, Rule, primitive
from certgrad.obligations.balls._values import Context, Value, argument, is_float


def drawing(equation: Any) -> Rule | None:
    """Return a rule by which JAX runs an equation that draws bits or integers, or makes keys of keys.

    Returns None for any other equation, and for a draw whose program computes with bits in floats, such as `normal`:
    that program is evaluated in balls.
    """
    if computed_draw(equation) or not (sampler(equation) or _is_of_keys(equation)):
        return None

    def rule(ctx: Context, params: dict[str, Any], *operands: Value) -> list[Value]:
        del ctx
        operand_arrays = [
            v.val if is_literal(v) else _exactly(x, v.aval.dtype)
            for x, v in zip(operands, equation.invars, strict=True)
        ]
        with jax.enable_x64(True):
            inner = params.get("jaxpr")
            outs = (
                _jaxpr.run(inner, operand_arrays)
                if inner is not None
                else equation.primitive.bind(*operand_arrays, **params)
            )
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
        return [_as_value(y, v.aval.dtype) for y, v in zip(outs, equation.outvars, strict=True)]

    return rule


@primitive("bitcast_convert_type")
def _numbers_of_bits(ctx: Context, params: Params, x: Value) -> Value:
    """Return the floats that have the bits of these integers: so draws make uniform numbers of bits."""
    dtype = np.dtype(params["new_dtype"])
    if x.real or dtype.kind != "f" or x.primal.dtype.itemsize != dtype.itemsize:
        raise Unsupported("the bits of a number")
    return argument(x.primal.view(dtype).astype(float), np.dtype(float))


def _is_of_keys(equation: Any) -> bool:
    """Return whether an equation is a single operation on random keys, such as a split or a slice of an array of keys.

    An equation that holds a program is none: it may do something else as well.
    """
    values = (*equation.invars, *equation.outvars)
    return any(is_key(v.aval.dtype) for v in values) and not any(programs_in(equation))


def _exactly(x: Value, dtype: Any) -> Any:
    """Return an operand as an array for JAX. Raises Unsupported if it depends on the inputs or is no exact float."""
    if x.tangent is not None:
        raise Unsupported("what is drawn at a value that moves")
    if not x.real:
        return x.primal
    out = np.empty(x.primal.shape, dtype)
    for at in np.ndindex(out.shape):
        entry = x.primal[at]
        out[at] = float(Fraction(int(entry.p), int(entry.q))) if isinstance(entry, fmpq) else np.nan
        if not isinstance(entry, fmpq) or s.rational(Fraction(float(out[at]))) != entry:
            raise Unsupported("what is drawn at a number that is no float")
    return out


def _as_value(y: Any, dtype: Any) -> Value:
    """Return an array of JAX, or an array of keys, as a value; floats are read exactly."""
    return Value(y) if is_key(dtype) else argument(np.asarray(y, float if is_float(dtype) else None), dtype)
