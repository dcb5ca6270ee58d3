"""Rules of JAX's primitives for axes: which sizes of the operands are equal, and which parameters are sizes.

A rule is not trusted. It proposes a family of shapes, by unifying axes whose sizes must be equal and fixing those that
must stay numbers; `family` checks that the family's operation, at the node's sizes, is the node's own. For a primitive
without a rule here, each lemma is proved at the sizes of its node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from certgrad.graph.tracing.axes import Axis, NoFamilyError, Shape, Sizes, unified, unify
from certgrad.jaxpr import kinds

Result = tuple[list[Shape], Callable[[Sizes], dict[str, Any]]]
Rule = Callable[[dict[str, Any], list[Shape], list[tuple[Any, ...]]], Result]
"""A function of the parameters, the operands' axes and the results' shapes that returns the results' axes, with a
function from the sizes chosen for all axes to the parameters."""


def rules_for(name: str) -> list[Rule]:
    """Return the rules of a primitive for an equation that stands alone, the one that leaves most sizes free first."""
    try:
        return [*_WIDER.get(name, ()), rule_for(name)]
    except NoFamilyError:
        return []


def rule_for(name: str) -> Rule:
    """Return the rule of a primitive that gives the results all their axes. Raises NoFamilyError if it has none."""
    if name in kinds.POINTWISE:
        return _elementwise
    if name not in _RULES:
        raise NoFamilyError
    return _RULES[name]


def _params_with(params: dict[str, Any], **changes: Callable[[Sizes], Any]) -> Callable[[Sizes], dict[str, Any]]:
    return lambda sizes: {**params, **{k: make(sizes) for k, make in changes.items()}}


def _elementwise(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    ranked = [s for s in shapes if s]
    out = [_broadcast(axes) for axes in zip(*ranked, strict=True)]
    return [out for _ in outs], _params_with(params)


def _broadcast(axes: Sequence[Axis]) -> Axis:
    """Return the result's axis for these of the operands: axes of size 1 agree with any, the others are unified."""
    long = [[a] for a in axes if not _is_one(a)]
    return unified(long)[0] if long else axes[0]


def _is_one(axis: Axis) -> bool:
    root = axis.root()
    return root.fixed and isinstance(root.size, int) and root.size == 1


