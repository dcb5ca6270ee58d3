"""Sliding windows: pooling and the primitives of its derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._reductions import MAX, MIN, SUM, Step, folded, scalar
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ZERO, Real
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Context, Value, filled, tangent_or_none

Index = tuple[int, ...]
Geometry = tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]
"""Four sequences with an item for each axis: stride, padding (low, high), window dilation and base dilation."""


def _ones(params: Params, key: str) -> Any:
    return params.get(key) or (1,) * len(params["window_dimensions"])


def _geometry(params: Params) -> Geometry:
    return params["window_strides"], params["padding"], _ones(params, "window_dilation"), _ones(params, "base_dilation")


def window_sizes(shape: Sequence[int], window: Sequence[int], geometry: Geometry) -> Index:
    """Return how many places a window has along each axis: the shape of the output."""
    sizes = []
    for n, k, stride, pads, dilate, holes in zip(shape, window, *geometry, strict=True):
        wide = (n - 1) * holes + 1 if n else 0
        reach = (k - 1) * dilate + 1 if k else 0
        sizes.append(max((wide + sum(pads) - reach) // stride + 1, 0))
    return tuple(sizes)


def window_reads(at: Sequence[int], offset: Sequence[int], shape: Sequence[int], geometry: Geometry) -> Index | None:
    """Return the index that the window at place `at` reads at an offset; None for padding and holes of dilation."""
    source = []
    for o, k, n, stride, (low, _), dilate, holes in zip(at, offset, shape, *geometry, strict=True):
        raw = o * stride + k * dilate - low
        if raw % holes or not 0 <= raw // holes < n:
            return None
        source.append(raw // holes)
    return tuple(source)


def _window_shape(params: Params, shape: Index) -> Index:
    return window_sizes(shape, params["window_dimensions"], _geometry(params))


def _window(params: Params, shape: Index, at: Index) -> Iterator[Index]:
    """Yield the indices under the window of one output; padding is left out, as it is the identity of the fold."""
    geometry = _geometry(params)
    for offset in product(*(range(k) for k in params["window_dimensions"])):
        source = window_reads(at, offset, shape, geometry)
        if source is not None:
            yield source


def _reduce_window(name: str, step: Step, empty: Real) -> None:
    """Register a fold by `step` over the entries under each window; it is `empty` where a window has none."""

    def rule(ctx: Context, params: Params, x: Value) -> Value:
        if not x.real:
            raise Unsupported(f"primitive {name} of integers")
        shape, moves = x.primal.shape, filled(x)
        out = np.empty(_window_shape(params, shape), dtype=object)
        dout = np.empty(out.shape, dtype=object)
        for at in np.ndindex(out.shape):
            places = list(_window(params, shape, at))
            out[at], dout[at] = folded(step, empty, [x.primal[p] for p in places], [moves[p] for p in places])
        return Value(out, tangent_or_none(dout))

    primitive(name)(rule)


_reduce_window("reduce_window_sum", SUM, ZERO)
_reduce_window("reduce_window_max", MAX, -s.inf)
_reduce_window("reduce_window_min", MIN, s.inf)


@primitive("reduce_window")
def _general_reduce_window(ctx: Context, params: Params, x: Value, start: Value) -> Value:
    """Return the fold of each window by a program of the user's, from the initial value, which is also the padding."""
    shape, moves = x.primal.shape, filled(x)
    out = np.empty(_window_shape(params, shape), dtype=x.primal.dtype)
    dout = np.empty(out.shape, dtype=object)
    size = int(np.prod(params["window_dimensions"]))
    for at in np.ndindex(out.shape):
        places = list(_window(params, shape, at))
        value = start
        for entry in [scalar(x.primal[p], moves[p]) for p in places] + [start] * (size - len(places)):
            (value,) = ctx.run(params["jaxpr"], [value, entry])
        out[at] = value.primal[()]
        dout[at] = None if value.tangent is None else value.tangent[()]
    return Value(out, tangent_or_none(dout))


def _selected(params: Params, x: Value, at: Index) -> tuple[Index | None, bool]:
    """Return the index of the window's largest or smallest entry, and whether the selection is a kink.

    `select_prim` says which; the first of equal entries counts, as in XLA. The index is None for a window of padding.
    """
    side = {"ge": 1, "gt": 1, "le": -1, "lt": -1}[params["select_prim"].name]
    moves = filled(x)
    best: Index | None = None
    tied = jumps = False
    for place in _window(params, x.primal.shape, at):
        jumps = jumps or moves[place] is KINK
        if best is None:
            best = place
            continue
        order = s.compare(x.primal[place], x.primal[best])
        if order is None:
            raise Undecided("nan in a window")
        if order * side > 0:
            best, tied = place, False
        elif order == 0 and (moves[place] is not None or moves[best] is not None):
            tied = True
    return best, tied or jumps


@primitive("select_and_scatter_add")
def _select_and_scatter_add(ctx: Context, params: Params, source: Value, x: Value) -> Value:
    """Return x's shape of zeros, each entry of `source` added where its window selects: the VJP of max pooling."""
    out = np.full(x.primal.shape, ZERO, dtype=object)
    dout, moves = np.full(x.primal.shape, None, dtype=object), filled(source)
    for at in np.ndindex(source.primal.shape):
        place, tied = _selected(params, x, at)
        if place is None:
            continue
        out[place] = s.add(out[place], source.primal[at])
        if tied:
            for window_place in _window(params, x.primal.shape, at):
                dout[window_place] = KINK
        else:
            dout[place] = t.plus(dout[place], moves[at])
    return Value(out, tangent_or_none(dout))


@primitive("select_and_gather_add")
def _select_and_gather_add(ctx: Context, params: Params, tangents: Value, x: Value) -> Value:
    """Return the entry of `tangents` at the place that each window selects in x: the derivative of max pooling."""
    out = np.full(_window_shape(params, x.primal.shape), ZERO, dtype=object)
    dout, moves = np.full(out.shape, None, dtype=object), filled(tangents)
    for at in np.ndindex(out.shape):
        place, tied = _selected(params, x, at)
        if place is not None:
            out[at], dout[at] = tangents.primal[place], KINK if tied else moves[place]
    return Value(out, tangent_or_none(dout))
