"""The memory of a kernel: reads from places in a reference, and the contents of the reference after a write.

Known places are read and written as slices. Entries that are read beyond the ends of an array are undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.core import is_symbolic_dim

from certgrad.jaxpr.programs import no_number


class KernelError(Exception):
    """A kernel cannot be rewritten. The message says why."""


@dataclass(frozen=True)
class Value:
    """The result of an operation: the traced value, and the numbers `known` if the step's place determines them."""

    traced: Any
    known: np.ndarray | None = None

    @property
    def number(self) -> int | None:
        """The number of a known scalar; None for any other value."""
        return None if self.known is None or self.known.ndim else int(self.known)


@dataclass
class Cell:
    """A reference, with its present contents."""

    holds: Any


@dataclass(frozen=True)
class Span:
    """A slice along an axis: `size` entries from `start` on, `stride` apart."""

    start: Value
    size: int
    stride: int = 1


BEYOND = "a write beyond the end of what its reference holds"
"""The message for such a write: Pallas drops it in interpret mode; on a device it lands in other memory."""

Place = Span | Value
"""The places along one axis: a slice, a number, or an array of numbers (one for each lane of a gather or scatter)."""


def is_size(n: Any) -> bool:
    """Return whether n is a number, or a symbolic size."""
    return isinstance(n, int) or is_symbolic_dim(n)


def _covers_array(at: Sequence[Place], shape: Sequence[Any]) -> bool:
    """Return whether an index takes all of an array. Raises KernelError for a part of an array with symbolic sizes."""
    if all(
        isinstance(p, Span) and p.start.number == 0 and p.stride == 1 and p.size == n
        for p, n in zip(at, shape, strict=True)
    ):
        return True
    if not all(isinstance(n, int) for n in shape):
        raise KernelError("a part of an array whose size is a name")
    return False


def places(transform: Any) -> tuple[list[Place], tuple[int, ...]]:
    """Return the places that an indexing of a reference selects, and the shape of its index arrays (the lanes).

    Raises KernelError for another transformation of a reference, and for a slice of a computed length.
    """
    from jax._src.state.indexing import NDIndexer, Slice

    if not isinstance(transform, NDIndexer) or not all(isinstance(n, int) for n in transform.int_indexer_shape):
        raise KernelError(f"a reference seen through {type(transform).__name__}")
    out: list[Place] = []
    for index in transform.indices:
        if not isinstance(index, Slice):
            out.append(_value(index))
        elif is_size(index.size) and isinstance(index.stride, int):
            out.append(Span(_value(index.start), index.size, index.stride))  # type: ignore[arg-type]
        else:
            raise KernelError("a slice whose length is computed")
    return out, tuple(int(n) for n in transform.int_indexer_shape)


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x, np.asarray(x))


def load_entries(x: Any, transform: Any, mask: Value | None, other: Value | None) -> Any:
    """Return the entries at the places; `other` where the mask is false (undefined if that is None)."""
    at, lanes = places(transform)
    if _covers_array(at, x.shape):
        return _masked(x, mask, other)
    if any(isinstance(p, Value) and np.ndim(p.traced) for p in at):
        return _gathered(x, at, lanes, mask, other)
    spans = _spans(at)
    starts = [s.start.number for s in spans]
    if any(s is None for s in starts):
        out = _sliced_somewhere(x, spans)
    else:
        out = _sliced(x, [(s or 0, span.size, span.stride) for s, span in zip(starts, spans, strict=True)])
    out = lax.squeeze(out, _scalar_axes(at))
    return _masked(out, mask, other)


def updated_memory(x: Any, transform: Any, new: Any, mask: Value | None) -> Any:
    """Return the memory with the new entries at the places where the mask is true.

    Raises KernelError for a write that is known to reach beyond the memory. If that is not known, all entries are
    undefined where it does, as `dynamic_update_slice` would move the write inside.
    """
    at, lanes = places(transform)
    whole = _covers_array(at, x.shape)
    if any(isinstance(p, Value) and np.ndim(p.traced) for p in at):
        return _scattered(x, at, lanes, new, mask)
    spans = _spans(at)
    if any(s.stride != 1 for s in spans):
        raise KernelError("a write to a slice with a stride")
    if mask is not None and not (mask.known is not None and mask.known.all()):
        new = jnp.where(mask.traced, new, load_entries(x, transform, None, None))
    if whole:
        return new
    new = lax.expand_dims(new, _scalar_axes(at))
    starts = [s.start.traced for s in spans]
    room = [n - s.size for s, n in zip(spans, x.shape, strict=True)]
    known_starts = [s.start.number for s in spans]
    if any(k is not None and not 0 <= k <= most for k, most in zip(known_starts, room, strict=True)):
        raise KernelError(BEYOND)
    if new.shape == x.shape and not any(room) and all(k is not None for k in known_starts):
        return new  # the slice is all of the memory
    out = lax.dynamic_update_slice(x, new, [jnp.asarray(s, jnp.int32) for s in starts])
    for start, most in [(s, m) for s, k, m in zip(starts, known_starts, room, strict=True) if k is None]:
        out = jnp.where((start >= 0) & (start <= most), out, no_number((), x.dtype))
    return out