def _broadcast_in_dim(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    out = [Axis(size) for size in params["shape"]]
    for axis, place in zip(shapes[0], params["broadcast_dimensions"], strict=True):
        if not _is_one(axis):
            unify(out[place], axis)
    return [out], _params_with(params, shape=lambda sizes: sizes.shape(out))


def _iota(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    out = [Axis(size) for size in params["shape"]]
    return [out], _params_with(params, shape=lambda sizes: sizes.shape(out))


def _without(parameter: str) -> Rule:
    """Return the rule of a primitive that removes the axes which this parameter lists."""

    def rule(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
        return [[a for k, a in enumerate(shapes[0]) if k not in params[parameter]]], _params_with(params)

    return rule


def _transpose(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    return [[shapes[0][k] for k in params["permutation"]]], _params_with(params)


def _unchanged(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    out = unified(shapes)
    return [out for _ in outs], _params_with(params)


def _reshape(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie the axes of each run that a reshape turns into each other. Raises NoFamilyError with `dimensions`."""
    if params["dimensions"] is not None or len(shapes) != 1:
        raise NoFamilyError
    out = [Axis(size) for size in params["new_sizes"]]
    for before, after in _groups(shapes[0], out):
        _regroup(before, after)
    return [out], _params_with(params, new_sizes=lambda sizes: sizes.shape(out))


def _groups(before: Shape, after: Shape) -> list[tuple[Shape, Shape]]:
    """Return the runs of axes that a reshape turns into each other: (2n, 3) to (2, n, 3) has [2n] → [2, n], [3] → [3].

    Both shapes are read from the left; a run ends where the products of sizes are equal. Axes of size 1 are left out.
    """
    left, right = ([a for a in shape if not _is_one(a)] for shape in (before, after))
    groups: list[tuple[Shape, Shape]] = []
    while left or right:
        x, y = left[:1], right[:1]
        left, right = left[1:], right[1:]
        while (p := prod(_sizes(x))) != (q := prod(_sizes(y))):
            if isinstance(p, int) and isinstance(q, int):
                grow_left = p < q
            else:
                grow_left = len(left) > len(right)
            if not (left if grow_left else right):
                raise NoFamilyError
            (x if grow_left else y).append((left if grow_left else right).pop(0))
        groups.append((x, y))
    return groups


def _sizes(shape: Shape) -> list[Any]:
    return [a.root().size for a in shape]


def _regroup(before: Shape, after: Shape) -> None:
    """Unify the axes of one run of a reshape: an axis that is split or merged becomes the product of the others."""
    if len(before) == len(after) == 1:
        unify(before[0], after[0])
    elif len(before) == 1:
        unify(before[0], Axis(prod(_sizes(after)), after))
    elif len(after) == 1:
        unify(after[0], Axis(prod(_sizes(before)), before))
    else:
        for axis in (*before, *after):
            axis.fix()


def _kept_axes(operand: Shape, out: Sequence[Any], keeps: Sequence[bool]) -> Shape:
    """Return the result's axes: the operand's where `keeps` is true; elsewhere both axes are fixed at their numbers."""
    for axis, whole in zip(operand, keeps, strict=True):
        if not whole:
            axis.fix()
    return [a if whole else _number(size) for a, whole, size in zip(operand, keeps, out, strict=True)]


def _concatenate(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie all axes but the one that is joined."""
    along = params["dimension"]
    for a, b in pairwise(shapes):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if k != along:
                unify(x, y)
    # Along the axis that is joined the size is a sum, for which axes have no form: these sizes stay numbers.
    results = [_kept_axes(shape, outs[0], [k != along for k in range(len(shape))]) for shape in shapes]
    return results[:1], _params_with(params)


def _split(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    keeps = [k != params["axis"] for k in range(len(shapes[0]))]
    return [_kept_axes(shapes[0], out, keeps) for out in outs], _params_with(params)


def _number(size: Any) -> Axis:
    axis = Axis(size)
    axis.fix()
    return axis


def _pad(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    keeps = [tuple(config) == (0, 0, 0) for config in params["padding_config"]]
    return [_kept_axes(shapes[0], outs[0], keeps)], _params_with(params)


def _slice(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Keep the axes that are taken whole, whose limit follows their size; the others are fixed."""
    (operand,) = shapes
    strides = params["strides"] or (1,) * len(operand)
    whole = [
        isinstance(start, int) and start == 0 and limit == axis.root().size and stride == 1
        for axis, start, limit, stride in zip(
            operand, params["start_indices"], params["limit_indices"], strides, strict=True
        )
    ]
    out = _kept_axes(operand, outs[0], whole)

    def limit_indices(sizes: Sizes) -> tuple[Any, ...]:
        axes = zip(operand, whole, params["limit_indices"], strict=True)
        return tuple(sizes.of(a) if w else limit for a, w, limit in axes)

    return [out], _params_with(params, limit_indices=limit_indices)


def _dot_general(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie the contracted axes of the two operands, and their batch axes."""
    (left_sum, right_sum), (left_batch, right_batch) = params["dimension_numbers"]
    left, right = shapes
    for i, j in [*zip(left_sum, right_sum, strict=True), *zip(left_batch, right_batch, strict=True)]:
        unify(left[i], right[j])
    out = [left[k] for k in left_batch]
    out += [a for k, a in enumerate(left) if k not in (*left_sum, *left_batch)]
    out += [a for k, a in enumerate(right) if k not in (*right_sum, *right_batch)]
    return [out], _params_with(params)


def _convolution(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie the axes of a convolution with the image's sizes fixed, so that those of the result are numbers."""
    for axis in params["dimension_numbers"].lhs_spec[2:]:
        shapes[0][axis].fix()
    return _convolution_of_any_image(params, shapes, outs)


def _convolution_of_any_image(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie the axes of a convolution whose image has any size: batch, features and channels.

    The result's sizes are functions of the image's. They are given as numbers, so that the rule serves only an equation
    that stands alone, whose results no other equation reads.
    """
    numbers = params["dimension_numbers"]
    image, kernel = shapes
    for axis in numbers.rhs_spec[2:]:
        kernel[axis].fix()
    if params["feature_group_count"] == 1 and params["batch_group_count"] == 1:
        unify(image[numbers.lhs_spec[1]], kernel[numbers.rhs_spec[1]])
    else:
        # In groups, one number of channels is a multiple of another, for which axes have no form.
        for axis in (image[numbers.lhs_spec[1]], kernel[numbers.rhs_spec[0]], kernel[numbers.rhs_spec[1]]):
            axis.fix()
        if params["batch_group_count"] != 1:
            raise NoFamilyError
    out: Shape = [_number(size) for size in outs[0]]
    out[numbers.out_spec[0]] = image[numbers.lhs_spec[0]]
    out[numbers.out_spec[1]] = kernel[numbers.rhs_spec[0]]
    return [out], _params_with(params)


def _window(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Keep the axes over which the window does not move: of length, stride and dilation 1, without padding."""
    window_params = [params[p] for p in ("window_dimensions", "window_strides", "base_dilation", "window_dilation")]
    keeps = [
        all(n == 1 for n in parts) and tuple(padding) == (0, 0)
        for *parts, padding in zip(*window_params, params["padding"], strict=True)
    ]
    return [_kept_axes(shapes[0], outs[0], keeps)], _params_with(params)


def _gather(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    """Tie the sizes of a gather: batch axes to those of the indices, whole slices to the operand's axes.

    Each axis of the result is the next axis of the slice where `offset_dims` says so, else the next batch axis.
    """
    numbers, (operand, indices) = params["dimension_numbers"], shapes
    indices[-1].fix()
    dropped_axes = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    for i, j in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        unify(operand[i], indices[j])
    whole = [
        not isinstance(n, int) or (n == a.root().size and k not in dropped_axes)
        for k, (n, a) in enumerate(zip(params["slice_sizes"], operand, strict=True))
    ]
    # A slice over a whole axis keeps that axis, of any size; other slices have a number for their size.
    window = iter(
        [
            a if w else _number(n)
            for k, (a, w, n) in enumerate(zip(operand, whole, params["slice_sizes"], strict=True))
            if k not in dropped_axes
        ]
    )
    batch = iter(indices[:-1])
    out = [next(window) if k in numbers.offset_dims else next(batch) for k in range(len(outs[0]))]

    def slice_sizes(sizes: Sizes) -> tuple[Any, ...]:
        return tuple(sizes.of(a) if w else n for a, w, n in zip(operand, whole, params["slice_sizes"], strict=True))

    return [out], _params_with(params, slice_sizes=slice_sizes)


def _dynamic_slice(params: dict[str, Any], shapes: list[Shape], outs: list[tuple[Any, ...]]) -> Result:
    operand = shapes[0]
    out = [a if n == a.root().size else _number(n) for a, n in zip(operand, params["slice_sizes"], strict=True)]
    return [out], _params_with(params, slice_sizes=lambda sizes: sizes.shape(out))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(kinds.REDUCES | {"argmax", "argmin"}, _without("axes")),
    **dict.fromkeys(kinds.CUMULATES | {"rev", "sort"}, _unchanged),
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "conv_general_dilated": _convolution,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    **dict.fromkeys("reduce_window_max reduce_window_min reduce_window_sum".split(), _window),
    "reshape": _reshape,
    "slice": _slice,
    "split": _split,
    "squeeze": _without("dimensions"),
    "transpose": _transpose,
}
_WIDER: dict[str, list[Rule]] = {"conv_general_dilated": [_convolution_of_any_image]}
"""Rules that leave more sizes free, and give numbers for some axes of the results."""
