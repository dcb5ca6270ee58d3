"""Reads and writes at computed places in ONNX: a table with a row for each primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certgrad.exports._flat import Atom, Step, text_of
from certgrad.exports._onnx._graph import Rule, Writer, unwritten
from certgrad.exports._onnx._shapes import Size, row, slice_of


class _Places:
    """The axes of a gather or scatter, as GatherND and ScatterND have them.

    Both index some axes of an array, and read or write whole slices along all its other axes (`rest`).
    """

    def __init__(self, w: Writer, step: Step, operand: Atom, indices: Atom, sizes: Sequence[Size]) -> None:
        """Read the dimension numbers of a gather or scatter. Raises UsageError where it moves parts of slices."""
        p = step.params["dimension_numbers"]
        scatter = step.primitive.startswith("scatter")
        removed = p.inserted_window_dims if scatter else p.collapsed_slice_dims
        self.indexed = list(p.scatter_dims_to_operand_dims if scatter else p.start_index_map)
        self.batch = list(p.operand_batching_dims)
        self.batch_of_indices = list(p.scatter_indices_batching_dims if scatter else p.start_indices_batching_dims)
        self.offsets = list(p.update_window_dims if scatter else p.offset_dims)
        self.shape = operand.shape
        rank = operand.rank
        self.rest = [k for k in range(rank) if k not in self.indexed and k not in self.batch]
        # GatherND and ScatterND have whole slices along the rest, and one entry along the axes that are indexed.
        whole = all(sizes[k] == operand.shape[k] for k in self.rest)
        if sorted([*removed, *self.batch]) != sorted([*self.indexed, *self.batch]) or not whole:
            raise unwritten(w.place, step.primitive, "of parts of several entries has no counterpart in ONNX")
        self.index_shape = indices.shape
        self.counted: list[int] = []
        """Axes of the indices that a scatter has in common with the operand. ScatterND has no batch axes: they become
        further indices, which count 0, 1, 2, …
        """
        if scatter:
            self.counted, self.batch_of_indices = self.batch_of_indices, []
            self.indexed, self.batch = [*self.batch, *self.indexed], []
        self.order = [*self.batch, *self.indexed, *self.rest]
        self.kept = [k for k in range(indices.rank - 1) if k not in self.batch_of_indices]

    def indices(self, w: Writer, x: str) -> tuple[str, str]:
        """Write the indices, clipped to the array; return their name, and that of whether each was in bounds."""
        x, rank = w.cast(x, np.int64), len(self.index_shape)
        if self.counted:
            column_shape = [*self.index_shape[:-1], 1]
            columns = [
                w.op("Expand", row(w, column_shape, axis, np.int64), w.shape(column_shape)) for axis in self.counted
            ]
            x = w.op("Concat", *columns, x, axis=rank - 1)
        x = w.transpose(x, [*self.batch_of_indices, *self.kept, rank - 1])
        last = w.op("Sub", w.shape([self.shape[k] for k in self.indexed]), w.constant(np.int64(1)))
        zero = w.constant(np.int64(0))
        clipped = w.op("Min", w.op("Max", x, zero), last)
        in_bounds = w.cast(w.op("Equal", x, clipped), np.int32)
        return clipped, w.cast(w.op("ReduceMin", in_bounds, w.integers([-1]), keepdims=0), np.bool_)

    def result_order(self, rank: int) -> list[int]:
        """Return the axes of JAX's result in the order of GatherND: batch, other axes of the indices, rest."""
        places = [k for k in range(rank) if k not in self.offsets]
        first = [places[k] for k in [*self.batch_of_indices, *self.kept]]
        return [*first, *self.offsets]


def _mode(step: Step) -> str:
    return str(step.params["mode"]).rsplit(".", 1)[-1].lower()


def _gather(w: Writer, step: Step, xs: list[str]) -> str:
    """Write a gather as GatherND, or as Slice where it reads one slice; return the name of its result.

    GatherND has no modes for indices out of bounds: they are clipped first. In mode "fill", which is never written as
    Slice, the entries that such an index reads are replaced afterwards.
    """
    sizes = [text_of(s) for s in step.params["slice_sizes"]]
    if step.inputs[1].rank == 1 and "fill" not in _mode(step):
        return _one_slice(w, step, xs, sizes)
    places = _Places(w, step, step.inputs[0], step.inputs[1], sizes)
    clipped, in_bounds = places.indices(w, xs[1])
    out = w.op("GatherND", w.transpose(xs[0], places.order), clipped, batch_dims=len(places.batch))
    result = step.outputs[0]
    if "fill" in _mode(step):
        fill_value = step.params.get("fill_value")
        if fill_value is None:
            fill_value = (
                np.nan if result.dtype.kind == "f" else np.iinfo(result.dtype).min if result.dtype.kind == "i" else 0
            )
        in_bounds = (
            w.op("Unsqueeze", in_bounds, w.integers(range(-len(places.offsets), 0))) if places.offsets else in_bounds
        )
        out = w.op("Where", in_bounds, out, w.constant(fill_value, result.dtype))
    order = places.result_order(result.rank)
    return w.transpose(out, [order.index(k) for k in range(len(order))])