# --- slices


def _spans(at: Sequence[Place]) -> list[Span]:
    """Return the places as slices, a number as a slice of one entry."""
    return [p if isinstance(p, Span) else Span(p, 1) for p in at]


def _scalar_axes(at: Sequence[Place]) -> list[int]:
    """Return the axes that are indexed by a number, which the result does not have."""
    return [axis for axis, p in enumerate(at) if isinstance(p, Value)]


def _sliced(x: Any, spans: Sequence[tuple[int, int, int]]) -> Any:
    """Return a slice, given along each axis by its start, size and stride; entries beyond the array are undefined."""
    ends = [start + (size - 1) * stride + 1 for start, size, stride in spans]
    low = [max(-start, 0) for start, _, _ in spans]
    high = [max(end - n, 0) for end, n in zip(ends, x.shape, strict=True)]
    if any(low) or any(high):
        x = lax.pad(x, no_number((), x.dtype), [(a, b, 0) for a, b in zip(low, high, strict=True)])
    starts = [start + a for (start, _, _), a in zip(spans, low, strict=True)]
    return lax.slice(x, starts, [end + a for end, a in zip(ends, low, strict=True)], [k for _, _, k in spans])


def _sliced_somewhere(x: Any, spans: Sequence[Span]) -> Any:
    """Return a slice at computed starts: padding makes entries beyond the array undefined. No strides are allowed."""
    if any(s.stride != 1 for s in spans):
        raise KernelError("a slice with a stride at a computed place")
    x = lax.pad(x, no_number((), x.dtype), [(s.size, s.size, 0) for s in spans])
    return lax.dynamic_slice(x, [s.start.traced + np.int32(s.size) for s in spans], [s.size for s in spans])


def _masked(out: Any, mask: Value | None, other: Value | None) -> Any:
    """Return `out` where the mask is true, else `other`, which is undefined if it is None."""
    if mask is None or (mask.known is not None and mask.known.all()):
        return out
    return jnp.where(mask.traced, out, no_number((), out.dtype) if other is None else other.traced)


# --- numbers


