"""Gather and scatter: windows of an array at places that another array holds.

The last axis of the indices holds, for the operand's axes that are named, where the window begins. In mode CLIP a
begin is first moved so that the window is within the operand. In mode FILL_OR_DROP a window that is not within is
filled, or dropped by a scatter. PROMISE_IN_BOUNDS and the promises that indices are unique or sorted are conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jax.lax import GatherScatterMode

from certgrad.language.build import for_all, for_some, maximum_over, minimum_over, product_over, sum_over
from certgrad.language.tree import FALSE, TRUE, Both, Either, Given, If, Index, Integer, Node, Not

from .._jax import literal, size
from ..rule import (
    ONE,
    ZERO,
    Binder,
    Call,
    Entries,
    Operand,
    UnreadableError,
    at_most,
    clamped,
    equal,
    in_bounds,
    indices,
    less_than,
    nested_binders,
    rule,
)
from .elementwise import one_of, zero_of
from .order import before


@dataclass(frozen=True)
class Begins:
    """Where windows begin: at each batch position an index along the operand's `axes`, as `positions` has it.

    `room` is the greatest begin along each axis at which a window is within the operand.
    """

    positions: Operand
    axes: Sequence[int]
    room: Sequence[Node]
    mode: GatherScatterMode
    together: Sequence[int]
    """Batch axes that go with axes of the operand: windows at different indices there are in different parts of it."""

    def raw(self, batch: Sequence[Node]) -> list[Node]:
        """Return where the window at a batch position begins, as the indices say."""
        return [self.positions.at(*batch, Integer(k)) for k in range(len(self.axes))]

    def at(self, batch: Sequence[Node]) -> list[Node]:
        """Return where the window at a batch position begins, moved into the operand in mode CLIP."""
        if self.mode == GatherScatterMode.CLIP:
            return [clamped(b, room) for b, room in zip(self.raw(batch), self.room, strict=True)]
        return self.raw(batch)

    def inside(self, batch: Sequence[Node]) -> Both:
        """Return that the window at a batch position is within the operand."""
        if self.mode == GatherScatterMode.CLIP:
            return TRUE
        return Both(tuple(in_bounds(b, room + ONE) for b, room in zip(self.raw(batch), self.room, strict=True)))

    def promised(self, call: Call) -> Node:
        """Return what the call promises of the begins of any two windows: that they differ, or are sorted.

        Of two batch positions a and b: a is not before b, or their begins are different (or in order).
        """
        out: list[Node] = []
        sizes = self.positions.shape[:-1]
        first = [call.bound() for _ in sizes]
        second = [name if k in self.together else call.bound() for k, name in enumerate(first)]
        free_axes = [k for k, n in enumerate(sizes) if k not in self.together and n != ONE]
        a, b = ([Index(names[k]) for k in free_axes] for names in (first, second))
        no_pair = Not(before(a, b, FALSE))
        variables = dict(zip([*first, *second], [*sizes, *sizes], strict=True))
        order = sorted(range(len(self.axes)), key=lambda k: self.axes[k])
        begin_a, begin_b = ([self.at(indices(names))[k] for k in order] for names in (first, second))
        if free_axes and call["unique_indices"]:
            same = [equal(x, y) for x, y in zip(begin_a, begin_b, strict=True)]
            out.append(Either((no_pair, Not(same[0] if len(same) == 1 else Both(tuple(same))))))
        if free_axes and call["indices_are_sorted"]:
            out.append(Either((no_pair, before(begin_a, begin_b, TRUE))))
        return Both(tuple(nested_binders(for_all, [*variables], [*variables.values()], x) for x in out))


def _mode(call: Call) -> GatherScatterMode:
    """Return the mode of a call. Raises UnreadableError for one that is not among the three above."""
    mode = call["mode"]
    if mode not in (
        GatherScatterMode.CLIP,
        GatherScatterMode.FILL_OR_DROP,
        GatherScatterMode.PROMISE_IN_BOUNDS,
    ):
        raise UnreadableError(f"{call.primitive} in mode {mode}")
    return mode


@rule("gather")
def gather(call: Call, x: Operand, positions: Operand) -> Entries:
    """out[b, w] = x[begin(b) + w]; outside x the fill value, which for floats is NaN: undefined"""
    spec, mode = call["dimension_numbers"], _mode(call)
    sizes = list(map(size, call["slice_sizes"]))
    dropped_axes = (*spec.collapsed_slice_dims, *spec.operand_batching_dims)
    kept = [a for a in range(x.rank) if a not in dropped_axes]
    axes = list(spec.start_index_map)
    room = [x.shape[a] - sizes[a] for a in axes]
    begins = Begins(positions, axes, room, mode, spec.start_indices_batching_dims)
    promised = begins.promised(call)

    def entry(*i: Node) -> Node:
        # The result's axes in `offset_dims` number entries of the window, the others are its batch axes.
        batch = [j for k, j in enumerate(i) if k not in spec.offset_dims]
        at: list[Node] = [ZERO] * x.rank
        for a, k in zip(kept, spec.offset_dims, strict=True):
            at[a] = i[k]
        for a, k in zip(spec.operand_batching_dims, spec.start_indices_batching_dims, strict=True):
            at[a] = batch[k]
        for a, begin in zip(axes, begins.at(batch), strict=True):
            at[a] = begin + at[a]
        within, fill = begins.inside(batch), _fill(call, x) if mode == GatherScatterMode.FILL_OR_DROP else None
        return Given(promised, Given(within, x.at(*at)) if fill is None else If(within, x.at(*at), fill))

    return entry


def _fill(call: Call, x: Operand) -> Node | None:
    """Return the entry for places outside of the operand; None for NaN, and for random keys."""
    value = call["fill_value"]
    if value is not None:
        return None if x.sort == "real" and np.isnan(value) else literal(value, x.dtype)
    if x.sort == "integer":
        info = np.iinfo(x.dtype)
        return Integer(int(info.min if info.kind == "i" else info.max))
    return TRUE if x.sort == "boolean" else None


@dataclass(frozen=True)
class Updates:
    """The entries of the updates, and the index `target` of the entry of the operand that each of them meets.

    `names` are the variables that number the updates, one an axis, with `counts` their sizes; `value`, `target` and
    `inside`, which says that an update counts, are in these variables.
    """

    names: list[str]
    counts: Sequence[Node]
    value: Node
    target: Sequence[Node]
    inside: Both

    def meets(self, i: Sequence[Node]) -> Both:
        """Return that an update meets the operand's entry at i."""
        return Both((*self.inside.parts, *(equal(t, j) for t, j in zip(self.target, i, strict=True))))

    def over(self, binder: Binder, body: Node) -> Node:
        """Return a binder over all updates."""
        return nested_binders(binder, self.names, self.counts, body)

    def of_some(self, binder: Binder, meets: Node, otherwise: Node) -> Node:
        """Return a binder over the updates that meet an entry; others count as `otherwise`, which is to change nothing.

        Without axes there is one update, which is returned: the caller asks whether it meets the entry.
        """
        return self.over(binder, If(meets, self.value, otherwise)) if self.names else self.value


