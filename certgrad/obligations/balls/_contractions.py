"""Sums of products: dot_general and convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._logic import as_real
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ZERO, Real
from certgrad.obligations.balls._tangents import Tangent
from certgrad.obligations.balls._values import Array, Context, Value, tangent_or_none
from certgrad.obligations.balls._windows import Geometry, window_reads, window_sizes


def inner(xs: Sequence[Real], ys: Sequence[Real]) -> Real:
    """Return the inner product of two rows."""
    total: Real = ZERO
    for x, y in zip(xs, ys, strict=True):
        total = s.add(total, s.mul(x, y))
    return total


def inner_tangent(coefficients: Sequence[Real], tangents: Sequence[Tangent]) -> Tangent:
    """Return the sum of the coefficients times the tangents."""
    total: Tangent = None
    for x, dy in zip(coefficients, tangents, strict=True):
        total = t.plus(total, t.scaled(x, dy))
    return total


def _matrices(x: Array, batch: Sequence[int], contract: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Return x transposed and reshaped to (batch, free, contracted), and the shape of its free axes."""
    free = [axis for axis in range(x.ndim) if axis not in batch and axis not in contract]
    shape = tuple(x.shape[axis] for axis in free)
    sizes = [
        int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64)) for axes in (tuple(batch), free, tuple(contract))
    ]
    return x.transpose([*batch, *free, *contract]).reshape(sizes), shape


def _table(pair: Callable[[Any, Any], Any], left: Array, right: Array) -> Array:
    """Return pair(row of left, row of right) for all pairs of rows, batch by batch: shape (batch, left, right)."""
    out = np.empty((left.shape[0], left.shape[1], right.shape[1]), dtype=object)
    for b in range(left.shape[0]):
        rows, columns = left[b].tolist(), right[b].tolist()
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                out[b, i, j] = pair(row, column)
    return out


@primitive("dot_general")
def _dot_general(ctx: Context, params: Params, x: Value, y: Value) -> Value:
    """Return the contraction of two arrays with its tangent; of integers and booleans without one.

    Both arrays become rows of shape (batch, free, contracted), so that each entry of the result is the inner product of
    two rows. Its tangent is that of a product: d(left)·right + left·d(right).
    """
    (x_contract, y_contract), (x_batch, y_batch) = params["dimension_numbers"]
    if x.real != y.real:  # one operand holds floats and the other integers or booleans
        x, y = as_real(x), as_real(y)
    left, x_free = _matrices(x.primal, x_batch, x_contract)
    right, y_free = _matrices(y.primal, y_batch, y_contract)
    shape = (*(x.primal.shape[axis] for axis in x_batch), *x_free, *y_free)
    if not x.real:
        if x.tangent is not None or y.tangent is not None:
            raise Unsupported("dot_general of integers that jump")
        return Value(np.einsum("bik,bjk->bij", left, right).reshape(shape))
    out = _table(inner, left, right).reshape(shape)
    tangent_terms = []
    if x.tangent is not None:
        tangents = _matrices(x.tangent, x_batch, x_contract)[0]
        tangent_terms.append(_table(lambda row, column: inner_tangent(column, row), tangents, right))
    if y.tangent is not None:
        tangents = _matrices(y.tangent, y_batch, y_contract)[0]
        tangent_terms.append(_table(inner_tangent, left, tangents))
    if not tangent_terms:
        return Value(out)
    total = tangent_terms[0]
    for at in np.ndindex(total.shape) if len(tangent_terms) == 2 else ():
        total[at] = t.plus(total[at], tangent_terms[1][at])
    return Value(out, tangent_or_none(total.reshape(shape)))


# convolution


def _taps(params: Params, x: Array, w: Array, at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield pairs (index into x, index into w) whose products add up to the output at (batch, channel, *place).

    Both arrays are (batch or output channel, input channel, *spatial axes). With feature groups, a channel reads its
    group's input channels alone; with batch groups, its group's part of the batch. Padding gives no pair.
    """
    batch, channel, *place = at
    channels = w.shape[0]
    group = channel // (channels // params["feature_group_count"])
    batches = x.shape[0] // params["batch_group_count"]
    row = batch + (channel // (channels // params["batch_group_count"])) * batches
    for offset in product(*(range(n) for n in w.shape[2:])):
        source = window_reads(place, offset, x.shape[2:], _geometry(params))
        if source is not None:
            for feature in range(w.shape[1]):
                yield (row, group * w.shape[1] + feature, *source), (channel, feature, *offset)


def _geometry(params: Params) -> Geometry:
    return params["window_strides"], params["padding"], params["rhs_dilation"], params["lhs_dilation"]


@primitive("conv_general_dilated")
def _conv(ctx: Context, params: Params, x: Value, w: Value) -> Value:
    """Return the convolution with its tangent: each entry is the inner product of the kernel and what it covers.

    `dimension_numbers` says which axes of the operands and of the result are batch, channels and spatial axes.
    """
    if not x.real:
        raise Unsupported("convolution of integers")
    layout = params["dimension_numbers"]
    image, kernel = x.primal.transpose(layout.lhs_spec), w.primal.transpose(layout.rhs_spec)
    dimage = None if x.tangent is None else x.tangent.transpose(layout.lhs_spec)
    dkernel = None if w.tangent is None else w.tangent.transpose(layout.rhs_spec)
    spatial = window_sizes(image.shape[2:], kernel.shape[2:], _geometry(params))
    shape = (image.shape[0] // params["batch_group_count"], kernel.shape[0], *spatial)
    out, dout = np.empty(shape, dtype=object), np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        taps = list(_taps(params, image, kernel, at))
        xs, ws = [image[i] for i, _ in taps], [kernel[j] for _, j in taps]
        out[at] = inner(xs, ws)
        if dimage is not None:
            dout[at] = inner_tangent(ws, [dimage[i] for i, _ in taps])
        if dkernel is not None:
            dout[at] = t.plus(dout[at], inner_tangent(xs, [dkernel[j] for _, j in taps]))
    axis_order = np.argsort(layout.out_spec)
    return Value(out.transpose(axis_order), tangent_or_none(dout.transpose(axis_order)))
