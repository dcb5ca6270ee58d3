"""Semantics of the primitives that move entries: broadcasting, transposition, concatenation, slices."""

from __future__ import annotations

from dataclasses import replace

from .._conditions import merged
from .._facts import NONNEG
from .._index import of_const
from .._index_terms import index_number, index_pred
from .._jax_internals import kind_of
from .._tensor import Tensor, axis_index, own_index
from .._terms import ONE, ZERO, Poly
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]


@rule("broadcast_in_dim")
def _broadcast(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    x = args[0]
    (shape,) = shapes
    index = []
    for k, axis in enumerate(params["broadcast_dimensions"]):
        if x.shape[k] != ONE and x.shape[k] != shape[axis]:
            raise UnprovedError("a broadcast between dimensions not shown equal")
        index.append(of_const(ZERO) if x.shape[k] == ONE else axis_index(axis, shape[axis]))
    return [x.indexed(index, shape)]


@rule("transpose")
def _transpose(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    (shape,) = shapes
    index = [of_const(ZERO)] * x.rank
    for new, old in enumerate(params["permutation"]):
        index[old] = axis_index(new, shape[new])
    return [x.indexed(index, shape)]


@rule("squeeze")
def _squeeze(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    (shape,) = shapes
    kept = iter(range(len(shape)))
    gone = set(params["dimensions"])
    index = [of_const(ZERO) if k in gone else axis_index(n := next(kept), shape[n]) for k in range(x.rank)]
    return [x.indexed(index, shape)]


@rule("expand_dims")
def _expand_dims(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    (shape,) = shapes
    new = set(params["dimensions"])
    index = [axis_index(k, n) for k, n in enumerate(shape) if k not in new]
    return [x.indexed(index, shape)]


@rule("reshape")
def _reshape(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    """Reshapes that only add or drop axes of size 1. Others need index sets."""
    x = args[0]
    (shape,) = shapes
    if params.get("dimensions") is not None:
        raise UnprovedError("a reshape with permuted dimensions")
    old = [(k, n) for k, n in enumerate(x.shape) if n != ONE]
    new = [(k, n) for k, n in enumerate(shape) if n != ONE]
    if [n for _, n in old] != [n for _, n in new]:
        raise UnprovedError("a reshape that merges or splits dimensions")
    index = [of_const(ZERO)] * x.rank
    for (k, n), (j, _) in zip(old, new, strict=True):
        index[k] = axis_index(j, n)
    return [x.indexed(index, shape)]


@rule("iota")
def _iota(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (shape,) = shapes
    axis = params["dimension"]
    kind = kind_of(params["dtype"])
    if kind not in "fi":
        raise UnprovedError(f"iota of dtype {params['dtype']}")
    return [Tensor(shape, index_number(axis_index(axis, shape[axis])), kind, signs=NONNEG)]  # type: ignore[arg-type]


@rule("concatenate")
def _concatenate(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (shape,) = shapes
    axis = params["dimension"]
    index = own_index(shape)
    body, start, signs = ZERO, ZERO, 0
    defined, smooth = [], []
    for x in args:
        here = index_pred(index[axis].shifted(-start)) - index_pred(index[axis].shifted(-start - x.shape[axis]))
        moved = list(index)
        moved[axis] = of_const(ZERO) if x.shape[axis] == ONE else index[axis].shifted(-start)
        part = x.indexed(moved, shape)
        body = body + here * part.body
        signs |= part.signs
        defined.append(tuple(c.guarded(here, True) for c in part.defined))
        smooth.append(tuple(c.guarded(here, True) for c in part.smooth))
        start = start + x.shape[axis]
    return [Tensor(shape, body, args[0].kind, merged(*defined), merged(*smooth), signs)]


def _sliced(x: Tensor, axis: int, start: Poly, shape: tuple[Poly, ...]) -> Tensor:
    index = list(own_index(shape))
    index[axis] = index[axis].shifted(start)
    return x.indexed(index, shape)


@rule("split")
def _split(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    axis, start, out = params["axis"], ZERO, []
    for shape in shapes:
        out.append(_sliced(x, axis, start, shape))
        start = start + shape[axis]
    return out


@rule("slice")
def _slice(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    (shape,) = shapes
    if params.get("strides") is not None and any(s != 1 for s in params["strides"]):
        raise UnprovedError("a strided slice")
    index = [ix.shifted(start) for ix, start in zip(own_index(shape), params["start_indices"], strict=True)]
    return [x.indexed(index, shape)]


@rule("dim_as_value")
def _dim_as_value(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    dim = params["dim"]
    return [Tensor((), dim, "i", signs=4 if dim.positive else 6)]


__all__ = ["replace"]