def _updates(call: Call, x: Operand, positions: Operand, update: Operand) -> tuple[Updates, Node]:
    """Return the updates of a scatter, and what is promised of the indices.

    The axes of the updates in `update_window_dims` number entries of a window, the others are batch axes.
    """
    spec, mode = call["dimension_numbers"], _mode(call)
    dropped_axes = (*spec.inserted_window_dims, *spec.operand_batching_dims)
    windows = dict(zip([a for a in range(x.rank) if a not in dropped_axes], spec.update_window_dims, strict=True))
    names = [call.bound() for _ in update.shape]
    place = indices(names)
    batch = [place[k] for k in range(update.rank) if k not in spec.update_window_dims]
    axes = list(spec.scatter_dims_to_operand_dims)
    room = [x.shape[a] - (update.shape[windows[a]] if a in windows else ONE) for a in axes]
    begins = Begins(positions, axes, room, mode, spec.scatter_indices_batching_dims)
    # The operand's entry that an update meets: the window's begin, plus the place in the window.
    target: list[Node] = [ZERO] * x.rank
    for a, k in windows.items():
        target[a] = place[k]
    for a, k in zip(spec.operand_batching_dims, spec.scatter_indices_batching_dims, strict=True):
        target[a] = batch[k]
    for a, begin in zip(axes, begins.at(batch), strict=True):
        target[a] = begin + target[a]
    updates = Updates(names, update.shape, update.at(*place), target, begins.inside(batch))
    promised = begins.promised(call)
    if mode == GatherScatterMode.PROMISE_IN_BOUNDS:  # that all windows are within is a condition of every entry
        batch_axes = [k for k in range(update.rank) if k not in spec.update_window_dims]
        all_within = nested_binders(
            for_all, [names[k] for k in batch_axes], [update.shape[k] for k in batch_axes], updates.inside
        )
        promised = Both((all_within, promised))
        updates = replace(updates, inside=TRUE)
    return updates, promised


