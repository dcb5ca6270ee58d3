"""Axis arguments of a call: brought to one form, so that the case of the op's declaration that covers them is found."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from certgrad.signatures.cases import AxisOf, RankOf, SizeOf, is_size

if TYPE_CHECKING:
    from certgrad.ops._declare import Case, Op


def resolve(op: Op, arrays: list[Any], statics: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, with axes in one form: an integer, a sorted tuple of several, or None.

    Axes are counted from the left. Where a case takes any number of axes, the form is always a tuple, and `axis=None`
    becomes the tuple of all axes. Raises ValueError for an axis that the array does not have.
    """
    axes = {
        name: (value, op_case)
        for op_case in op.cases
        for name, value in op_case.statics.items()
        if isinstance(value, AxisOf)
    }
    resolved = dict(statics)
    for name in axes.keys() & statics.keys():
        ndim = arrays[0].ndim + _further(*axes[name])
        value = statics[name]
        runs = axes[name][0].runs
        value = tuple(range(ndim)) if value is None and runs else value
        resolved[name] = value if value is None else _canonical(op, name, value, ndim, runs)
    return resolved


def _further(axis: AxisOf, one: Case) -> int:
    """Return how many axes more than the first argument the array has that `axis` counts in, such as the output."""
    return len(axis.array(one.signature).dims) - len(one.signature.inputs[0].dims)


def matches(declared: Any, value: Any) -> bool:
    """Return whether a case with this declared keyword argument may cover this value in a call.

    Of axes only the type and the number are compared, of sizes only the type: the shapes decide whether they fit.
    """
    if isinstance(declared, AxisOf):
        if declared.runs:
            return isinstance(value, tuple)
        axes = value if isinstance(value, tuple) else (value,)
        return len(axes) == len(declared.names) and all(type(axis) is int for axis in axes)
    if isinstance(declared, SizeOf | RankOf):
        return is_size(value)
    if isinstance(declared, tuple) and isinstance(value, tuple):
        return len(declared) == len(value) and all(map(matches, declared, value))
    return type(declared) is type(value) and declared == value


def _canonical(op: Op, name: str, value: Any, ndim: int, several: bool) -> Any:
    """Return axes of a call counted from the left: one as an integer unless `several`, else as a sorted tuple.

    Raises TypeError for anything but integers, ValueError for an axis out of range or twice.
    """
    try:
        axes = [operator.index(axis) for axis in (value if isinstance(value, tuple | list) else [value])]
    except TypeError:
        raise TypeError(f"{op.name}: {name} must be an integer or a tuple of integers, not {value!r}.") from None
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(f"{op.name}: {name} = {axis} is no axis of {op.arg_names[0]}, which has {ndim} axes.")
    axes = [axis % ndim for axis in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"{op.name}: {name} = {value!r} names an axis twice.")
    return axes[0] if len(axes) == 1 and not several else tuple(sorted(axes))