def _clamped_start(w: Writer, shape: Sequence[Size], sizes: Sequence[Size], axes: Sequence[int], index: str) -> str:
    """Write the start `index` of a slice along these axes, moved so that the slice fits; return its name."""
    last = w.op("Sub", w.shape([shape[k] for k in axes]), w.shape([sizes[k] for k in axes]))
    return str(w.op("Min", w.op("Max", w.cast(index, np.int64), w.constant(np.int64(0))), last))


def _one_slice(w: Writer, step: Step, xs: list[str], sizes: Sequence[Size]) -> str:
    axes = list(step.params["dimension_numbers"].start_index_map)
    first = _clamped_start(w, step.inputs[0].shape, sizes, axes, xs[1])
    ends = w.op("Add", first, w.shape([sizes[k] for k in axes]))
    entries = slice_of(w, xs[0], axes, first, ends, [1] * len(axes))
    return w.reshape(entries, step.outputs[0].shape)


def _add_one_slice(w: Writer, step: Step, xs: list[str], sizes: Sequence[Size]) -> str:
    """Write a scatter-add of one slice: the operand plus the update padded with zeros."""
    shape, axes = step.inputs[0].shape, list(step.params["dimension_numbers"].scatter_dims_to_operand_dims)
    first = _clamped_start(w, shape, sizes, axes, xs[1])
    after = w.op("Sub", w.shape([shape[k] for k in axes]), w.op("Add", first, w.shape([sizes[k] for k in axes])))
    pads = w.op("Concat", first, after, axis=0)
    update = w.op("Pad", w.reshape(xs[2], sizes), pads, "", w.integers(axes))
    return str(w.op("Add", xs[0], update))


def _scatter(reduction: str) -> Rule:
    """Return the rule that writes a scatter as ScatterND with this reduction."""

    def rule(w: Writer, step: Step, xs: list[str]) -> str:
        operand, _, updates = step.inputs
        offsets = list(step.params["dimension_numbers"].update_window_dims)
        batch = list(step.params["dimension_numbers"].operand_batching_dims)
        window = iter(updates.shape[k] for k in offsets)  # without the axes along which a slice has one entry
        removed = [*step.params["dimension_numbers"].inserted_window_dims, *batch]
        sizes: list[Any] = [1 if k in removed else next(window) for k in range(operand.rank)]
        if reduction == "add" and step.inputs[1].rank == 1 and "fill" not in _mode(step):
            return _add_one_slice(w, step, xs, sizes)
        places = _Places(w, step, operand, step.inputs[1], sizes)
        clipped, in_bounds = places.indices(w, xs[1])
        values = w.transpose(xs[2], places.result_order(updates.rank))
        if "fill" in _mode(step):
            if reduction != "add":
                raise unwritten(w.place, step.primitive, "that drops what is outside has no counterpart in ONNX")
            if offsets:
                in_bounds = w.op("Unsqueeze", in_bounds, w.integers(range(-len(offsets), 0)))
            values = w.op("Where", in_bounds, values, w.constant(0, updates.dtype))
        out = w.op("ScatterND", w.transpose(xs[0], places.order), clipped, values, reduction=reduction)
        return w.transpose(out, [places.order.index(k) for k in range(len(places.order))])

    return rule


def _starts(w: Writer, shape: Sequence[Size], sizes: Sequence[Size], starts: Sequence[str]) -> str:
    """Write the start of a slice, one scalar an axis, moved so that the slice fits; return its name."""
    rows = [w.op("Reshape", w.cast(s, np.int64), w.integers([1])) for s in starts]
    start = rows[0] if len(rows) == 1 else w.op("Concat", *rows, axis=0)
    last = w.op("Sub", w.shape(shape), w.shape(sizes))
    return str(w.op("Min", w.op("Max", start, w.constant(np.int64(0))), last))


def _dynamic_slice(w: Writer, step: Step, xs: list[str]) -> str:
    sizes = [text_of(s) for s in step.params["slice_sizes"]]
    starts = _starts(w, step.inputs[0].shape, sizes, xs[1:])
    ends = w.op("Add", starts, w.shape(sizes))
    return slice_of(w, xs[0], range(len(sizes)), starts, ends, [1] * len(sizes))


def _dynamic_update_slice(w: Writer, step: Step, xs: list[str]) -> str:
    """Write an update of a slice by Where: where a padded array of ones is 1, the padded update, else the operand."""
    shape, sizes = step.inputs[0].shape, step.inputs[1].shape
    starts = _starts(w, shape, sizes, xs[2:])
    after = w.op("Sub", w.op("Sub", w.shape(shape), w.shape(sizes)), starts)
    pads = w.op("Concat", starts, after, axis=0)
    ones = w.op("Expand", w.constant(np.int32(1)), w.shape(sizes))
    covered = w.cast(w.op("Pad", ones, pads), np.bool_)
    return str(w.op("Where", covered, w.op("Pad", xs[1], pads), xs[0]))


TABLE: dict[str, Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter("none"),
    "scatter-add": _scatter("add"),
    "scatter-max": _scatter("max"),
    "scatter-min": _scatter("min"),
    "scatter-mul": _scatter("mul"),
}
