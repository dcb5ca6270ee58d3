"""Semantics of casts between number types, and of primitives that return an operand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.obligations.assume.conditions import Clauses, condition, merged
from certgrad.obligations.assume.signs import ANY, NEG, NONNEG, ZERO
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import truncated, whole_or_zero
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.power import fn, sign_of
from certgrad.obligations.tracing.jax_internals import kind_of

from ._division import floored
from ._elementwise import settle
from ._infinite import finite
from ._registry import Context, Params, UnprovedError, rule


@rule("stop_gradient")
def _stop_gradient(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    return [replace(x, body=fn("stop", x.body))] if ctx.stop and x.kind == "f" else [x]


@rule("tie")
def _tie(ctx: Context, params: Params, shapes: list[tuple], _: Tensor, x: Tensor) -> list[Tensor]:
    return [x]


@rule("convert_element_type")
def _convert(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    new = params["new_dtype"]
    kind = kind_of(new)
    x = x if kind == "f" else finite(x)
    if kind == "b":
        return [x if x.kind == "b" else replace(x, body=sign_of(x.body) * sign_of(x.body), kind="b", signs=NONNEG)]
    if kind == "i":
        return [_to_integer(ctx, x, np.dtype(new))]
    if kind != "f":
        raise UnprovedError("complex" if kind == "c" else f"a cast to {new}")
    if _rounds(ctx.dtypes[0], new):
        ctx.note(f"the cast to {np.dtype(new)} is read as exact")
    return [replace(x, kind="f")]


def _rounds(old: Any, new: Any) -> bool:
    """Numbers of the one dtype may not be numbers of the other; integers are, while they are not huge."""
    if kind_of(old) == "f":
        fine, coarse = jnp.finfo(old), jnp.finfo(new)
        return bool(coarse.nmant < fine.nmant or coarse.maxexp < fine.maxexp or coarse.minexp > fine.minexp)
    return kind_of(old) == "i" and jnp.finfo(new).bits < 32


def _to_integer(ctx: Context, x: Tensor, new: np.dtype) -> Tensor:
    """Booleans become 0 and 1; reals lose their fraction; integers stay, in the range of their new type.

    A type of less than 32 bits is left by ordinary numbers: integers are wrapped there as JAX does it, and reals have
    to be in range, as what becomes of others depends on the platform.
    """
    if x.kind == "b":
        return replace(x, kind="i")
    narrow = new.itemsize < 4
    limits = jnp.iinfo(new)  # which knows the types of 2 and 4 bits
    low, high = int(limits.min), int(limits.max)
    if x.kind == "i":
        return _wrapped(x, low, high) if narrow and not _holds(new, ctx.dtypes[0]) else x
    inside: Clauses = ()
    if narrow:
        over, under = (
            condition("> 0", p, f"cast to {new}") for p in (x.body - number(low - 1), number(high + 1) - x.body)
        )
        inside = settle(merged(over, under), ctx.facts)
    else:
        ctx.note(f"integers are in the range of {new}")
    whole = settle(whole_or_zero(x.body, f"cast to {new}"), ctx.facts)
    defined, smooth = merged(x.defined, inside), merged(x.smooth, inside, whole)
    return replace(x, body=truncated(x.body), kind="i", defined=defined, smooth=smooth, signs=x.signs | ZERO)


def _holds(new: np.dtype, old: Any) -> bool:
    """Every number of the old type is one of the new."""
    a, b = jnp.iinfo(new), jnp.iinfo(old)
    return bool(a.min <= b.min and b.max <= a.max)


def _wrapped(x: Tensor, low: int, high: int) -> Tensor:
    """k − m·⌊(k − low) / m⌋ for the m numbers from low to high."""
    above = replace(x, body=x.body - number(low), signs=ANY if x.signs & NEG else NONNEG)
    count = high - low + 1
    return replace(x, body=x.body - floored(above, count).scale(count), signs=NONNEG if low == 0 else ANY)
