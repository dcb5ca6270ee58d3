"""Products and convolutions in ONNX, and windows, which are convolutions or poolings: a row for each primitive."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

import numpy as np

from certgrad.exports._flat import Step, text_of
from certgrad.exports._onnx._graph import Rule, Writer, unwritten
from certgrad.exports._onnx._shapes import Size, padded


def _dot(w: Writer, step: Step, xs: list[str]) -> str:
    """Write a `dot_general` as MatMul where its axes allow it, else as Einsum."""
    (left, right), (left_batch, right_batch) = step.params["dimension_numbers"]
    ranks = [a.rank for a in step.inputs]
    if _is_matmul(ranks, (left, right), (left_batch, right_batch)):
        lhs, rhs = xs
        rank, batch = ranks[0], list(range(len(left_batch)))
        if rank == len(batch) + 2:
            lhs = w.transpose(lhs, [*batch, *((rank - 2, rank - 1) if left[0] == rank - 1 else (rank - 1, rank - 2))])
            rhs = w.transpose(rhs, [*batch, *((rank - 2, rank - 1) if right[0] == rank - 2 else (rank - 1, rank - 2))])
            return w.op("MatMul", lhs, rhs)
    if not left_batch and len(left) == 1 and left[0] == ranks[0] - 1 and ranks[1] == 2:
        return w.op("MatMul", xs[0], w.transpose(xs[1], [0, 1] if right[0] == 0 else [1, 0]))
    letters = iter(ascii_letters)  # paired axes get one letter for both, every other axis its own
    names = [[""] * ranks[0], [""] * ranks[1]]
    for a, b in [*zip(left_batch, right_batch, strict=True), *zip(left, right, strict=True)]:
        names[0][a] = names[1][b] = next(letters)
    names = [[n or next(letters) for n in row] for row in names]
    summed = {names[0][a] for a in left}
    batches = [names[0][a] for a in left_batch]
    result = [*batches, *(n for row in names for n in row if n not in summed and n not in batches)]
    return w.op("Einsum", *xs, equation=",".join("".join(row) for row in names) + "->" + "".join(result))


def _is_matmul(ranks: list[int], summed: tuple[Sequence[int], ...], batch: tuple[Sequence[int], ...]) -> bool:
    """Return whether a `dot_general` is a MatMul: one axis is summed, and the batch axes come first, in order."""
    batch_leads = all(list(b) == list(range(len(batch[0]))) for b in batch)
    return batch_leads and all(len(s) == 1 for s in summed) and ranks[0] == ranks[1] == len(batch[0]) + 2


def _conv(w: Writer, step: Step, xs: list[str]) -> str:
    """Write a convolution as Conv, between transpositions to and from its order of axes; return the name of its result.

    Conv has no batch groups: they become groups of features. Its own padding is by numbers, not negative and not
    between entries; any other padding is written before it.
    """
    p = step.params
    numbers = p["dimension_numbers"]
    x, kernel = w.transpose(xs[0], numbers.lhs_spec), w.transpose(xs[1], numbers.rhs_spec)
    shape = [step.inputs[0].shape[k] for k in numbers.lhs_spec]
    groups = int(p["feature_group_count"])
    if (parts := int(p["batch_group_count"])) > 1:  # an array (G·b, c) becomes (b, G·c)
        per_group = _divided(shape[0], parts)
        x = w.reshape(x, [parts, per_group, *shape[1:]])
        x = w.transpose(x, [1, 0, *range(2, len(shape) + 1)])
        shape = [per_group, _times(shape[1], parts), *shape[2:]]
        x, groups = w.reshape(x, shape), parts
    edges: list[tuple[Size, Size, int]] = [
        (text_of(a), text_of(b), int(d) - 1) for (a, b), d in zip(p["padding"], p["lhs_dilation"], strict=True)
    ]
    pads = [0] * (2 * len(edges))
    if all(isinstance(e, int) and e >= 0 for edge in edges for e in edge[:2]) and not any(e[2] for e in edges):
        pads = [int(e[0]) for e in edges] + [int(e[1]) for e in edges]
    else:
        x = padded(w, x, shape, [(0, 0, 0), (0, 0, 0), *edges])
    out = w.op(
        "Conv",
        x,
        kernel,
        group=groups,
        pads=pads,
        strides=[int(s) for s in p["window_strides"]],
        dilations=[int(d) for d in p["rhs_dilation"]],
    )
    order = list(numbers.out_spec)
    return w.transpose(out, [order.index(k) for k in range(len(order))])


def _divided(size: Size, parts: int) -> Size:
    return size // parts if isinstance(size, int) else f"floordiv({size}, {parts})"


def _times(size: Size, count: int) -> Size:
    return size * count if isinstance(size, int) else f"({size})*{count}"


class _Window:
    """A window over the axes along which it does not just take each entry; the other axes are joined to one before.

    ONNX's convolutions and poolings take arrays (batch, channel, axes); here the joined axis is the batch.
    """

    def __init__(self, w: Writer, step: Step, shape: Sequence[Size]) -> None:
        p, rank = step.params, len(shape)
        ones = [1] * rank
        sizes = [text_of(s) for s in p["window_dimensions"]]
        strides, dilations = list(p["window_strides"]), list(p.get("window_dilation", ones))
        base, padding = list(p.get("base_dilation", ones)), [tuple(map(text_of, e)) for e in p["padding"]]
        moved = zip(sizes, strides, dilations, base, padding, strict=True)
        self.axes = [k for k, setting in enumerate(moved) if setting != (1, 1, 1, 1, (0, 0))]
        self.rest = [k for k in range(rank) if k not in self.axes]
        if len(self.axes) > 3 or any(not isinstance(sizes[k], int) for k in self.axes):
            raise unwritten(w.place, step.primitive, "over such a window has no counterpart in ONNX")
        self.window = [int(sizes[k]) for k in self.axes]
        self.strides = [int(strides[k]) for k in self.axes]
        self.dilations = [int(dilations[k]) for k in self.axes]
        self.edges = [(padding[k][0], padding[k][1], int(base[k]) - 1) for k in self.axes]
        self.shape = shape
        self.inner = [1, *(shape[k] for k in self.axes)]

    def enter(self, w: Writer, x: str) -> str:
        """Write the array with the shape (rest, 1, axes); return its name."""
        x = w.transpose(x, [*self.rest, *self.axes])
        return str(w.op("Reshape", x, w.shape([-1, *self.inner])))

    def leave(self, w: Writer, x: str, shape: Sequence[Size]) -> str:
        """Write the inverse of `enter`, for a result that is to have this shape; return its name."""
        order = [*self.rest, *self.axes]
        x = w.reshape(x, [shape[k] for k in order])
        return w.transpose(x, [order.index(k) for k in range(len(order))])

    def pads(self, w: Writer, step: Step) -> list[int]:
        """Return the padding as ONNX has it: all widths before, then all after. Raises UsageError where it has none."""
        if any(not isinstance(e, int) or e < 0 for edge in self.edges for e in edge) or any(e[2] for e in self.edges):
            raise unwritten(w.place, step.primitive, "with such a padding has no counterpart in ONNX")
        return [int(e[0]) for e in self.edges] + [int(e[1]) for e in self.edges]


def _window_sum(w: Writer, step: Step, xs: list[str]) -> str:
    window = _Window(w, step, step.inputs[0].shape)
    if not window.axes:
        return xs[0]
    x = padded(w, window.enter(w, xs[0]), [-1, *window.inner], [(0, 0, 0), (0, 0, 0), *window.edges])
    kernel = w.constant(np.ones([1, 1, *window.window], step.inputs[0].dtype))
    out = w.op("Conv", x, kernel, strides=window.strides, dilations=window.dilations)
    return window.leave(w, out, step.outputs[0].shape)


def _pooled(w: Writer, step: Step, x: str, shape: Sequence[Size], count: int) -> tuple[_Window, list[str]]:
    """Write MaxPool over the windows; return the window and the names of `count` results: maxima, then their places."""
    window = _Window(w, step, shape)
    if not window.axes:
        raise unwritten(w.place, step.primitive, "over windows of one entry has no counterpart in ONNX")
    results = w.op(
        "MaxPool",
        window.enter(w, x),
        count=count,
        kernel_shape=window.window,
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads(w, step),
    )
    return window, [results] if count == 1 else list(results)


def _window_max(w: Writer, step: Step, xs: list[str]) -> str:
    window, (out,) = _pooled(w, step, xs[0], step.inputs[0].shape, 1)
    return window.leave(w, out, step.outputs[0].shape)


def _window_min(w: Writer, step: Step, xs: list[str]) -> str:
    window, (out,) = _pooled(w, step, w.op("Neg", xs[0]), step.inputs[0].shape, 1)
    return str(w.op("Neg", window.leave(w, out, step.outputs[0].shape)))


def _scatter_maxima(w: Writer, step: Step, xs: list[str]) -> str:
    """Write `select_and_scatter_add`, the transpose of a pooling, and return the name of its result.

    Each window's cotangent is added at the window's largest entry (or smallest, by "le"), at the first of equal ones.
    MaxPool finds the place of that entry.
    """
    source, operand = xs
    if str(step.params["select_prim"]) not in ("ge", "le"):
        raise unwritten(w.place, step.primitive, f"by {step.params['select_prim']} has no counterpart in ONNX")
    maximised = operand if str(step.params["select_prim"]) == "ge" else w.op("Neg", operand)
    window, (_, places) = _pooled(w, step, maximised, step.inputs[1].shape, 2)
    # MaxPool numbers the entries of the whole array, row by row: (rest, 1, axes).
    zeros = w.op("Expand", w.constant(0, step.outputs[0].dtype), w.op("Shape", window.enter(w, operand)))
    flat = w.op("Reshape", zeros, w.integers([-1]))
    cotangents = w.op("Reshape", w.transpose(source, [*window.rest, *window.axes]), w.integers([-1]))
    added = w.op(
        "ScatterElements", flat, w.op("Reshape", places, w.integers([-1])), cotangents, axis=0, reduction="add"
    )
    return window.leave(w, added, step.outputs[0].shape)


TABLE: dict[str, Rule] = {
    "conv_general_dilated": _conv,
    "dot_general": _dot,
    "reduce_window_max": _window_max,
    "reduce_window_min": _window_min,
    "reduce_window_sum": _window_sum,
    "select_and_scatter_add": _scatter_maxima,
}
