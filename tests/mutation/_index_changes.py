"""Changes of what is read from where: starts, strides, windows, padding, order, modes, axes of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import GatherScatterMode

from tests.mutation._changes import Args, Outs, change, is_float
from tests.mutation._interpreter import Frame, Site

MOVING = (
    *("pad", "slice", "rev", "concatenate", "cumsum", "cumprod", "reduce_window_sum", "conv_general_dilated", "gather"),
    *("scatter-add", "dynamic_slice", "dynamic_update_slice", "reshape", "transpose", "select_n", "split", "tile"),
)
"""Primitives after which an entry is found at another place."""
INDEXED = {"gather": (1,), "scatter-add": (1,), "dynamic_slice": (1, 2), "dynamic_update_slice": (2, 3)}
"""The operands that are positions."""


def _same_shape(f: Frame, **params: Any) -> Outs:
    """The equation with other parameters, where that leaves its shapes."""
    try:
        outs = f.run(*f.operands, **params)
    except (TypeError, ValueError):
        return None
    return outs if [x.shape for x in outs] == [x.shape for x in f.run(*f.operands)] else None


def _axes(site: Site) -> Sequence[int]:
    """The axes of a float output of a primitive that moves entries."""
    if site.key[0] not in MOVING or len(site.outputs) != 1 or not is_float(site.outputs[0]):
        return []
    return range(len(site.outputs[0].shape))


# the output: turned, moved by one, with one entry too few


@change("turned round", lambda s: [(k,) for k in _axes(s)])
def _(f: Frame, axis: int) -> Outs:
    (out,) = f.run(*f.operands)
    return [jnp.flip(out, axis)] if axis < out.ndim else None


@change("moved by one", lambda s: [(k, by) for k in _axes(s) for by in (1, -1)])
def _(f: Frame, axis: int, by: int) -> Outs:
    """Off by one, with a 0 where nothing moves in."""
    (out,) = f.run(*f.operands)
    if axis >= out.ndim:
        return None
    config = [(by, -by, 0) if k == axis else (0, 0, 0) for k in range(out.ndim)]
    return [lax.pad(out, jnp.zeros((), out.dtype), config)]


@change("first entry lost", lambda s: [(k,) for k in _axes(s)])
def _(f: Frame, axis: int) -> Outs:
    (out,) = f.run(*f.operands)
    return [jnp.where(lax.broadcasted_iota(int, out.shape, axis) >= 1, out, 0.0)] if axis < out.ndim else None


@change("last entry twice", lambda s: [(k,) for k in _axes(s)])
def _(f: Frame, axis: int) -> Outs:
    (out,) = f.run(*f.operands)
    if axis >= out.ndim:
        return None
    last = lax.broadcasted_iota(int, out.shape, axis) == _whole(out.shape[axis]) - 1
    return [jnp.where(last, 2.0 * out, out)]


def _whole(n: Any) -> Any:
    return jnp.asarray(n).astype(int)


@change("summed up so far", lambda s: [(k,) for k in _axes(s)])
def _(f: Frame, axis: int) -> Outs:
    (out,) = f.run(*f.operands)
    return [lax.cumsum(out, axis)] if axis < out.ndim else None


@change("axes exchanged where square", lambda s: [()] if len(_axes(s)) > 1 else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [jnp.swapaxes(out, 0, 1)] if out.ndim > 1 and out.shape[0] == out.shape[1] else None


# parameters


def _shifts(config: Sequence[Sequence[Any]]) -> list[Args]:
    return [(k, by) for k in range(len(config)) for by in (1, -1)]


@change("padding moved", lambda s: _shifts(s.params["padding_config"]) if s.key[0] == "pad" else [])
def _(f: Frame, k: int, by: int) -> Outs:
    config = [(low + by, high - by, gap) if j == k else (low, high, gap) for j, (low, high, gap) in _numbered(f)]
    return _same_shape(f, padding_config=tuple(config))


def _numbered(f: Frame) -> list[Any]:
    return list(enumerate(f.params["padding_config"]))


@change("padded with 1", lambda s: [()] if s.key[0] == "pad" else [])
def _(f: Frame) -> Outs:
    return f.changed(1, f.operands[1] + 1.0)


def _windowed(site: Site) -> Sequence[Args]:
    return _shifts(site.params["padding"]) if site.key[0] in ("reduce_window_sum", "conv_general_dilated") else []


@change("window moved", _windowed)
def _(f: Frame, k: int, by: int) -> Outs:
    padding = [(low + by, high - by) if j == k else (low, high) for j, (low, high) in enumerate(f.params["padding"])]
    return _same_shape(f, padding=tuple(padding))


@change(
    "window smaller",
    lambda s: [(k,) for k in range(len(s.params["padding"]))] if s.key[0] == "reduce_window_sum" else [],
)
def _(f: Frame, k: int) -> Outs:
    sizes, padding = list(f.params["window_dimensions"]), list(f.params["padding"])
    sizes[k], padding[k] = sizes[k] - 1, (padding[k][0], padding[k][1] - 1)
    return _same_shape(f, window_dimensions=tuple(sizes), padding=tuple(padding)) if sizes[k] else None


@change("window larger", lambda s: [(k,) for k in range(len(s.params["padding"]))] if _windowed(s) else [])
def _(f: Frame, k: int) -> Outs:
    if f.key[0] != "reduce_window_sum":
        return None
    sizes, padding = list(f.params["window_dimensions"]), list(f.params["padding"])
    sizes[k], padding[k] = sizes[k] + 1, (padding[k][0], padding[k][1] + 1)
    return _same_shape(f, window_dimensions=tuple(sizes), padding=tuple(padding))


def _convolution(site: Site) -> Sequence[Args]:
    return [(k,) for k in range(len(site.operands[1].shape))] if site.key[0] == "conv_general_dilated" else []


@change("kernel turned round", _convolution)
def _(f: Frame, axis: int) -> Outs:
    return f.changed(1, jnp.flip(f.operands[1], axis))


@change("image turned round", _convolution)
def _(f: Frame, axis: int) -> Outs:
    return f.changed(0, jnp.flip(f.operands[0], axis))


@change("dilated otherwise", lambda s: [()] if _convolution(s) else [])
def _(f: Frame) -> Outs:
    """rhs dilation one more, with the padding that keeps the size."""
    spec = f.params["dimension_numbers"].rhs_spec[2:]
    dilation = tuple(d + 1 for d in f.params["rhs_dilation"])
    sizes = [f.operands[1].shape[k] - 1 for k in spec]
    padding = tuple((low, high + more) for (low, high), more in zip(f.params["padding"], sizes, strict=True))
    return _same_shape(f, rhs_dilation=dilation, padding=padding)


@change("groups otherwise", lambda s: [()] if _convolution(s) else [])
def _(f: Frame) -> Outs:
    """Features of the groups interleaved."""
    groups = f.params["feature_group_count"]
    axis = f.params["dimension_numbers"].lhs_spec[1]
    x = f.operands[0]
    if groups == 1:
        return None
    parts = jnp.moveaxis(x, axis, 0).reshape(groups, x.shape[axis] // groups, *_rest(x, axis))
    return f.changed(0, jnp.moveaxis(jnp.swapaxes(parts, 0, 1).reshape(x.shape[axis], *_rest(x, axis)), 0, axis))


def _rest(x: Any, axis: int) -> list[Any]:
    return [n for k, n in enumerate(x.shape) if k != axis]


@change("strides exchanged", lambda s: [()] if "window_strides" in s.params else [], shapewise=True)
def _(f: Frame) -> Outs:
    strides = tuple(f.params["window_strides"])
    return _same_shape(f, window_strides=strides[::-1]) if strides != strides[::-1] else None


def _cut(site: Site) -> Sequence[Args]:
    if site.key[0] != "slice":
        return []
    return [(k, a, b) for k in range(len(site.operands[0].shape)) for a, b in ((1, 1), (-1, -1), (1, 0), (-1, 0))]


@change("slice moved", _cut)
def _(f: Frame, k: int, start: int, limit: int) -> Outs:
    starts, limits = list(f.params["start_indices"]), list(f.params["limit_indices"])
    starts[k], limits[k] = starts[k] + start, limits[k] + limit
    return _same_shape(f, start_indices=tuple(starts), limit_indices=tuple(limits))


@change("not turned round", lambda s: [()] if s.key[0] == "rev" else [])
def _(f: Frame) -> Outs:
    return [f.operands[0]]


@change("one axis not turned round", lambda s: [()] if s.key[0] == "rev" and len(s.params["dimensions"]) > 1 else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, dimensions=f.params["dimensions"][1:])


@change("scan reversed", lambda s: [()] if s.key[0].startswith("cum") else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, reverse=not f.params["reverse"])


@change("scan without the entry itself", lambda s: [()] if s.key[0] == "cumsum" else [])
def _(f: Frame) -> Outs:
    return [f.run(*f.operands)[0] - f.operands[0]]


@change(
    "iota along another axis",
    lambda s: [(k,) for k in range(len(s.outputs[0].shape))] if s.key[0] == "iota" else [],
)
def _(f: Frame, axis: int) -> Outs:
    return f.run(*f.operands, dimension=axis)


@change("iota from 1", lambda s: [(1,), (-1,)] if s.key[0] == "iota" else [])
def _(f: Frame, by: int) -> Outs:
    return [f.run(*f.operands)[0] + by]


# positions that are values


def _positions(site: Site) -> list[int]:
    return [j for j in INDEXED.get(site.key[0], ()) if j < len(site.operands)]


@change("position off by one", lambda s: [(j, by) for j in _positions(s) for by in (1, -1)])
def _(f: Frame, j: int, by: int) -> Outs:
    x = f.operands[j]
    return f.changed(j, jnp.asarray(x) + np.asarray(by, jnp.asarray(x).dtype))


@change("position not negative", lambda s: [(j,) for j in _positions(s)])
def _(f: Frame, j: int) -> Outs:
    """As if −1 were 0."""
    return f.changed(j, jnp.maximum(f.operands[j], 0))


@change("positions in another order", lambda s: [(j,) for j in _positions(s) if s.operands[j].shape])
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, jnp.flip(f.operands[j], 0)) if jnp.ndim(f.operands[j]) > 1 else None


_MODES = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)


@change("another mode", lambda s: [(m.name,) for m in _MODES] if "mode" in s.params else [])
def _(f: Frame, name: str) -> Outs:
    mode = next(m for m in _MODES if m.name == name)
    return f.run(*f.operands, mode=mode) if mode != f.params["mode"] else None


@change("repeated positions overwrite", lambda s: [()] if s.key[0] == "scatter-add" else [])
def _(f: Frame) -> Outs:
    how = {k: f.params[k] for k in ("indices_are_sorted", "unique_indices", "mode")}
    return [lax.scatter(*f.operands, f.params["dimension_numbers"], **how)]


@change("repeated positions promised away", lambda s: [()] if s.key[0] == "scatter-add" else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, unique_indices=True)


def _integers(site: Site) -> Sequence[Args]:
    if site.key[0] not in ("add", "sub", "max", "min", "clamp", "lt", "le", "gt", "ge", "eq", "ne", "select_n"):
        return []
    return [
        (j, by) for j, a in enumerate(site.operands) if jnp.issubdtype(a.dtype, jnp.signedinteger) for by in (1, -1)
    ]


@change("integer off by one", _integers)
def _(f: Frame, j: int, by: int) -> Outs:
    x = f.operands[j]
    return f.changed(j, jnp.asarray(x) + np.asarray(by, jnp.asarray(x).dtype))


# row-major order


def _shape_of(f: Frame) -> tuple[Any, ...]:
    return f.run(*f.operands)[0].shape


@change("reshaped instead of transposed", lambda s: [()] if s.key[0] == "transpose" else [])
def _(f: Frame) -> Outs:
    return [f.operands[0].reshape(_shape_of(f))]


@change("reshaped in another order", lambda s: [()] if s.key[0] == "reshape" and len(s.operands[0].shape) > 1 else [])
def _(f: Frame) -> Outs:
    return [f.operands[0].T.reshape(_shape_of(f))]


@change("undone in another order", lambda s: [()] if s.key[0] == "reshape" and len(s.outputs[0].shape) > 1 else [])
def _(f: Frame) -> Outs:
    return [f.operands[0].reshape(_shape_of(f)[::-1]).T]


# loops


def _rows(site: Site) -> Sequence[Args]:
    """The operands of a scan that it runs over."""
    if site.key[0] != "scan":
        return []
    return [(j,) for j in range(site.params["num_consts"] + site.params["num_carry"], len(site.operands))]


@change("loop reversed", lambda s: [()] if s.key[0] == "scan" else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, reverse=not f.params["reverse"])


@change("rows a step late", _rows)
def _(f: Frame, j: int) -> Outs:
    """The step reads what belongs to the one before it."""
    x = f.operands[j]
    return f.changed(j, jnp.concatenate([lax.slice_in_dim(x, 0, 1), lax.slice_in_dim(x, 0, -1)]))


@change("rows in the other order", _rows)
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, jnp.flip(f.operands[j], 0))


@change(
    "carry doubled at the start",
    lambda s: [(s.params["num_consts"] + j,) for j in range(s.params["num_carry"])] if s.key[0] == "scan" else [],
)
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, 2.0 * f.operands[j] + 1.0)


@change("loop's outputs scaled", lambda s: [(j,) for j in range(len(s.outputs))] if s.key[0] == "scan" else [])
def _(f: Frame, j: int) -> Outs:
    outs = f.run(*f.operands)
    return [*outs[:j], 2.0 * outs[j], *outs[j + 1 :]]
