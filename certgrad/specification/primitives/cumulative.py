"""Cumulative sums, products and extrema: each entry is a reduction of those up to it."""

from __future__ import annotations

from certgrad.language.build import maximum_over, minimum_over, product_over, sum_over
from certgrad.language.tree import Apply, Index, Node

from ..rule import ONE, Binder, Call, Entries, Operand, rule
from .shape import with_index_along


def _up_to(name: str, says: str, binder: Binder) -> None:
    """Register the rule of a cumulative primitive, with `says` as its words."""

    def apply(call: Call, x: Operand) -> Entries:
        k = call.bound()
        return lambda *i: _reduced(call, binder, x, i, k, x.at)

    apply.__doc__ = says
    rule(name)(apply)


def _reduced(call: Call, binder: Binder, x: Operand, i: tuple[Node, ...], k: str, at: Entries) -> Node:
    """Return the binder over the entries `at` 0, …, j along the axis, where j is the index there in `i`.

    With `reverse` it is over the entries at j, …, n − 1.
    """
    axis = call["axis"]
    j, n = i[axis], x.shape[axis]
    if call["reverse"]:
        return binder(k, n - j, at(*with_index_along(i, axis, j + Index(k))))
    return binder(k, j + ONE, at(*with_index_along(i, axis, Index(k))))


_up_to("cumsum", "The sum of the entries up to it along the axis (from it on, with `reverse`)", sum_over)
_up_to("cumprod", "The product of the entries up to it along the axis", product_over)
_up_to("cummax", "The greatest entry up to it along the axis", maximum_over)
_up_to("cummin", "The least entry up to it along the axis", minimum_over)


@rule("cumlogsumexp")
def cumlogsumexp(call: Call, x: Operand) -> Entries:
    """log of the sum of exp of the entries up to it along the axis"""
    k = call.bound()

    def powers(*j: Node) -> Node:
        return Apply("exp", (x.at(*j),))

    return lambda *i: Apply("log", (_reduced(call, sum_over, x, i, k, powers),))