Combined = Callable[[Node, Updates, Both, Operand], Node]
"""combined(old entry, updates, that an update meets the entry, operand) returns the new entry."""


def _scatter(name: str, says: str, combined: Combined, of_truths: Combined | None = None) -> None:
    """Register the rule of a scatter, with `says` as its words; `of_truths` combines booleans, if they are allowed."""

    def apply(call: Call, x: Operand, positions: Operand, update: Operand) -> Entries:
        updates, promised = _updates(call, x, positions, update)
        combine = of_truths if x.sort == "boolean" else combined
        if combine is None:
            raise UnreadableError(f"{name} of booleans")
        return lambda *i: Given(promised, combine(x.at(*i), updates, updates.meets(i), x))

    apply.__doc__ = says
    rule(name)(apply)


def _old_or_updates(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    return Either((old, updates.over(for_some, Both((*meets.parts, updates.value)))))


def _every(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    return Both((old, Not(updates.over(for_some, Both((*meets.parts, Not(updates.value)))))))


def _old_plus_updates(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    return old + updates.over(sum_over, If(meets, updates.value, zero_of(x)))


def _old_minus_updates(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    return old - updates.over(sum_over, If(meets, updates.value, zero_of(x)))


def _multiplied(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    return old * updates.over(product_over, If(meets, updates.value, one_of(x)))


def _greatest(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    best = updates.of_some(maximum_over, meets, old)
    return If(updates.over(for_some, meets), If(less_than(old, best), best, old), old)


def _least_of_old_and_updates(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    best = updates.of_some(minimum_over, meets, old)
    return If(updates.over(for_some, meets), If(less_than(best, old), best, old), old)


def _unique_update_or_old(old: Node, updates: Updates, meets: Both, x: Operand) -> Node:
    """Return the update that meets an entry, defined if there is at most one; the old entry where there is none."""
    if x.sort == "boolean" and updates.names:
        new = updates.over(for_some, Both((*meets.parts, updates.value)))
    else:
        new = updates.of_some(sum_over, meets, zero_of(x))  # at most one summand is not 0, by `once`
    entry = If(updates.over(for_some, meets), new, old)
    once = at_most(updates.over(sum_over, If(meets, ONE, ZERO)), ONE)
    return Given(once, entry) if updates.names else entry


_scatter(
    "scatter-add", "x[i] plus the sum of the updates that meet i; of booleans, or", _old_plus_updates, _old_or_updates
)
_scatter("scatter-sub", "x[i] minus the sum of the updates that meet i", _old_minus_updates)
_scatter("scatter-mul", "x[i] times the product of the updates that meet i; of booleans, and", _multiplied, _every)
_scatter("scatter-max", "The greatest of x[i] and the updates that meet i", _greatest, _old_or_updates)
_scatter("scatter-min", "The least of x[i] and the updates that meet i", _least_of_old_and_updates, _every)
_scatter(
    "scatter",
    "The update that meets i, of which there may be one; x[i] where there is none",
    _unique_update_or_old,
    _unique_update_or_old,
)
