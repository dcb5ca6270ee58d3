"""Primitives of shapes, reductions and order in ONNX: a table with a row for each primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certgrad.exports._flat import Step, text_of
from certgrad.exports._onnx._graph import Rule, Writer, unwritten

Size = int | str
_END = np.iinfo(np.int64).max


def _broadcast(w: Writer, step: Step, xs: list[str]) -> str:
    """Write a `broadcast_in_dim`: axes in order, new axes of 1, then Expand where a size changes."""
    result_shape, shape = step.outputs[0].shape, step.inputs[0].shape
    places = [int(k) for k in step.params["broadcast_dimensions"]]
    new_axes = [k for k in range(len(result_shape)) if k not in places]
    x = w.transpose(xs[0], sorted(range(len(places)), key=places.__getitem__))
    if new_axes and shape:
        x = w.op("Unsqueeze", x, w.integers(new_axes))
    aligned_shape: list[Size] = [1] * len(result_shape)
    for place, size in zip(places, shape, strict=True):
        aligned_shape[place] = size
    if aligned_shape == list(result_shape):
        return w.op("Unsqueeze", x, w.integers(new_axes)) if new_axes and not shape else x
    return str(w.op("Expand", x, w.shape(result_shape)))


def _reshape(w: Writer, step: Step, xs: list[str]) -> str:
    shape, result_shape = step.inputs[0].shape, step.outputs[0].shape
    if (order := step.params.get("dimensions")) is not None:
        return w.reshape(w.transpose(xs[0], order), result_shape)
    return xs[0] if shape == result_shape else w.reshape(xs[0], result_shape)


def _to_shape(w: Writer, step: Step, xs: list[str]) -> str:
    return w.reshape(xs[0], step.outputs[0].shape)


def reduction(kind: str) -> Rule:
    def rule(w: Writer, step: Step, xs: list[str]) -> str:
        axes = [int(k) for k in step.params["axes"]]
        return str(w.op(kind, xs[0], w.integers(axes), keepdims=0)) if axes else xs[0]

    return rule


def _boolean_reduction(kind: str) -> Rule:
    def rule(w: Writer, step: Step, xs: list[str]) -> str:
        if step.inputs[0].dtype != np.bool_:
            raise unwritten(w.place, step.primitive, "of integers has no counterpart in ONNX")
        result = reduction(kind)(w, step, [w.cast(xs[0], np.int32)])
        return w.cast(str(result), np.bool_)

    return rule


def _arg(kind: str) -> Rule:
    def rule(w: Writer, step: Step, xs: list[str]) -> str:
        (axis,) = step.params["axes"]
        return w.cast(w.op(kind, xs[0], axis=int(axis), keepdims=0), step.outputs[0].dtype)

    return rule


def slice_of(w: Writer, x: str, axes: Sequence[int], starts: str, ends: str, steps: Sequence[int]) -> str:
    step_operands = [] if all(s == 1 for s in steps) else [w.integers(steps)]
    return str(w.op("Slice", x, starts, ends, w.integers(axes), *step_operands))


def _slice(w: Writer, step: Step, xs: list[str]) -> str:
    shape = step.inputs[0].shape
    starts = [text_of(s) for s in step.params["start_indices"]]
    ends = [text_of(s) for s in step.params["limit_indices"]]
    steps = [int(s) for s in step.params["strides"] or [1] * len(shape)]
    axes = [k for k in range(len(shape)) if (starts[k], ends[k], steps[k]) != (0, shape[k], 1)]
    if not axes:
        return xs[0]
    first, last = w.shape([starts[k] for k in axes]), w.shape([ends[k] for k in axes])
    return slice_of(w, xs[0], axes, first, last, [steps[k] for k in axes])


def _rev(w: Writer, step: Step, xs: list[str]) -> str:
    axes = [int(k) for k in step.params["dimensions"]]
    return reversed_along(w, xs[0], axes) if axes else xs[0]


def reversed_along(w: Writer, x: str, axes: Sequence[int]) -> str:
    ends = w.integers([-_END] * len(axes))  # -1 would be the last entry: the end lies before the first one
    return slice_of(w, x, axes, w.integers([-1] * len(axes)), ends, [-1] * len(axes))


def padded(
    w: Writer, x: str, shape: Sequence[Size], config: Sequence[tuple[Size, Size, int]], value: str | None = None
) -> str:
    """Write an array padded along each axis, and return its name.

    Each entry of `config` says how many entries come before, after and between those of an axis; a negative edge cuts
    entries off. The added entries are the constant named `value`, or zeros if it is None.
    """
    shape = list(shape)
    for k, (_, _, inner) in enumerate(config):
        if inner:  # Pad has no padding between: pad a new axis after this one, join both, cut off the end
            x = w.op("Unsqueeze", x, w.integers([k + 1]))
            pads = [0] * (2 * len(shape) + 2)
            pads[len(shape) + 1 + k + 1] = inner
            x = w.op("Pad", x, w.integers(pads), *([value] if value else []))
            joined_size = f"({shape[k]})*{inner + 1}" if isinstance(shape[k], str) else int(shape[k]) * (inner + 1)
            x = w.reshape(x, [*shape[:k], joined_size, *shape[k + 1 :]])
            x = slice_of(w, x, [k], w.integers([0]), w.integers([-inner]), [1])
            shape[k] = f"({joined_size})-{inner}" if isinstance(joined_size, str) else joined_size - inner
    edges: list[Size] = [*(c[0] for c in config), *(c[1] for c in config)]
    if all(e == 0 for e in edges):
        return x
    return str(w.op("Pad", x, w.shape(edges), *([value] if value else [])))  # a negative edge: Pad cuts off


def _pad(w: Writer, step: Step, xs: list[str]) -> str:
    config = [(text_of(a), text_of(b), int(c)) for a, b, c in step.params["padding_config"]]
    return padded(w, xs[0], step.inputs[0].shape, config, xs[1])


def row(w: Writer, shape: Sequence[Size], axis: int, dtype: Any) -> str:
    """Write 0, 1, 2, … along one axis of an array of this rank, whose other axes have size 1; return its name."""
    numbers = w.op("Range", w.constant(np.int64(0)), w.scalar(shape[axis]), w.constant(np.int64(1)))
    numbers = numbers if np.dtype(dtype) == np.int64 else w.cast(numbers, dtype)
    other_axes = [k for k in range(len(shape)) if k != axis]
    return str(w.op("Unsqueeze", numbers, w.integers(other_axes))) if other_axes else str(numbers)


def _iota(w: Writer, step: Step, xs: list[str]) -> str:
    shape = step.outputs[0].shape
    numbers = row(w, shape, int(step.params["dimension"]), step.outputs[0].dtype)
    return numbers if len(shape) == 1 else str(w.op("Expand", numbers, w.shape(shape)))


def _dim(w: Writer, step: Step, xs: list[str]) -> str:
    return w.cast(w.scalar(text_of(step.params["dim"])), step.outputs[0].dtype)


def _split(w: Writer, step: Step, xs: list[str]) -> list[str]:
    sizes, axis = [text_of(s) for s in step.params["sizes"]], int(step.params["axis"])
    parts: Any = w.op("Split", xs[0], w.shape(sizes), count=len(sizes), axis=axis)
    return [parts] if len(sizes) == 1 else list(parts)


def _cumsum(w: Writer, step: Step, xs: list[str]) -> str:
    axis = w.constant(np.int64(step.params["axis"]))
    return str(w.op("CumSum", xs[0], axis, reverse=int(bool(step.params["reverse"]))))


def _top_k(w: Writer, step: Step, xs: list[str]) -> list[str]:
    k = w.size(text_of(step.params["k"]))
    axis = int(step.params.get("axis", step.inputs[0].rank - 1))
    values, places = w.op("TopK", xs[0], k, count=2, axis=axis)
    return [values, w.cast(places, step.outputs[1].dtype)]


def _sort(w: Writer, step: Step, xs: list[str]) -> list[str]:
    axis = int(step.params["dimension"])
    if step.params["num_keys"] != 1:
        raise unwritten(w.place, "sort", "by several keys has no counterpart in ONNX")
    size = w.size(step.inputs[0].shape[axis])
    values, places = w.op("TopK", xs[0], size, count=2, axis=axis, largest=0)
    return [values, *(w.op("GatherElements", x, places, axis=axis) for x in xs[1:])]


TABLE: dict[str, Rule] = {
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda w, step, xs: w.op("Concat", *xs, axis=int(step.params["dimension"])),
    "cumsum": _cumsum,
    "dim_as_value": _dim,
    "iota": _iota,
    "pad": _pad,
    "reduce_and": _boolean_reduction("ReduceMin"),
    "reduce_max": reduction("ReduceMax"),
    "reduce_min": reduction("ReduceMin"),
    "reduce_or": _boolean_reduction("ReduceMax"),
    "reduce_prod": reduction("ReduceProd"),
    "reduce_sum": reduction("ReduceSum"),
    "reshape": _reshape,
    "rev": _rev,
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "squeeze": _to_shape,
    "top_k": _top_k,
    "transpose": lambda w, step, xs: w.transpose(xs[0], step.params["permutation"]),
}
