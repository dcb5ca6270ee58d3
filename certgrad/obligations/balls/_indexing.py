"""Gather, scatter and dynamic slices: entries moved by computed indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._shapes import moved
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array, Context, Value, filled, literal, tangent_or_none


def _steered(out: Value, *indices: Value) -> Value:
    """Mark everything a kink where an index jumps at this very point."""
    if all(i.tangent is None for i in indices):
        return out
    return Value(out.primal, np.full(out.primal.shape, KINK, dtype=object))


def _starts(operand: Array, sizes: Sequence[int], indices: Sequence[Value]) -> list[int]:
    return [max(0, min(int(i.primal[()]), n - size)) for i, n, size in zip(indices, operand.shape, sizes, strict=True)]


@primitive("dynamic_slice")
def _dynamic_slice(ctx: Context, params: Params, x: Value, *indices: Value) -> Value:
    sizes = params["slice_sizes"]
    where = tuple(slice(a, a + n) for a, n in zip(_starts(x.primal, sizes, indices), sizes, strict=True))
    return _steered(moved(lambda array: array[where], x), *indices)


@primitive("dynamic_update_slice")
def _dynamic_update_slice(ctx: Context, params: Params, x: Value, update: Value, *indices: Value) -> Value:
    sizes = update.primal.shape
    where = tuple(slice(a, a + n) for a, n in zip(_starts(x.primal, sizes, indices), sizes, strict=True))

    def replaced(array: Array, new: Array) -> Array:
        out = array.copy()
        out[where] = new
        return out

    return _steered(moved(replaced, x, update), *indices)


def _mode(params: Params) -> str:
    mode = params["mode"]
    return "clip" if mode is None else str(getattr(mode, "name", mode)).lower()


def _window_start(
    index: Array, batch: tuple[int, ...], start_map: Sequence[int], rank: int, batching: Sequence[tuple[int, int]]
) -> list[int]:
    start = [0] * rank
    for position, dim in enumerate(start_map):
        start[dim] = int(index[(*batch, position)])
    for operand_dim, indices_dim in batching:
        start[operand_dim] = batch[indices_dim]
    return start


def _placed(start: list[int], shape: Sequence[int], sizes: Sequence[int], mode: str) -> list[int] | None:
    """Where a window goes: clamped inside, or nowhere (None) where out of bounds is dropped, or promised not to be."""
    limits = [n - size for n, size in zip(shape, sizes, strict=True)]
    if all(0 <= a <= limit for a, limit in zip(start, limits, strict=True)):
        return start
    if mode in ("fill_or_drop", "promise_in_bounds"):
        return None
    return [max(0, min(a, limit)) for a, limit in zip(start, limits, strict=True)]


def _fill(params: Params, x: Array) -> Any:
    given = params["fill_value"]
    if _mode(params) == "promise_in_bounds":
        if x.dtype == object:
            return s.nan
        raise Undecided("an integer is read outside of the bounds that were promised")
    if x.dtype == object:
        return s.nan if given is None else literal(given, np.float64)
    if given is not None:
        return given
    if x.dtype == bool:
        return True
    return np.iinfo(x.dtype).min if x.dtype.kind == "i" else np.iinfo(x.dtype).max


@primitive("gather")
def _gather(ctx: Context, params: Params, x: Value, indices: Value) -> Value:
    d, sizes, mode = params["dimension_numbers"], params["slice_sizes"], _mode(params)
    index, shape = indices.primal, x.primal.shape
    batching = list(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    hidden = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    window_dims = [dim for dim in range(len(shape)) if dim not in hidden]
    batch_shape = index.shape[:-1]
    rank = len(batch_shape) + len(window_dims)
    batch_axes = [axis for axis in range(rank) if axis not in d.offset_dims]
    out_shape = [0] * rank
    for axis, n in zip(batch_axes, batch_shape, strict=True):
        out_shape[axis] = n
    for axis, dim in zip(d.offset_dims, window_dims, strict=True):
        out_shape[axis] = sizes[dim]
    picks: list[tuple[tuple[int, ...], tuple[int, ...] | None]] = []
    for at in np.ndindex(*out_shape):
        batch = tuple(at[axis] for axis in batch_axes)
        start = _placed(_window_start(index, batch, d.start_index_map, len(shape), batching), shape, sizes, mode)
        if start is not None:
            for axis, dim in zip(d.offset_dims, window_dims, strict=True):
                start[dim] += at[axis]
        picks.append((at, None if start is None else tuple(start)))

    def picked(array: Array, fill: Any) -> Array:
        out = np.empty(out_shape, dtype=array.dtype)
        for at, source in picks:
            out[at] = fill if source is None else array[source]
        return out

    primal = picked(x.primal, _fill(params, x.primal) if any(source is None for _, source in picks) else None)
    tangent = None if x.tangent is None else tangent_or_none(picked(x.tangent, None))
    return _steered(Value(primal, tangent), indices)


def _landings(
    params: Params, shape: tuple[int, ...], index: Array, update_shape: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs (index into the updates, index into the operand) of every update that lands."""
    d, mode = params["dimension_numbers"], _mode(params)
    batching = list(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
    hidden = {*d.inserted_window_dims, *d.operand_batching_dims}
    window_dims = [dim for dim in range(len(shape)) if dim not in hidden]
    batch_axes = [axis for axis in range(len(update_shape)) if axis not in d.update_window_dims]
    sizes = [1] * len(shape)
    for axis, dim in zip(d.update_window_dims, window_dims, strict=True):
        sizes[dim] = update_shape[axis]
    for at in np.ndindex(*update_shape):
        batch = tuple(at[axis] for axis in batch_axes)
        raw = _window_start(index, batch, d.scatter_dims_to_operand_dims, len(shape), batching)
        start = _placed(raw, shape, sizes, mode)
        if start is None:
            if mode == "promise_in_bounds":
                raise Undecided("an update lands outside of the bounds that were promised")
            continue
        for axis, dim in zip(d.update_window_dims, window_dims, strict=True):
            start[dim] += at[axis]
        yield at, tuple(start)


def _scattering(name: str, value: Callable[..., Any] | None, tangent: Callable[..., Any] | None) -> None:
    def rule(ctx: Context, params: Params, x: Value, indices: Value, updates: Value) -> Value:
        out, dout = x.primal.copy(), None
        if x.tangent is not None or updates.tangent is not None:
            dout, dupdates = filled(x).copy(), filled(updates)
        seen: set[tuple[int, ...]] = set()
        for at, target in _landings(params, x.primal.shape, indices.primal, updates.primal.shape):
            old, new = out[target], updates.primal[at]
            if value is None:
                if target in seen:
                    raise Undecided("scatter writes one entry twice: the order is not defined")
                seen.add(target)
                out[target] = new
                if dout is not None:
                    dout[target] = dupdates[at]
                continue
            if not x.real and name not in _DISCRETE:
                raise Unsupported(f"primitive {name} of integers")
            out[target] = value(old, new) if x.real else _DISCRETE[name](old, new)
            if dout is not None and tangent is not None:
                dout[target] = tangent(out[target], old, new, dout[target], dupdates[at])
        return _steered(Value(out, None if dout is None else tangent_or_none(dout)), indices)

    primitive(name)(rule)


_DISCRETE: dict[str, Callable[..., Any]] = {
    "scatter-add": np.add,
    "scatter-mul": np.multiply,
    "scatter-max": np.maximum,
    "scatter-min": np.minimum,
}
_scattering("scatter", None, None)
_scattering("scatter-add", s.add, lambda out, a, b, da, db: t.plus(da, db))
_scattering("scatter-sub", s.sub, lambda out, a, b, da, db: t.minus(da, db))
_scattering("scatter-mul", s.mul, t.product)
_scattering("scatter-max", s.maximum, t.extremum(1))
_scattering("scatter-min", s.minimum, t.extremum(-1))
