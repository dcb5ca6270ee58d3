"""Products of matrices and their relatives, and convolutions."""

from __future__ import annotations

import numpy as np

from certgrad.language.build import for_some, sum_over
from certgrad.language.tree import Both, If, Index, Node

from .._jax import size
from ..rule import ZERO, Call, Entries, Operand, equal, in_bounds, indices, nested_binders, rule
from .casts import cast
from .elementwise import zero_of


def _accumulated(call: Call, x: Operand, y: Operand) -> None:
    """Note if the sum is accumulated in another dtype than those of the operands."""
    wide = call["preferred_element_type"]
    if wide is not None and np.dtype(wide) not in (np.float64, x.dtype, y.dtype):
        call.note(f"accumulation in {wide} is read as exact")


@rule("dot_general")
def dot_general(call: Call, x: Operand, y: Operand) -> Entries:
    """Σ over the contracted axes of x · y; the result has the batch axes, then x's other axes, then y's.

    Of booleans: whether both hold somewhere.
    """
    (of_x, of_y), (batch_x, batch_y) = call["dimension_numbers"]
    free_x = [a for a in range(x.rank) if a not in (*of_x, *batch_x)]
    free_y = [a for a in range(y.rank) if a not in (*of_y, *batch_y)]
    names, sort = [call.bound() for _ in of_x], call.results[0].sort
    _accumulated(call, x, y)

    def entry(*i: Node) -> Node:
        # `at_x` and `at_y` give the index of x and y, axis by axis: the result's index, or a summed variable.
        batch, rest = i[: len(batch_x)], i[len(batch_x) :]
        bound = indices(names)
        at_x = dict(zip((*batch_x, *free_x, *of_x), (*batch, *rest[: len(free_x)], *bound), strict=True))
        at_y = dict(zip((*batch_y, *free_y, *of_y), (*batch, *rest[len(free_x) :], *bound), strict=True))
        a = cast(x.at(*(at_x[k] for k in range(x.rank))), x.sort, sort)
        b = cast(y.at(*(at_y[k] for k in range(y.rank))), y.sort, sort)
        counts = [x.shape[k] for k in of_x]
        return (
            nested_binders(for_some, names, counts, Both((a, b)))
            if sort == "boolean"
            else nested_binders(sum_over, names, counts, a * b)
        )

    return entry


@rule("conv_general_dilated")
def conv_general_dilated(call: Call, x: Operand, kernel: Operand) -> Entries:
    """Σ over window positions w and input features c of x[i·stride + w·rhs_dilation − padding, c] · kernel[w, c].

    x stands with lhs_dilation − 1 zeros between its entries, and zeros around. Of several feature groups, an output
    feature sees those of its group; of several batch groups, its part of the batch.
    """
    _accumulated(call, x, kernel)
    numbers = call["dimension_numbers"]
    batch, feature, *space = numbers.lhs_spec
    out_feature, in_feature, *window = numbers.rhs_spec
    out_batch, out_channel, *out_space = numbers.out_spec
    features, batches = call["feature_group_count"], call["batch_group_count"]
    names = [call.bound() for _ in window]
    channel = call.bound()
    counts = [kernel.shape[a] for a in window]
    per_group = kernel.shape[out_feature] // (size(features) if features != 1 else size(batches))

    def entry(*i: Node) -> Node:
        o = i[out_channel]
        positions: list[Node] = []
        conditions: list[Node] = []
        at: dict[int, Node] = {batch: i[out_batch], feature: Index(channel)}
        for k, axis in enumerate(space):
            step, spread, dilation = (size(call[n][k]) for n in ("window_strides", "rhs_dilation", "lhs_dilation"))
            place = i[out_space[k]] * step + Index(names[k]) * spread - size(call["padding"][k][0])
            # x's entries are at the multiples of lhs_dilation; other places, and those around x, hold zeros.
            conditions += [equal(place % dilation, ZERO), in_bounds(place // dilation, x.shape[axis])]
            at[axis] = place // dilation
            positions.append(Index(names[k]))
        if features != 1:
            at[feature] = o // per_group * kernel.shape[in_feature] + Index(channel)
        if batches != 1:
            at[batch] = o // per_group * (x.shape[batch] // size(batches)) + i[out_batch]
        weight = {out_feature: o, in_feature: Index(channel), **dict(zip(window, positions, strict=True))}
        product = x.at(*(at[k] for k in range(x.rank))) * kernel.at(*(weight[k] for k in range(kernel.rank)))
        summand = If(Both(tuple(conditions)), product, zero_of(x))
        return nested_binders(sum_over, [*names, channel], [*counts, kernel.shape[in_feature]], summand)

    return entry
