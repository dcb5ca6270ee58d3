"""Gather, scatter and dynamic slices: entries moved by computed indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._shapes import apply_move
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array, Context, Value, constant, filled, tangent_or_none


def _steered(out: Value, *indices: Value) -> Value:
    """Return `out`, with all its entries marked as kinks if an index jumps at this very point, or may jump."""
    if all(i.tangent is None for i in indices):
        return out
    return Value(out.primal, np.full(out.primal.shape, KINK, dtype=object))


def _starts(operand: Array, sizes: Sequence[int], indices: Sequence[Value]) -> list[int]:
    """Return where a slice of these sizes starts in each axis, clamped so that it lies inside."""
    return [max(0, min(int(i.primal[()]), n - size)) for i, n, size in zip(indices, operand.shape, sizes, strict=True)]


@primitive("dynamic_slice")
def _dynamic_slice(ctx: Context, params: Params, x: Value, *indices: Value) -> Value:
    sizes = params["slice_sizes"]
    where = tuple(slice(a, a + n) for a, n in zip(_starts(x.primal, sizes, indices), sizes, strict=True))
    return _steered(apply_move(lambda array: array[where], x), *indices)


@primitive("dynamic_update_slice")
def _dynamic_update_slice(ctx: Context, params: Params, x: Value, update: Value, *indices: Value) -> Value:
    sizes = update.primal.shape
    where = tuple(slice(a, a + n) for a, n in zip(_starts(x.primal, sizes, indices), sizes, strict=True))

    def replaced(array: Array, new: Array) -> Array:
        out = array.copy()
        out[where] = new
        return out

    return _steered(apply_move(replaced, x, update), *indices)


def _mode(params: Params) -> str:
    """Return what a gather or scatter does with indices out of bounds, by the lower-case name of its mode."""
    mode = params["mode"]
    return "clip" if mode is None else str(getattr(mode, "name", mode)).lower()


@dataclass(frozen=True)
class _Windows:
    """Windows into an array, one for each vector of indices: what gather reads and scatter writes."""

    shape: tuple[int, ...]
    """The shape of the array."""
    sizes: Sequence[int]
    """The sizes of a window, in each dimension of the array."""
    indexed: Sequence[int]
    """The dimensions that the indices are about, in their order."""
    batching: Sequence[tuple[int, int]]
    """Pairs (dimension of the array, axis of the indices): a window starts there at its own position along the axis."""
    offsets: Sequence[tuple[int, int]]
    """Pairs (axis of what is read or written, dimension of the array) for the axes that run over a window."""
    dropped: bool
    """Whether a window that is not inside is left out; else it is moved inside."""

    def positions(self, index: Array, out: Sequence[int]) -> Array:
        """Return the position in the flat array of each entry that is read or written; −1 for none.

        `index` holds the vectors of indices along its last axis; `out` is the shape of what is read or written.
        """
        # First where each window begins in the flat array, then, along the offset axes, how far an entry is from there.
        batch = index.shape[:-1]
        strides = [prod(self.shape[dim + 1 :]) for dim in range(len(self.shape))]
        first, is_inside = np.zeros(batch, np.int64), np.ones(batch, bool)
        for dim, (n, size, stride) in enumerate(zip(self.shape, self.sizes, strides, strict=True)):
            start = self._start(index, dim)
            is_inside &= (start >= 0) & (start <= n - size)
            first += np.clip(start, 0, max(0, n - size)).astype(np.int64) * stride
        dim_of_axis = dict(self.offsets)
        spread = [1 if axis in dim_of_axis else n for axis, n in enumerate(out)]
        places = first.reshape(spread)
        for axis, dim in self.offsets:
            places = places + _arange_along_axis(axis, len(out), self.sizes[dim]) * strides[dim]
        if self.dropped:
            places = np.where(is_inside.reshape(spread), places, -1)
        return np.broadcast_to(places, out)

    def _start(self, index: Array, dim: int) -> Array:
        """Return where each window starts in a dimension."""
        if dim in self.indexed:
            return index[..., self.indexed.index(dim)]
        for array_dim, axis in self.batching:
            if array_dim == dim:
                return _arange_along_axis(axis, index.ndim - 1, index.shape[axis])
        return np.zeros((), np.int64)


def _keep_promises(params: Params, index: Array, room: Sequence[int], batching: Sequence[int]) -> None:
    """Raise Undecided where indices break a promise of the program: that they are unique, or sorted.

    `room` is the greatest start of a window in each indexed dimension; `batching` lists the batch axes of the indices.
    """
    if not (params["unique_indices"] or params["indices_are_sorted"]):
        return
    moved = index if _drops(params) else np.clip(index, 0, np.asarray(room))
    batch = [
        np.broadcast_to(_arange_along_axis(axis, index.ndim - 1, index.shape[axis]), index.shape[:-1])
        for axis in batching
    ]
    columns = [*batch, *np.moveaxis(moved, -1, 0)]  # empty where no dimension is indexed
    rows = [*zip(*(column.reshape(-1).tolist() for column in columns), strict=True)]
    if params["unique_indices"] and len({*rows}) < len(rows):
        raise Undecided("an index comes twice that was promised to be unique")
    if params["indices_are_sorted"] and rows != sorted(rows):
        raise Undecided("indices are out of order that were promised to be sorted")


def _arange_along_axis(axis: int, rank: int, n: int) -> Array:
    """Return 0, 1, … n − 1 along one axis of an array."""
    return np.arange(n).reshape([n if k == axis else 1 for k in range(rank)])


def read_at(params: Params, shape: tuple[int, ...], index: Array) -> Array:
    """Return the position in the flat operand of each entry that `gather` reads; −1 where it reads none."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    dims_without_offset = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    offsets = list(
        zip(numbers.offset_dims, (dim for dim in range(len(shape)) if dim not in dims_without_offset), strict=True)
    )
    rank = index.ndim - 1 + len(offsets)
    dim_of_axis, batch = dict(offsets), iter(index.shape[:-1])
    out = [sizes[dim_of_axis[axis]] if axis in dim_of_axis else next(batch) for axis in range(rank)]
    batching = list(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    _keep_promises(
        params, index, [shape[a] - sizes[a] for a in numbers.start_index_map], numbers.start_indices_batching_dims
    )
    windows = _Windows(shape, sizes, numbers.start_index_map, batching, offsets, _drops(params))
    return windows.positions(index, out)


def written_at(params: Params, shape: tuple[int, ...], index: Array, updates: tuple[int, ...]) -> Array:
    """Return the position in the flat operand to which `scatter` writes each entry of the updates; −1 for none."""
    numbers = params["dimension_numbers"]
    dims_without_offset = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    offsets = list(
        zip(
            numbers.update_window_dims,
            (dim for dim in range(len(shape)) if dim not in dims_without_offset),
            strict=True,
        )
    )
    sizes = [1] * len(shape)
    for axis, dim in offsets:
        sizes[dim] = updates[axis]
    batching = list(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    axes = numbers.scatter_dims_to_operand_dims
    _keep_promises(params, index, [shape[a] - sizes[a] for a in axes], numbers.scatter_indices_batching_dims)
    windows = _Windows(shape, sizes, axes, batching, offsets, _drops(params))
    return windows.positions(index, updates)


def _drops(params: Params) -> bool:
    """Return whether a window out of bounds is left out, and not moved inside; a promise of bounds is checked later."""
    return _mode(params) in ("fill_or_drop", "promise_in_bounds")


def absent(dtype: np.dtype) -> Any:
    """Return the value that `gather` fills in for integers and booleans by default."""
    if dtype.kind == "b":
        return True
    limits = jnp.iinfo(dtype)  # which knows the types of 2 and 4 bits
    return limits.min if limits.min < 0 else limits.max


def _fill(params: Params, x: Array) -> Any:
    """Return what `gather` gives for an entry out of bounds. Raises Undecided for integers promised to be inside."""
    fill_value = params["fill_value"]
    if _mode(params) == "promise_in_bounds":
        if x.dtype == object:
            return s.nan
        raise Undecided("an integer is read outside of the bounds that were promised")
    if x.dtype == object:
        return s.nan if fill_value is None else constant(fill_value, np.float64).primal[()]
    if fill_value is not None:
        return fill_value
    return absent(x.dtype)


@primitive("gather")
def _gather(ctx: Context, params: Params, x: Value, indices: Value) -> Value:
    """Return the entries of x that the indices name, with their tangents; out of bounds a constant."""
    at = read_at(params, x.primal.shape, indices.primal)
    nowhere = at < 0

    def picked(array: Array, fill: Callable[[], Any]) -> Array:
        out = np.empty(at.shape, dtype=array.dtype)
        out[~nowhere] = array.reshape(-1)[at[~nowhere]]
        if nowhere.any():
            out[nowhere] = fill()
        return out

    primal = picked(x.primal, lambda: _fill(params, x.primal))
    tangent = None if x.tangent is None else tangent_or_none(picked(x.tangent, lambda: None))
    return _steered(Value(primal, tangent), indices)


def _scattering(name: str, value: Callable[..., Any] | None, tangent: Callable[..., Any] | None) -> None:
    """Register a scatter. `value` and `tangent` say how an update is combined with an entry; None: it replaces it."""

    def rule(ctx: Context, params: Params, x: Value, indices: Value, updates: Value) -> Value:
        """Return the operand with its updates, in their order.

        JAX does not say which of two values counts that replace one entry. Of floats the entry becomes an enclosure of
        both. Of integers that raises Undecided unless the last write is said to count (`last_counts`), and so it does,
        for any array, if the program promises unique indices.
        """
        targets = written_at(params, x.primal.shape, indices.primal, updates.primal.shape)
        if _mode(params) == "promise_in_bounds" and (targets < 0).any():
            raise Undecided("an update lands outside of the bounds that were promised")
        out, new_entries, dout = x.primal.flatten(), updates.primal.reshape(-1), None
        if x.tangent is not None or updates.tangent is not None:
            dout, dupdates = filled(x).flatten(), filled(updates).reshape(-1)
        written: set[int] = set()
        for at, target in enumerate(targets.reshape(-1).tolist()):
            if target < 0:
                continue
            old, new = out[target], new_entries[at]
            if value is None:
                written_before = target in written
                if written_before and (params["unique_indices"] or not (x.real or s.last_known_to_count())):
                    raise Undecided("scatter writes one entry twice: the order is not defined")
                written.add(target)
                out[target] = s.either(old, new) if written_before else new
                if dout is not None:
                    dout[target] = t.either(dout[target], dupdates[at]) if written_before else dupdates[at]
                continue
            # Sums, products and extrema do not depend on the order of the updates.
            if not x.real and name not in _DISCRETE:
                raise Unsupported(f"primitive {name} of integers")
            out[target] = value(old, new) if x.real else _DISCRETE[name](old, new)
            if dout is not None and tangent is not None:
                dout[target] = tangent(out[target], old, new, dout[target], dupdates[at])
        whole = None if dout is None else tangent_or_none(dout.reshape(x.primal.shape))
        return _steered(Value(out.reshape(x.primal.shape), whole), indices)

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
