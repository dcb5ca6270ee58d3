"""Cumulative sums, products and extrema: each entry is a reduction of those up to it."""

from __future__ import annotations

from ..expression import Expression, Function, Index, Maximum, Minimum, Product, Sum
from ..rule import ONE, Binder, Call, Entries, Operand, rule
from .shape import along


def _up_to(name: str, says: str, binder: Binder) -> None:
    def apply(call: Call, x: Operand) -> Entries:
        k = call.bound()
        return lambda *i: _reduced(call, binder, x, i, k, x.at)

    apply.__doc__ = says
    rule(name)(apply)


def _reduced(call: Call, binder: Binder, x: Operand, i: tuple[Expression, ...], k: str, at: Entries) -> Expression:
    """Over the entries at 0, …, i along the axis; with `reverse`, over those at i, …, n − 1."""
    axis = call["axis"]
    here, n = i[axis], x.shape[axis]
    if call["reverse"]:
        return binder(k, n - here, at(*along(i, axis, here + Index(k))))
    return binder(k, here + ONE, at(*along(i, axis, Index(k))))


_up_to("cumsum", "The sum of the entries up to it along the axis (from it on, with `reverse`)", Sum)
_up_to("cumprod", "The product of the entries up to it along the axis", Product)
_up_to("cummax", "The greatest entry up to it along the axis", Maximum)
_up_to("cummin", "The least entry up to it along the axis", Minimum)


@rule("cumlogsumexp")
def cumlogsumexp(call: Call, x: Operand) -> Entries:
    """log of the sum of exp of the entries up to it along the axis"""
    k = call.bound()

    def powers(*j: Expression) -> Expression:
        return Function("exp", (x.at(*j),))

    return lambda *i: Function("log", (_reduced(call, Sum, x, i, k, powers),))
