"""Primitives that move entries about and compute nothing: the same moves for the array and for its tangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.jaxpr.complex_numbers import PI
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import UNKNOWN
from certgrad.obligations.balls._values import Array, Context, Value, filled, is_float, tangent_or_none

Move = Callable[[Params, Array], Array]


def _movement_primitive(*names: str) -> Callable[[Move], Move]:
    """Register a primitive of one operand that only moves entries."""

    def register(move: Move) -> Move:
        def rule(ctx: Context, params: Params, x: Value) -> Value:
            return apply_move(lambda array: move(params, array), x)

        primitive(*names)(rule)
        return move

    return register


def apply_move(move: Callable[..., Array], *operands: Value) -> Value:
    """Return arrays and tangents after the same move of their entries (constants have the tangent None)."""
    primal = move(*(x.primal for x in operands))
    if all(x.tangent is None for x in operands):
        return Value(primal)
    return Value(primal, tangent_or_none(move(*(filled(x) for x in operands))))


@_movement_primitive("broadcast_in_dim")
def _broadcast_in_dim(params: Params, x: Array) -> Array:
    shape, dims = params["shape"], params["broadcast_dimensions"]
    spread = [1] * len(shape)
    for axis, dim in enumerate(dims):
        spread[dim] = x.shape[axis]
    return np.broadcast_to(x.reshape(spread), shape)


@_movement_primitive("broadcast_to")
def _broadcast_to(params: Params, x: Array) -> Array:
    return np.broadcast_to(x, params["shape"])


@_movement_primitive("reshape")
def _reshape(params: Params, x: Array) -> Array:
    if params.get("dimensions") is not None:
        x = x.transpose(params["dimensions"])
    return x.reshape(params["new_sizes"])


@_movement_primitive("squeeze")
def _squeeze(params: Params, x: Array) -> Array:
    return np.squeeze(x, axis=tuple(params["dimensions"]))


@_movement_primitive("transpose")
def _transpose(params: Params, x: Array) -> Array:
    return np.transpose(x, params["permutation"])


@_movement_primitive("rev")
def _rev(params: Params, x: Array) -> Array:
    return np.flip(x, axis=tuple(params["dimensions"]))


@_movement_primitive("tile")
def _tile(params: Params, x: Array) -> Array:
    return np.tile(x, params["reps"])


@_movement_primitive("slice")
def _slice(params: Params, x: Array) -> Array:
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or (1,) * len(starts)
    return x[tuple(slice(a, b, c) for a, b, c in zip(starts, limits, strides, strict=True))]


@primitive("split")
def _split(ctx: Context, params: Params, x: Value) -> list[Value]:
    axis = params["axis"]
    ends = np.cumsum(params["sizes"])
    cuts = [slice(int(end - size), int(end)) for end, size in zip(ends, params["sizes"], strict=True)]
    lead = (slice(None),) * axis
    return [apply_move(lambda array, cut=cut: array[(*lead, cut)], x) for cut in cuts]


@primitive("unstack")
def _unstack(ctx: Context, params: Params, x: Value) -> list[Value]:
    axis = params["axis"]

    def entry(array: Array, i: int) -> Array:
        return np.asarray(np.take(array, i, axis=axis), array.dtype)  # `take` from an array of one axis gives a scalar

    return [apply_move(lambda array, i=i: entry(array, i), x) for i in range(x.primal.shape[axis])]


@primitive("concatenate")
def _concatenate(ctx: Context, params: Params, *xs: Value) -> Value:
    return apply_move(lambda *arrays: np.concatenate(arrays, axis=params["dimension"]), *xs)


@primitive("stack")
def _stack(ctx: Context, params: Params, *xs: Value) -> Value:
    return apply_move(lambda *arrays: np.stack(arrays, axis=params["axis"]), *xs)


@primitive("pad")
def _pad(ctx: Context, params: Params, x: Value, fill: Value) -> Value:
    return apply_move(lambda array, value: padded(array, value[()], params["padding_config"]), x, fill)


def padded(x: Array, fill: Any, config: Any) -> Array:
    """Return the array padded with `fill`, as lax.pad does it.

    `config` holds (low, high, interior) for each axis: `interior` new entries between neighbours, then `low` and `high`
    entries at the ends. Negative ends cut entries off.
    """
    out = x
    for axis, (low, high, interior) in enumerate(config):
        size = out.shape[axis]
        full = max(size + max(size - 1, 0) * interior, 0)
        shape = list(out.shape)
        shape[axis] = max(low, 0) + full + max(high, 0)
        wide = np.empty(shape, dtype=out.dtype)
        wide.fill(fill)
        lead = (slice(None),) * axis
        start = max(low, 0)
        wide[(*lead, slice(start, start + full, interior + 1))] = out
        out = wide[(*lead, slice(max(-low, 0), shape[axis] - max(-high, 0)))]
    return out


@primitive("empty", "empty2")
def _empty(ctx: Context, params: Params) -> Value:
    """Return an array of unknown floats. Raises Unsupported for integers, which have no unknown value."""
    if not is_float(params["dtype"]):
        raise Unsupported("an array of arbitrary integers")
    return Value(np.full(params.get("shape", ()), UNKNOWN, dtype=object))


@primitive(PI)
def _pi(ctx: Context, params: Params) -> Value:
    return Value(np.array(arb.pi(), dtype=object))


@primitive("iota")
def _iota(ctx: Context, params: Params, *sizes: Value) -> Value:
    shape, axis = params["shape"], params["dimension"]
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    if is_float(params["dtype"]):
        exact = np.empty(along.shape, dtype=object)
        for index in np.ndindex(along.shape):
            exact[index] = fmpq(int(along[index]))
        return Value(np.broadcast_to(exact, shape))
    return Value(np.broadcast_to(along.astype(params["dtype"]), shape))