@dataclass(frozen=True)
class _Box:
    """A box of lanes, from `low` to `high`, whose places fill a box of the memory.

    Lanes are the entries of the index arrays. Along each axis of the memory, the places begin at `first`, and increase
    one by one along the axis of lanes in `along`; where that is None, all lanes have the same place.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    first: tuple[int, ...]
    along: tuple[int | None, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self.low, self.high, strict=True))

    @property
    def moving(self) -> list[int]:
        """The axes of lanes along which places increase, in the order of the axes of the memory."""
        return [axis for axis in self.along if axis is not None]

    @property
    def fixed(self) -> list[int]:
        """The axes of the memory along which all lanes have the same place."""
        return [k for k, axis in enumerate(self.along) if axis is None]


def _box(shape: Sequence[int], at: Sequence[Value], lanes: Sequence[int], mask: Value | None) -> _Box | None:
    """Return the box of the memory that the lanes with a true mask fill; None where there is no such box.

    Lanes are the entries of the index arrays `at`. There is no box where places or mask are not known, the lanes in use
    are no box, their places do not increase one by one along an axis, or a place lies beyond the memory.
    """
    if any(p.known is None for p in at) or (mask is not None and mask.known is None):
        return None
    takes_part = np.broadcast_to(True if mask is None else mask.known, lanes)  # type: ignore[arg-type]
    if not takes_part.any():
        return None
    used_lanes = np.argwhere(takes_part)
    low, high = used_lanes.min(0), used_lanes.max(0) + 1
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    if not takes_part[box].all():
        return None
    first, along = [], []
    for n, p in zip(shape, at, strict=True):
        places = np.broadcast_to(p.known, lanes)[box]  # type: ignore[arg-type]
        if places.min() < 0 or places.max() >= n:
            return None
        axis = _axis_along(places)
        if axis is False:
            return None
        first.append(int(places.flat[0]))
        along.append(axis)
    moving = [axis for axis in along if axis is not None]
    if len(set(moving)) < len(moving):  # two axes of the memory along one of the lanes: a diagonal
        return None
    return _Box(tuple(map(int, low)), tuple(map(int, high)), tuple(first), tuple(along))


def _axis_along(places: np.ndarray) -> int | bool | None:
    """Return the axis along which the numbers increase one by one; None if all are equal, False for other numbers."""
    if (places == places.flat[0]).all():
        return None
    for axis, n in enumerate(places.shape):
        steps = np.arange(n).reshape([-1 if k == axis else 1 for k in range(places.ndim)])
        if (places == places.flat[0] + steps).all():
            return axis
    return False


def _numbers(at: Sequence[Place]) -> list[Value]:
    """Return the places, if they are numbers along all axes. Raises KernelError for a slice among them."""
    if not all(isinstance(p, Value) for p in at):
        raise KernelError("a place given by numbers along one axis and by a slice along another")
    return [p for p in at if isinstance(p, Value)]


def _gathered(x: Any, at: Sequence[Place], lanes: Sequence[int], mask: Value | None, other: Value | None) -> Any:
    """Return the entry that each lane reads from an array; `other` for a lane whose mask is false.

    If the lanes fill a known box of the array, it is a slice, whose axes are put in the order of the lanes'; else it is
    a gather, with NaN for places out of bounds. Raises KernelError for a gather of integers, which have no NaN.
    """
    numbers = _numbers(at)
    box = _box(x.shape, numbers, lanes, mask)
    if box is None:
        out_of_bounds = np.nan if jnp.issubdtype(x.dtype, jnp.floating) else None
        if out_of_bounds is None:
            raise KernelError("integers that are read at computed places")
        index = tuple(jnp.broadcast_to(p.traced, tuple(lanes)) for p in numbers)
        entries = x.at[index].get(mode="fill", fill_value=out_of_bounds, wrap_negative_indices=False)
        return _masked(entries, mask, other)
    # The slice has the axes of the memory; those of one place are dropped, the others put in the order of the lanes'.
    sizes = [1 if axis is None else box.sizes[axis] for axis in box.along]
    piece = lax.slice(x, box.first, [a + n for a, n in zip(box.first, sizes, strict=True)])
    piece = lax.transpose(lax.squeeze(piece, box.fixed), np.argsort(box.moving))
    piece = lax.broadcast_in_dim(piece, box.sizes, sorted(box.moving))
    around = [(a, n - b, 0) for a, b, n in zip(box.low, box.high, lanes, strict=True)]
    if not any(a or b for a, b, _ in around):
        return piece
    value = other.known.flat[0] if other is not None and other.known is not None and _is_uniform(other.known) else None
    if value is not None:
        return lax.pad(piece, np.asarray(value, piece.dtype), around)
    return _masked(lax.pad(piece, no_number((), piece.dtype), around), mask, other)


def _is_uniform(known: np.ndarray) -> bool:
    """Return whether all entries of an array are equal, and it has some."""
    return bool(known.size) and bool((known == known.flat[0]).all())


def _scattered(x: Any, at: Sequence[Place], lanes: Sequence[int], new: Any, mask: Value | None) -> Any:
    """Return the array after each lane with a true mask wrote its entry.

    If the lanes fill a known box of the array, it is the update of a slice; else it is a scatter, after which all
    entries are undefined if a lane writes out of bounds. A lane with a false mask gets a place out of bounds, which
    is dropped.
    """
    numbers = _numbers(at)
    box = _box(x.shape, numbers, lanes, mask)
    if box is None or any(n > 1 and axis not in box.moving for axis, n in enumerate(box.sizes)):
        index = [jnp.broadcast_to(p.traced, tuple(lanes)) for p in numbers]
        in_bounds: Any = True
        for k, n in zip(index, x.shape, strict=True):
            in_bounds = in_bounds & (k >= 0) & (k < n)
        fits = (in_bounds if mask is None else in_bounds | ~mask.traced).all()
        if mask is not None:
            index[0] = jnp.where(mask.traced, index[0], x.shape[0])
        out = x.at[tuple(index)].set(new, mode="drop", wrap_negative_indices=False)
        return jnp.where(fits, out, no_number((), x.dtype))
    piece = lax.slice(jnp.broadcast_to(new, tuple(lanes)), box.low, box.high)
    fixed_lanes = [axis for axis in range(len(lanes)) if axis not in box.moving]
    ordered = [axis for axis in range(len(lanes)) if axis in box.moving]
    piece = lax.transpose(lax.squeeze(piece, fixed_lanes), [ordered.index(axis) for axis in box.moving])
    piece = lax.expand_dims(piece, box.fixed)
    return lax.dynamic_update_slice(x, piece, [np.int32(k) for k in box.first])
