"""Windows that slide over an array: sums and extrema of each, and what is at the place of its extremum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certgrad.language.build import argmax_over, maximum_over, minimum_over, sum_over
from certgrad.language.tree import Both, Compare, If, Index, Node

from .._jax import size
from ..rule import ONE, ZERO, Call, Entries, Operand, equal, in_bounds, nested_binders, product_of, rule, unravelled
from .elementwise import zero_of


@dataclass(frozen=True)
class Windows:
    """The windows of an array, one at each index of the result; a window's positions are numbered in row-major order.

    Position w of the window at o is at o·stride + w·window_dilation − padding in the array, which stands with
    base_dilation − 1 places between its entries, and places around it that hold nothing.
    """

    call: Call
    shape: tuple[Node, ...]

    @property
    def count(self) -> Node:
        """Return how many positions a window has."""
        return product_of(self.sizes)

    @property
    def sizes(self) -> list[Node]:
        """Return the window's size along each axis."""
        return list(map(size, self.call["window_dimensions"]))

    def _step(self, name: str, axis: int) -> Node:
        """Return a parameter that is a stride or dilation, along an axis; 1 where the call has none."""
        steps = self.call.parameters.get(name)
        return ONE if steps is None else size(steps[axis])

    def at(self, o: Sequence[Node], position: Node) -> tuple[list[Node], Node]:
        """Return where a position of the window at o is in the array, and the condition that an entry is there."""
        index, conditions = [], []
        for axis, w in enumerate(unravelled(position, self.sizes)):
            stride, spread = self._step("window_strides", axis), self._step("window_dilation", axis)
            dilation = self._step("base_dilation", axis)
            place = o[axis] * stride + w * spread - size(self.call["padding"][axis][0])
            index.append(place // dilation)
            conditions += [equal(place % dilation, ZERO), in_bounds(place // dilation, self.shape[axis])]
        return index, Both(tuple(conditions))


@rule("reduce_window_sum")
def reduce_window_sum(call: Call, x: Operand) -> Entries:
    """The sum of each window's entries"""
    windows, w = Windows(call, x.shape), call.bound()

    def entry(*o: Node) -> Node:
        index, occupied = windows.at(o, Index(w))
        return sum_over(w, windows.count, If(occupied, x.at(*index), zero_of(x)))

    return entry


def _extremum(name: str, says: str, binder: Callable[[str, Node, Node, Node], Node]) -> None:
    """Register the rule of an extremum of each window, with `says` as its words."""

    def apply(call: Call, x: Operand) -> Entries:
        windows, w = Windows(call, x.shape), call.bound()

        def entry(*o: Node) -> Node:
            index, occupied = windows.at(o, Index(w))
            return binder(w, windows.count, x.at(*index), occupied)

        return entry

    apply.__doc__ = says
    rule(name)(apply)


_extremum("reduce_window_max", "The greatest entry of each window that has entries", maximum_over)
_extremum("reduce_window_min", "The least entry of each window that has entries", minimum_over)


def selected(call: Call, windows: Windows, x: Operand, o: Sequence[Node], w: str) -> list[Node]:
    """Return the index in x of the first greatest entry of the window at o, or least if `select_prim` is `le`."""
    index, occupied = windows.at(o, Index(w))
    body = x.at(*index) if call["select_prim"].name == "ge" else -x.at(*index)
    return windows.at(o, argmax_over(w, windows.count, body, occupied))[0]


@rule("select_and_scatter_add")
def select_and_scatter_add(call: Call, source: Operand, x: Operand) -> Entries:
    """Σ of the source's entries o for which this is the place of the extremum of x's window at o"""
    windows, w = Windows(call, x.shape), call.bound()
    names = [call.bound() for _ in source.shape]

    def entry(*i: Node) -> Node:
        o = [Index(n) for n in names]
        place = selected(call, windows, x, o, w)
        is_place = Both(tuple(Compare("=", a, b) for a, b in zip(place, i, strict=True)))
        return nested_binders(sum_over, names, source.shape, If(is_place, source.at(*o), zero_of(source)))

    return entry


@rule("select_and_gather_add")
def select_and_gather_add(call: Call, taken: Operand, x: Operand) -> Entries:
    """The entry of the first operand at the place of the extremum of the second one's window"""
    windows, w = Windows(call, x.shape), call.bound()
    return lambda *o: taken.at(*selected(call, windows, x, o, w))
