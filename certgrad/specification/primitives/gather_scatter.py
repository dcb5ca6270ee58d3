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
    """Where windows begin: at a batch position, an index of the operand's `axes`; `room` is what a begin can be."""

    positions: Operand
    axes: Sequence[int]
    room: Sequence[Node]
    mode: GatherScatterMode
    together: Sequence[int]
    """Batch axes that go with axes of the operand: at different indices there, windows are of different parts of it."""

    def raw(self, batch: Sequence[Node]) -> list[Node]:
        """As the indices have it."""
        return [self.positions.at(*batch, Integer(k)) for k in range(len(self.axes))]

    def at(self, batch: Sequence[Node]) -> list[Node]:
        """As it is used."""
        if self.mode == GatherScatterMode.CLIP:
            return [clamped(b, room) for b, room in zip(self.raw(batch), self.room, strict=True)]
        return self.raw(batch)

    def inside(self, batch: Sequence[Node]) -> Both:
        """The window is within the operand."""
        if self.mode == GatherScatterMode.CLIP:
            return TRUE
        return Both(tuple(in_bounds(b, room + ONE) for b, room in zip(self.raw(batch), self.room, strict=True)))

    def promised(self, call: Call) -> Node:
        """What is promised of the positions of several windows: that they are unique, or sorted."""
        out: list[Node] = []
        sizes = self.positions.shape[:-1]
        here = [call.bound() for _ in sizes]
        there = [name if k in self.together else call.bound() for k, name in enumerate(here)]
        apart = [k for k, n in enumerate(sizes) if k not in self.together and n != ONE]
        a, b = ([Index(names[k]) for k in apart] for names in (here, there))
        no_pair = Not(before(a, b, FALSE))
        variables = dict(zip([*here, *there], [*sizes, *sizes], strict=True))
        order = sorted(range(len(self.axes)), key=lambda k: self.axes[k])
        one, two = ([self.at(indices(names))[k] for k in order] for names in (here, there))
        if apart and call["unique_indices"]:
            same = [equal(x, y) for x, y in zip(one, two, strict=True)]
            out.append(Either((no_pair, Not(same[0] if len(same) == 1 else Both(tuple(same))))))
        if apart and call["indices_are_sorted"]:
            out.append(Either((no_pair, before(one, two, TRUE))))
        return Both(tuple(nested_binders(for_all, [*variables], [*variables.values()], x) for x in out))


def _mode(call: Call) -> GatherScatterMode:
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
        batch = [j for k, j in enumerate(i) if k not in spec.offset_dims]
        at: list[Node] = [ZERO] * x.rank
        for a, k in zip(kept, spec.offset_dims, strict=True):
            at[a] = i[k]
        for a, k in zip(spec.operand_batching_dims, spec.start_indices_batching_dims, strict=True):
            at[a] = batch[k]
        for a, begin in zip(axes, begins.at(batch), strict=True):
            at[a] = begin + at[a]
        inside, fill = begins.inside(batch), _fill(call, x) if mode == GatherScatterMode.FILL_OR_DROP else None
        return Given(promised, Given(inside, x.at(*at)) if fill is None else If(inside, x.at(*at), fill))

    return entry


def _fill(call: Call, x: Operand) -> Node | None:
    """What stands where nothing is gathered; None for NaN."""
    value = call["fill_value"]
    if value is not None:
        return None if x.sort == "real" and np.isnan(value) else literal(value, x.dtype)
    if x.sort == "integer":
        info = np.iinfo(x.dtype)
        return Integer(int(info.min if info.kind == "i" else info.max))
    return TRUE if x.sort == "boolean" else None


@dataclass(frozen=True)
class Updates:
    """The entries of the updates, and which entry of the operand each meets."""

    names: list[str]
    counts: Sequence[Node]
    value: Node
    target: Sequence[Node]
    inside: Both

    def meets(self, i: Sequence[Node]) -> Both:
        """The update meets the entry at i."""
        return Both((*self.inside.parts, *(equal(t, j) for t, j in zip(self.target, i, strict=True))))

    def over(self, binder: Binder, body: Node) -> Node:
        """A binder over all updates."""
        return nested_binders(binder, self.names, self.counts, body)

    def of_some(self, binder: Binder, meets: Node, otherwise: Node) -> Node:
        """A binder over those that meet an entry, and what it does not count of the others: there is one that meets."""
        return self.over(binder, If(meets, self.value, otherwise)) if self.names else self.value


def _updates(call: Call, x: Operand, positions: Operand, update: Operand) -> tuple[Updates, Node]:
    """Return the updates of a scatter, and what is promised of the indices."""
    spec, mode = call["dimension_numbers"], _mode(call)
    dropped_axes = (*spec.inserted_window_dims, *spec.operand_batching_dims)
    windows = dict(zip([a for a in range(x.rank) if a not in dropped_axes], spec.update_window_dims, strict=True))
    names = [call.bound() for _ in update.shape]
    place = indices(names)
    batch = [place[k] for k in range(update.rank) if k not in spec.update_window_dims]
    axes = list(spec.scatter_dims_to_operand_dims)
    room = [x.shape[a] - (update.shape[windows[a]] if a in windows else ONE) for a in axes]
    begins = Begins(positions, axes, room, mode, spec.scatter_indices_batching_dims)
    target: list[Node] = [ZERO] * x.rank
    for a, k in windows.items():
        target[a] = place[k]
    for a, k in zip(spec.operand_batching_dims, spec.scatter_indices_batching_dims, strict=True):
        target[a] = batch[k]
    for a, begin in zip(axes, begins.at(batch), strict=True):
        target[a] = begin + target[a]
    updates = Updates(names, update.shape, update.at(*place), target, begins.inside(batch))
    promised = begins.promised(call)
    if mode == GatherScatterMode.PROMISE_IN_BOUNDS:
        windowed = [k for k in range(update.rank) if k not in spec.update_window_dims]
        inside = nested_binders(
            for_all, [names[k] for k in windowed], [update.shape[k] for k in windowed], updates.inside
        )
        promised = Both((inside, promised))
        updates = replace(updates, inside=TRUE)
    return updates, promised


Combined = Callable[[Node, Updates, Both, Operand], Node]


def _scatter(name: str, says: str, combined: Combined, of_truths: Combined | None = None) -> None:
    def apply(call: Call, x: Operand, positions: Operand, update: Operand) -> Entries:
        updates, promised = _updates(call, x, positions, update)
        made = of_truths if x.sort == "boolean" else combined
        if made is None:
            raise UnreadableError(f"{name} of booleans")
        return lambda *i: Given(promised, made(x.at(*i), updates, updates.meets(i), x))

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
    if x.sort == "boolean" and updates.names:
        new = updates.over(for_some, Both((*meets.parts, updates.value)))
    else:
        new = updates.of_some(sum_over, meets, zero_of(x))
    found = If(updates.over(for_some, meets), new, old)
    once = at_most(updates.over(sum_over, If(meets, ONE, ZERO)), ONE)
    return Given(once, found) if updates.names else found


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
